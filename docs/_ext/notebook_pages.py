"""Executed notebooks: a card for each, and their widgets as they were after the notebook had run.

Jupyter's widgets need a kernel and scripts from another host. A page has neither, so each widget is
replaced by its contents: a control by its label and value, a picture by itself, an output widget by
its outputs. In `jupyter lab` the widgets work.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["setup", "still"]

VIEW = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"
PICTURES = "_pictures"
"""Folder of the pictures on the cards, below that of the pages."""
ANSWER_LINES = 2
"""Printed lines of an answer on a card."""
COLUMN = "   "
"""Spaces between the columns of a printed table, which does not fit on a card."""
Models = dict[str, dict[str, Any]]


def still(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook (as JSON) in which each widget is replaced by what it shows; changed in place."""
    kept = notebook.get("metadata", {}).pop("widgets", {})
    models = {name: whole(model) for name, model in kept.get(STATES, {}).get("state", {}).items()}
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = [new for old in cell["outputs"] for new in replaced(old, models)]
    return notebook


def whole(model: dict[str, Any]) -> dict[str, Any]:
    """A widget's state by name, with the binary parts that a notebook stores separately."""
    beside = {buffer["path"][0]: buffer["data"] for buffer in model.get("buffers", [])}
    return model["state"] | beside


def replaced(output: dict[str, Any], models: Models) -> list[dict[str, Any]]:
    """The outputs that replace one output of a cell: itself, unless it is a widget.

    A widget becomes a line of its controls as HTML, and the outputs inside it. `models` has the
    states of all widgets by id.
    """
    view = output.get("data", {}).get(VIEW)
    if view is None:
        return [output]
    controls, outputs = collected(view["model_id"], models)
    if not controls and not outputs:
        return [{**output, "data": {"text/plain": output["data"].get("text/plain", "")}}]
    line = [shown({"text/html": ["<div class='still-widgets'>" + "".join(controls) + "</div>"]})]
    return (line if controls else []) + outputs


def collected(name: str, models: Models) -> tuple[list[str], list[dict[str, Any]]]:
    """The controls, as HTML, and the outputs of the widget with the id `name`.

    Those of the widgets inside it are included. `models` has the states of all widgets by id.
    """
    state = models.get(name, {})
    outputs = list(state.get("outputs", []))
    controls = []
    if state.get("_model_name") == "ImageModel":
        outputs.append(shown({f"image/{state['format']}": state["value"]}))
    elif shows_a_value(state):
        controls.append(control(state))
    for child in state.get("children", []):
        more, inside = collected(child.removeprefix("IPY_MODEL_"), models)
        controls, outputs = controls + more, outputs + inside
    return controls, outputs


def shows_a_value(state: dict[str, Any]) -> bool:
    """Whether a widget is a control with a chosen value, or a text."""
    return "value" in state or "index" in state


def control(state: dict[str, Any]) -> str:
    """HTML of a control: its label and its chosen value."""
    value = state.get("value", "")
    if "index" in state and state["index"] is not None:
        value = state["_options_labels"][state["index"]]
    if state.get("_model_name") == "HTMLModel":
        return f"<span>{value}</span>"
    label = html.escape(str(state.get("description", "")))
    return f"<span><b>{label}</b> {html.escape(str(value))}</span>"


def shown(data: dict[str, Any]) -> dict[str, Any]:
    """A notebook's output that displays `data`: contents by their media type."""
    data = {**data, "text/plain": ["widgets"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def on_source_read(app: Sphinx, document: str, source: list[str]) -> None:
    """Replace the widgets of a notebook before MyST-NB reads it: Sphinx's event `source-read`."""
    if str(app.env.doc2path(document)).endswith(".ipynb"):
        source[0] = json.dumps(still(json.loads(source[0])))


def answer(cells: list[dict[str, Any]]) -> str:
    """The first lines of a notebook's answer: what it prints there, otherwise its paragraph.

    Args:
        cells: cells of the notebook as JSON, the last heading of which is `## The answer`.
    """
    begin = max(n for n, cell in enumerate(cells) if "## The answer" in "".join(cell["source"]))
    texts = [
        "".join(cell["source"]).removeprefix("## The answer").strip()
        for cell in cells[begin:]
        if cell["cell_type"] == "markdown"
    ]
    printed = "".join(
        "".join(output.get("text", ""))
        for cell in cells[begin:]
        for output in cell.get("outputs", [])
    )
    lines = re.sub(r",\n\s*", ", ", printed).splitlines()[:ANSWER_LINES]
    if lines and not any(COLUMN in line for line in lines):
        return "\\\n".join(lines)
    return next(text for text in texts if text).partition("\n\n")[0]


def card(path: Path, pictures: Path) -> str:
    """A card of an executed notebook as Markdown: picture, question, answer, and a download.

    The notebook's last picture is written into the folder `pictures`.
    """
    cells = still(json.loads(path.read_text()))["cells"]
    found = [
        output["data"]["image/png"]
        for cell in cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    (pictures / f"{path.stem}.png").write_bytes(base64.b64decode(found[-1]))
    question = next(text for text in map(title, cells) if text)
    return (
        f"::::{{grid-item-card}} [{question}](notebooks/{path.name})\n"
        f":img-top: {pictures.name}/{path.stem}.png\n\n{answer(cells)}\n\n"
        f":::{{card-footer}}\n{{download}}`{path.name} <notebooks/{path.name}>`\n:::\n::::"
    )


def title(cell: dict[str, Any]) -> str:
    """The title of a notebook if it is in this cell, otherwise an empty text."""
    first = "".join(cell["source"]).partition("\n")[0]
    return first.removeprefix("# ") if first.startswith("# ") else ""


class Notebooks(SphinxDirective):
    """Directive `notebooks`: a card for each executed notebook, or a note that there are none."""

    def run(self) -> list[nodes.Node]:
        """Return the cards of the executed notebooks, or a note that there are none."""
        files = sorted(Path(self.env.srcdir, "notebooks").glob("*.ipynb"))
        if not files:
            return self.parse_text_to_nodes("None was executed for this build (`make notebooks`).")
        pictures = Path(self.env.srcdir, PICTURES)
        pictures.mkdir(exist_ok=True)
        cards = "\n".join(card(path, pictures) for path in files)
        tree = "```{toctree}\n:hidden:\n:glob:\n\nnotebooks/*\n```"
        grid = f":::::{{grid}} 1 2 2 2\n:gutter: 3\n:class-container: notebooks\n\n{cards}\n:::::"
        return self.parse_text_to_nodes(f"{tree}\n\n{grid}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the listeners with Sphinx; pages may be read in parallel."""
    app.add_directive("notebooks", Notebooks)
    app.connect("env-get-outdated", lambda *_: ["notebooks"])  # its list is that of a folder
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True}

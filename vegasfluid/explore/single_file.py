"""The page of `explore` as one HTML file, with its scripts, styles and saved runs inside."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from vegasfluid.explore.server import PAGE
from vegasfluid.json_values import json_value

__all__ = ["page_with_runs"]

IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
ORIGIN = "<!-- Written by vegasfluid explore --out. -->\n"
"""Mark in the page by which the command recognises a file that it may replace."""
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
)
"""HTML by which the browser loads only scripts, styles and images inside the page."""
SAVED = {"api": "recorded"}
"""Names of scripts that read saved runs, by the names of the scripts with a server they replace."""


def page_with_runs(recording: Mapping[str, Any]) -> str:
    """The page with saved runs, as HTML that needs no other file and no server.

    Args:
        recording: what `recording.recording` returns; NaN and infinities become null.
    """
    data = json.dumps(json_value(recording), separators=(",", ":"), allow_nan=False)
    data = data.replace("<", "\\u003c")  # browsers take "</script>" in a title as the data's end
    icon = base64.b64encode((PAGE / "icon.svg").read_bytes()).decode()
    parts = {
        '<link rel="stylesheet" href="style.css">': f"<style>\n{text_of('style.css')}</style>",
        '<script src="frame.js"></script>': f"<script>\n{text_of('frame.js')}</script>",
        '<script type="module" src="main.js"></script>': "",
        '"icon.svg"': f'"data:image/svg+xml;base64,{icon}"',
        "<head>\n": f"<head>\n{POLICY}",
        "<body>": '<body class="saved">',
        "</body>": f'<script type="application/json" id="saved-runs">{data}</script>\n'
        f"<script>\n{one_script('main')}</script>\n</body>",
    }
    page = text_of("index.html")
    for old, new in parts.items():
        if old not in page:
            raise AssertionError(f"index.html has no {old}")
        page = page.replace(old, new)
    return page.replace("<html", ORIGIN + "<html", 1)


def text_of(name: str) -> str:
    """Text of the file `name` of the page, such as `index.html`."""
    return (PAGE / name).read_text(encoding="utf-8")


def one_script(name: str) -> str:
    """A module of the page (name without `.js`) and those that it imports, as one script.

    Files that are opened from a disk cannot import modules.
    """
    done: dict[str, str] = {}

    def add(module: str) -> None:
        """Add a module after those that it imports."""
        if module in done:
            return
        code = text_of(f"{SAVED.get(module, module)}.js")
        for _, imported in IMPORT.findall(code):
            add(imported)
        exported = ", ".join(name for _, name in EXPORT.findall(code))
        code = EXPORT.sub(r"\1", IMPORT.sub(r"const \1 = module_\2;\n", code))
        done[module] = (
            f"const module_{module} = (() => {{\n{code}return {{ {exported} }};\n}})();\n"
        )

    add(name)
    return '"use strict";\n' + "".join(done.values())

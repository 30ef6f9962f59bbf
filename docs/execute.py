"""Run notebooks from top to bottom, and check their output against the project's rules.

    python docs/execute.py --into docs/notebooks notebooks/01_two_flows_one_queue.ipynb ...

Each notebook runs from top to bottom in a fresh kernel of the Python that runs this script,
whatever kernels are installed beside it, and in an empty folder, so that it can lean on nothing
around it. A copy with outputs is written only where every cell ran, nothing was written to
standard error, there is a picture, and every axis of every picture has a name and a unit.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

__all__ = ["complaints", "execute", "main", "says_its_unit"]

SECONDS = 300
"""The longest that a cell may take."""
AXES = "application/x-vegasfluid-axes+json"
"""Beside each picture while a notebook is checked: the labels of its axes. It is not written."""

UNITS = (
    *("packets", "packets/s", "Mbit/s", "Kbit/s", "Gbit/s", "s", "ms", "1/s", "rad/s", "1/packets"),
    *("%", "bytes", "packets a round trip", "packets per RTT per packet of backlog", "flows"),
    *("days", "photon lifetimes", "relative"),
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Of a traceback."""
IN_KEYS = ("_packets", "_mbps", "_ms", "_s", "_mb", "_bytes", "_packets_per_s", ".count")
"""Names of model files, which say their unit themselves."""
NUMBERS = (
    *("ratio", "goodput of", "share", "probability", "utilisation", "jain", "margin", "seed"),
    *("gain a = n p' / p", "t / r, base rtt / rtt", "number of flows"),
)
"""With these in it a label is one of a number without a unit."""


def describe_figures() -> None:
    """In the kernel: say beside each picture which of its axes have numbers, and their labels."""
    import re

    from IPython import get_ipython
    from IPython.core.formatters import JSONFormatter

    def shown(labels: Any) -> bool:
        texts = [label.get_text() for label in labels if label.get_visible()]
        plain = [re.sub(r"\\[a-z]+|(?<=\d)e", "", text) for text in texts]  # LaTeX, 1e3
        return any(text and not re.search("[A-Za-z]", text) for text in plain)

    def described(axes: Any) -> dict[str, Any]:
        both = (("x", axes.xaxis), ("y", axes.yaxis))
        seen = [which for which, axis in both if axes.axison and axis.get_visible()]
        return {
            "x": axes.get_xlabel(),
            # `vegasfluid.plot` names an upright axis by a title above it, on the left
            "y": axes.get_ylabel() or axes.get_title(loc="left"),
            "numbers": [
                name for name, axis in both if name in seen and shown(axis.get_ticklabels())
            ],
        }

    class AxesFormatter(JSONFormatter):
        """Not by types: what is registered for figures is lost when matplotlib is loaded."""

        def __call__(self, shown: Any) -> Any:
            if type(shown).__module__ != "matplotlib.figure":
                return None
            shown.canvas.draw()
            return [described(axes) for axes in shown.axes if axes.get_visible()]

    display = get_ipython().display_formatter
    display.formatters[AXES] = AxesFormatter(parent=display)


class ThisPython(KernelSpecManager):
    """One kernel, which is this Python; others that are installed do not count."""

    begins_with = ""
    """A script that the kernel runs first."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel, whatever its name."""
        arguments = ["-f", "{connection_file}", f"--IPKernelApp.exec_files={self.begins_with}"]
        arguments += ["--InlineBackend.figure_formats=retina"]
        argv = [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", *arguments]
        return KernelSpec(argv=argv, language="python", display_name="Python 3")


def environment() -> dict[str, str]:
    """The environment of a kernel, whose folder is not ours."""
    paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    found = {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths))}
    return {**os.environ, **found, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


async def execute(notebook: Any) -> None:
    """Run a notebook; its outputs are put into it.

    Raises:
        CellExecutionError: with the traceback of the cell that failed.
    """
    with TemporaryDirectory() as empty, TemporaryDirectory() as other:
        hook = Path(other, "describe.py")
        hook.write_text(
            f"from typing import Any\nAXES = {AXES!r}\n"
            f"{inspect.getsource(describe_figures)}\ndescribe_figures()\n"
            "del Any, AXES, describe_figures\n"
        )
        known = ThisPython()
        known.begins_with = str(hook)
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=known,
            connection_file=str(Path(other, "kernel.json")),
            transport="ipc" if os.name == "posix" else "tcp",  # no other user can look on
        )
        resources = {"metadata": {"path": empty}}
        quiet = {"timeout": SECONDS, "resources": resources, "coalesce_streams": True}
        client = NotebookClient(notebook, manager, **quiet)
        try:
            await client.async_execute(env=environment())
        finally:
            await manager.shutdown_kernel(now=True)


def says_its_unit(label: str) -> bool:
    """Whether an axis that has this label is understood: `queue, packets`, or a known number.

    >>> says_its_unit("queue, packets"), says_its_unit("queue"), says_its_unit("drop probability")
    (True, False, True)
    """
    plain = label.lower()
    return (
        any(label.endswith(f", {unit}") for unit in UNITS)
        or plain.endswith(IN_KEYS)
        or any(re.search(rf"\b{re.escape(number)}", plain) for number in NUMBERS)
    )


def complaints(notebook: Any) -> Iterator[str]:
    """What is wrong with an executed notebook, a line for each."""
    pictures = count = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        count += 1
        if cell.execution_count != count:
            yield f"{cell.id}: is number {count}, but ran as number {cell.execution_count}"
        for output in cell.outputs:
            pictures += "image/png" in output.get("data", {})
            yield from (f"{cell.id}: {what}" for what in about(output))
    if not pictures:
        yield "has no picture"


def about(output: Any) -> Iterator[str]:
    """What is wrong with one output."""
    if output.output_type == "error":
        yield f"{output.ename}: {output.evalue}"
    if output.get("name") == "stderr":
        yield f"writes to standard error: {output.text.strip()[:200]}"
    shown = output.get("data", {})
    if shown.get("text/plain", "").startswith(("<Axes", "<Figure")) and "image/png" not in shown:
        yield f"shows {shown['text/plain']} in place of a picture"
    if "image/png" in shown and AXES not in shown:
        yield "a picture whose axes are not known"
    for axes in shown.get(AXES, []):
        for which in axes["numbers"]:
            if not says_its_unit(axes[which]):
                yield f"an axis ({which}) without name and unit: {axes[which]!r}"


def without_descriptions(notebook: Any) -> Any:
    """The notebook with pictures alone."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(AXES, None)
    return notebook


def run(source: Path, into: Path) -> list[str]:
    """Run one notebook, and write its copy where it is fit to be read; what is wrong."""
    notebook = nbformat.read(source, as_version=4)
    began = time.perf_counter()
    try:
        asyncio.run(execute(notebook))
    except CellExecutionError as failed:
        return [COLOURS.sub("", str(failed))]
    wrong = list(complaints(notebook))
    if not wrong:
        into.mkdir(parents=True, exist_ok=True)
        copy = into / source.name
        beside = copy.with_suffix(".part")
        nbformat.write(without_descriptions(notebook), beside)
        beside.replace(copy)
    print(f"{source.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return wrong


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, required=True, help="folder of the copies")
    asked = parser.parse_args()
    status = 0
    for source in asked.notebooks:
        for what in run(source, asked.into):
            print(f"{source.name}: {what}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

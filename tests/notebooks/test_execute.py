"""The script that runs notebooks: what it lets through, and what it does not."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT

SCRIPT = ROOT / "docs" / "execute.py"


@cache
def execute():
    """The script as a module; importing it takes 2 s, as nbformat does."""
    spec = importlib.util.spec_from_file_location("execute_notebooks", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nbformat():
    return importlib.import_module("nbformat")


def new_output(*given, **fields):
    return nbformat().v4.new_output(*given, **fields)


def picture(x: str = "time, s", y: str = "queue, packets"):
    described = [{"x": x, "y": y, "numbers": ["x", "y"]}]
    data = {"image/png": "...", "text/plain": "<Figure>", execute().AXES: described}
    return new_output("display_data", data)


def executed(*outputs, count: int = 1):
    v4 = nbformat().v4
    cell = v4.new_code_cell(id="one", outputs=[*outputs], execution_count=count)
    return v4.new_notebook(cells=[cell])


@pytest.mark.parametrize(
    "label",
    [
        "time, s",
        "window per flow, packets",
        "goodput per flow, packets/s",
        "drop probability",
        "vegas.alpha_packets",
        "ratio",
        "gain A = N p' / p",
        "base RTT, ms",
    ],
)
def test_labels_of_our_pictures_say_their_unit(label):
    assert execute().says_its_unit(label)


@pytest.mark.parametrize("label", ["", "time", "alpha", "queue [packets]", "time, seconds", "x, y"])
def test_labels_without_a_unit_are_rejected(label):
    assert not execute().says_its_unit(label)


def test_a_good_notebook_has_no_complaints():
    assert list(execute().complaints(executed(picture()))) == []


@pytest.mark.parametrize(
    ("notebook", "message"),
    [
        (lambda: executed(), "has no picture"),
        (lambda: executed(picture(x="")), "an axis (x) without name and unit: ''"),
        (lambda: executed(picture(y="queue")), "an axis (y) without name and unit: 'queue'"),
        (lambda: executed(picture(), count=3), "is number 1, but ran as number 3"),
        (
            lambda: executed(picture(), new_output("stream", name="stderr", text="a warning")),
            "writes to standard error: a warning",
        ),
        (
            lambda: executed(
                picture(), new_output("error", ename="KeyError", evalue="x", traceback=[])
            ),
            "KeyError: x",
        ),
        (
            lambda: executed(picture(), new_output("execute_result", {"text/plain": "<Axes: >"})),
            "in place of a picture",
        ),
        (
            lambda: executed(new_output("display_data", {"image/png": "..."})),
            "a picture whose axes are not known",
        ),
    ],
    ids=("no-picture", "no-name", "no-unit", "order", "stderr", "error", "axes", "unknown"),
)
def test_faults_are_reported(notebook, message):
    assert any(message in line for line in execute().complaints(notebook()))


FIGURE = """
import os, sys
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

figure, (top, bottom) = plt.subplots(2, 1, sharex=True)  # numbers stand on one x axis only
top.set(title="drop probability")
top.set_title("queue, packets", loc="left")
top.set_xticks([0, 1], ["before", "after"])  # names are no numbers
bottom.set(xlabel="time, s", ylabel="cwnd, packets");
"""


def run(folder: Path, *sources: str) -> subprocess.CompletedProcess[str]:
    v4 = nbformat().v4
    cells = [v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(sources)]
    nbformat().write(v4.new_notebook(cells=cells), folder / "tried.ipynb")
    command = [sys.executable, SCRIPT, "--into", folder / "into", folder / "tried.ipynb"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_notebook_runs_in_this_python_and_in_an_empty_folder(tmp_path, monkeypatch):
    elsewhere = tmp_path / "data" / "kernels" / "python3"  # a kernel that a user installed
    elsewhere.mkdir(parents=True)
    (elsewhere / "kernel.json").write_text('{"argv": ["false"], "display_name": "another"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    done = run(tmp_path, FIGURE, "print(sys.executable, os.listdir())\ntop.figure")
    assert done.returncode == 0, done.stderr
    copy = nbformat().read(tmp_path / "into" / "tried.ipynb", as_version=4)
    text, shown = copy.cells[1].outputs
    assert text.text == f"{sys.executable} []\n"
    assert set(shown.data) == {"image/png", "text/plain"}
    assert [cell.execution_count for cell in copy.cells] == [1, 2]


@pytest.mark.slow
def test_a_picture_with_a_bare_axis_is_not_let_through(tmp_path):
    done = run(
        tmp_path,
        FIGURE,
        "bare = Figure(); bare.subplots().set(xlabel='time, s', yscale='log'); bare",
    )
    assert done.returncode == 1
    assert "cell-1: an axis (y) without name and unit: ''" in done.stderr
    assert not (tmp_path / "into").exists()


def test_a_cell_that_fails_is_reported_with_its_traceback(tmp_path):
    done = run(tmp_path, "1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero\n" in done.stderr  # and no colours in it
    assert not (tmp_path / "into").exists()

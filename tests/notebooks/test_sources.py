"""The notebooks as they lie in the repository: what a reader opens first, and what git keeps."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MACHINE = re.compile(r"/(?:home|root|tmp|work|Users|var)/|\b[A-Z]:\\\w|\.venv")
WRITTEN = re.compile(r"^%%writefile \S+\.py\n")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path):
    nbformat = importlib.import_module("nbformat")  # takes 2 s
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def test_there_are_notebooks_and_each_leads_on_to_the_next():
    by_number = {int(path.stem.partition("_")[0]): path for path in NOTEBOOKS}
    assert len(by_number) == len(NOTEBOOKS) > 0
    for number, path in by_number.items():
        if then := by_number.get(number + 1):
            assert f"`{then.stem}`" in read(path).cells[-1].source, f"{path.stem} leads nowhere"


@each_notebook
def test_it_begins_with_one_question_and_ends_in_words(path):
    first, *_, last = read(path).cells
    assert first.cell_type == last.cell_type == "markdown"
    title, *rest = first.source.splitlines()
    assert re.fullmatch(r"# [A-Z][^?]*\?", title), "a title is a question"
    assert not any(line.startswith("#") for line in rest)
    headings = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    assert any(text.startswith("## The answer") for text in headings)


@each_notebook
def test_git_keeps_no_outputs_and_nothing_of_a_machine(path):
    notebook = read(path)
    assert notebook.nbformat_minor >= 5
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata.language_info) == {"name"}, "no version of somebody's Python"
    for cell in notebook.cells:
        assert not cell.metadata
        assert cell.source.strip()
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
        assert not MACHINE.search(cell.source)


@each_notebook
def test_cells_have_names_of_their_own(path):
    ids = [cell.id for cell in read(path).cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", item) for item in ids), "state what a cell is"


@each_notebook
def test_modules_that_it_writes_are_as_tidy_as_ours(path):
    for cell in read(path).cells:
        if cell.cell_type == "code" and WRITTEN.match(cell.source):
            text = WRITTEN.sub("", cell.source) + "\n"
            for ask in (["check"], ["format", "--check"]):
                done = subprocess.run(
                    [sys.executable, "-m", "ruff", *ask, "--stdin-filename", "vegasfluid/x.py"],
                    cwd=ROOT,
                    input=text,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, done.stdout + done.stderr

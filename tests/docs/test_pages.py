"""Every block of code on every page is run, read or looked up, as in `tests/docs/pages.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Reader, blocks
from tests.paths import ROOT

DOCS = ROOT / "docs"
GENERATED = ("_", "api/reference", "laws/congestion", "laws/queues", "laws/traffic", "notebooks/")
GENERATED += ("papers/claims", "validation/formulas.md")
WRITTEN = (
    page
    for page in DOCS.rglob("*.md")
    if not page.relative_to(DOCS).as_posix().startswith(GENERATED)
)
PAGES = [ROOT / "README.md", *sorted(WRITTEN)]
EXTENDING = [page for page in PAGES if page.parent.name == "extend"]
OTHERS = [page for page in PAGES if page not in EXTENDING and any(blocks(page))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the present one; pages quote lines as a pipe gets them, unbroken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_shows_exists(page: Path, folder: Path) -> None:
    """Nothing is run: models are read, code is compiled, commands and options are looked up."""
    Reader(page, folder).look()


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("page", OTHERS, ids=name_of)
def test_a_reader_can_follow(page: Path, folder: Path) -> None:
    Reader(page, folder).follow()


@pytest.mark.slow
def test_laws_of_ones_own(tmp_path: Path) -> None:
    """In a separate process, which alone knows them."""
    assert len(EXTENDING) == 4
    environment = {
        **os.environ,
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # it compiles much and computes little
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.pages", str(tmp_path), *map(str, EXTENDING)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

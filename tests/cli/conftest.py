"""A command that is run in this process, and the small model file."""

from __future__ import annotations

import pytest

from tests.cli.commands import SMALL, written
from vegasfluid.cli.app import run_app


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; its exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: str) -> tuple[int, str, str]:
        status = run_app([*arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return one


@pytest.fixture
def small(tmp_path):
    return written(tmp_path, SMALL)

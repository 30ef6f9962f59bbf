"""Text for people: it fits the terminal, and shows names as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import edited, written


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("simulate",),
        ("simulate", "--engine", "packets"),
        ("recommend", "--runs", "3"),
        ("export", "--format", "linux", "--out", "made"),
        ("laws",),
    ],
    ids=" ".join,
)
def test_text_fits_80_columns_and_nothing_goes_to_standard_error(
    run, small, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    model = [] if command == "laws" else [Path(small).name]
    status, out, err = run(command, *model, *options)
    assert (status, err) == (0, "")
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "…" not in out
    assert "\x1b" not in out
    if command != "laws":
        assert out.startswith("Two against two\n")


def test_names_are_shown_as_they_are(run, tmp_path):
    """Neither markup nor emoji codes nor dollars in a title or a name are acted on."""
    title = "[/bold] [red]a :smile: for $\\\\foo$"
    text = edited("Two against two", title).replace("[flows.reno]", '[flows."[/b]$x"]')
    target = tmp_path / "run.svg"
    path = written(tmp_path, text)
    for arguments in (("check", path), ("simulate", path, "--plot", str(target))):
        status, out, _ = run(*arguments)
        assert status == 0
        assert out.startswith("[/bold] [red]a :smile: for $\\foo$\n")
        assert "\n[/b]$x " in out


def test_help_lists_the_commands(run):
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert all(command in out for command in ("recommend", "simulate", "check", "laws", "export"))

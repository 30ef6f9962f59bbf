"""Names and titles with control characters, path parts, or letters that the terminal lacks."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.commands import SMALL, written
from vegasfluid.cli.app import run_app

NASTY = "hi\x1b]52;c;cm0=\x1b\\\x1b[2J\x07\x9b8mhidden\u202e"
"""A title that sets the clipboard, clears the screen and rings the bell."""
ESCAPED = NASTY.encode("unicode_escape").decode()


def titled(folder: Path, title: str) -> str:
    """Path of the small model with a title, as TOML writes it."""
    quoted = '"' + "".join(f"\\u{ord(c):04x}" for c in title) + '"'
    lines = [line for line in SMALL.splitlines() if not line.startswith(("title", "source"))]
    return str(written(folder, "\n".join([f"title = {quoted}", f"source = {quoted}", *lines])))


@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["simulate", "--engine", "packets"],
        ["export", "--format", "linux"],
        ["export", "--format", "ns2"],
        ["export", "--format", "ns3"],
    ],
    ids=" ".join,
)
def test_a_title_does_nothing_to_a_terminal(command: list[str], tmp_path, run) -> None:
    name, *options = command
    status, out, err = run(name, titled(tmp_path, NASTY), *options)
    assert status == 0
    assert all(c.isprintable() or c == "\n" for c in out + err)
    assert "hidden" in out
    if name != "export":
        assert ESCAPED.replace("\\\\", "\\") in out.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_a_name_of_a_class_does_nothing_to_a_terminal(command: str, tmp_path, run) -> None:
    text = SMALL.replace("[flows.vegas]", '[flows."v\\u001b[2J"]')
    assert text != SMALL
    options = ["--engine", "packets"] if command == "simulate" else []
    status, out, err = run(command, str(written(tmp_path, text)), *options)
    assert status == 0
    assert "v\\x1b[2J" in out
    assert all(c.isprintable() or c == "\n" for c in out + err)


def test_a_name_with_a_nul_is_an_error_of_one_line(tmp_path, run) -> None:
    text = SMALL.replace("[flows.vegas]", '[flows."v\\u001b[2J\\u0000"]')
    status, _, err = run("check", str(written(tmp_path, text)))
    assert status == 2
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert "without NUL characters" in err


def test_letters_that_the_terminal_lacks_are_escapes(tmp_path, monkeypatch) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", ascii_only)
    status = run_app(["check", titled(tmp_path, "Café 東京")])
    written_out = ascii_only.buffer.getvalue()  # type: ignore[attr-defined]
    assert status == 0
    assert b"Caf\\xe9 \\u6771\\u4eac" in written_out


def test_a_saved_run_escapes_what_its_file_cannot_hold(tmp_path, run) -> None:
    out = tmp_path / "run.nc"
    model = titled(tmp_path, "a\x00b")
    assert run("simulate", model, "--engine", "packets", "--out", str(out))[0] == 0
    import xarray as xr

    with xr.open_dataset(out, engine="h5netcdf") as saved:
        assert saved.attrs["title"] == "a\\x00b"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../evil", "a/b", "..", ".", "/evil"])
def test_a_sweep_over_a_class_with_a_path_for_a_name(name: str, tmp_path, run) -> None:
    text = SMALL.replace("[flows.vegas]", f'[flows."{name}"]')
    model, out = str(written(tmp_path, text)), tmp_path / "folder" / "results.zarr"
    out.parent.mkdir()
    over = f"{name}.alpha_packets=1,2"
    status, _, err = run("sweep", model, "--over", over, "--engine", "packets", "--out", str(out))
    if "/" in name:
        assert status == 2
        assert err.count("\n") == 1
        assert "slash" in err
    assert {path.name for path in tmp_path.iterdir()} <= {Path(model).name, "folder"}

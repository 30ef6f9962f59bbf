"""Output files of commands: complete, own ones are replaced, others are not."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import matplotlib.figure
import pytest

from tests.cli.commands import assert_invalid_input
from vegasfluid.cli.targets import check_target, is_ours, save_picture
from vegasfluid.errors import InvalidInput

FAST = ("--engine", "packets")
OTHERS = {
    "run.nc": b"\x89HDF\r\n\x1a\n of another program",
    "run.png": b"\x89PNG\r\n of a camera",
    "tuned.toml": b'title = "mine" # to be tuned by vegasfluid recommend\n',
    "scenario.tcl": b"# my scenario\n",
    "map.csv": b"a,b\n1,2\n",
    "proof.json": b'{"software": "theirs"}',
}
COMMANDS = {
    "run.nc": ("simulate", *FAST, "--out"),
    "run.png": ("simulate", *FAST, "--plot"),
    "tuned.toml": ("recommend", "--out"),
    "scenario.tcl": ("export", "--format", "ns2", "--out"),
    "map.csv": ("sweep", "--over", "vegas.alpha_packets=1,2", *FAST, "--out", "s.zarr", "--to"),
    "proof.json": ("analyse", "--certificate"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_others_are_not_replaced(run, small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(OTHERS[name])
    command, *more = COMMANDS[name]
    allowed = "a new file, or one that vegasfluid wrote (--force overwrites any file)"
    assert_invalid_input(run(command, small, *more, name), f"{more[-1]} must be {allowed}", name)
    assert Path(name).read_bytes() == OTHERS[name]
    assert sorted(os.listdir()) == sorted(["model.toml", name])


@pytest.mark.parametrize("name", ["run.nc", "run.png", "scenario.tcl"])
def test_own_files_are_replaced_and_others_with_force(run, small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    command, *more = COMMANDS[name]
    Path(name).write_bytes(OTHERS[name])
    status, _, err = run(command, small, *more, name, "--force")
    assert (status, err) == (0, "")
    first = Path(name).read_bytes()
    assert first != OTHERS[name]
    assert run(command, small, *more, name)[0] == 0
    assert len(Path(name).read_bytes()) == len(first)
    assert sorted(os.listdir()) == sorted(["model.toml", name])


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("name", ["run.nc", "tuned.toml", "run.png", "map.csv", "scenario.tcl"])
@pytest.mark.parametrize("way", ["the same", "a link", "another path"])
def test_the_model_is_never_replaced(run, small, tmp_path, monkeypatch, force, name, way):
    monkeypatch.chdir(tmp_path)
    text = Path(small).read_text()
    Path(name).write_text(text)
    link = Path(name).with_stem("link")
    link.symlink_to(name)
    given = {"the same": name, "a link": str(link), "another path": str(tmp_path / name)}
    command, *more = COMMANDS[name]
    outcome = run(command, name, *more, given[way], *force)
    assert_invalid_input(outcome, f"{more[-1]} must be a file other than MODEL")
    assert Path(name).read_text() == text


def test_a_trajectory_is_a_netcdf_file(run, small, tmp_path):
    assert_invalid_input(run("simulate", small, "--out", small), "--out must be named *.nc")
    assert_invalid_input(
        run("simulate", small, "--out", str(tmp_path / "run.png")), "--out must be named *.nc"
    )


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_pictures_have_their_origin_in_them(tmp_path, name):
    figure = matplotlib.figure.Figure()
    figure.savefig(tmp_path / name)
    assert not is_ours(tmp_path / name)
    save_picture(figure, tmp_path / name)
    assert is_ours(tmp_path / name)


def test_an_empty_file_may_be_replaced(tmp_path):
    """Such as `mktemp` makes."""
    (tmp_path / "a.nc").touch()
    check_target("simulate", "--out", tmp_path / "a.nc", (".nc",))
    (tmp_path / "a.nc").write_text("a")
    with pytest.raises(InvalidInput):
        check_target("simulate", "--out", tmp_path / "a.nc", (".nc",))


@pytest.mark.parametrize("name", ["run.nc", "run.png", "scenario.tcl"])
def test_a_full_disk_leaves_what_was_there(run, small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    command, *more = COMMANDS[name]
    assert run(command, small, *more, name)[0] == 0
    before = Path(name).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    status, out, err = run(command, small, *more, name)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"vegasfluid: .*No space left on device\n", err)
    assert Path(name).read_bytes() == before
    assert sorted(os.listdir()) == sorted(["model.toml", name])

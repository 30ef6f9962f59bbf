"""Output files are complete or not there, and a failed write leaves what was there."""

from __future__ import annotations

import ast
import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from tests.paths import ROOT
from vegasfluid import interruption
from vegasfluid.output_files import new_file, write_bytes, write_text

IN_MEMORY = {"temporary", "picture"}
"""Names of temporary paths and of buffers."""
WRITING = {"write_text", "write_bytes", "savefig", "to_netcdf", "to_csv"}
"""Methods that write to a file in place."""


def test_a_file_is_written_and_replaced(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "é\n")
    assert target.read_bytes() == b"\xc3\xa9\n"
    target.chmod(0o640)
    write_bytes(target, b"\x00")
    assert target.read_bytes() == b"\x00"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


class BrokenOffError(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError(), BrokenOffError()])
@pytest.mark.parametrize("before", ["what was there", None])
def test_a_failed_write_leaves_what_was_there(tmp_path, error, before):
    target = tmp_path / "a.nc"
    if before is not None:
        target.write_text(before)

    def write_half() -> None:
        with new_file(target) as temporary:
            assert (temporary.parent, temporary.suffix) == (tmp_path, ".nc")
            temporary.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert [path.name for path in tmp_path.iterdir()] == ([] if before is None else ["a.nc"])
    assert before is None or target.read_text() == before


def test_nothing_is_moved_into_place_if_the_disk_is_full_at_the_end(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    (tmp_path / "a.txt").write_text("before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        write_text(tmp_path / "a.txt", "after")
    assert (tmp_path / "a.txt").read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "a.txt")
    write_text(tmp_path / "link", "a")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "a.txt").read_text() == "a"


def test_devices_and_pipes_are_written_in_place(tmp_path):
    write_text("/dev/null", "a")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: read.append(pipe.read_text()))
    thread.start()
    write_text(pipe, "a")
    thread.join()
    assert read == ["a"]
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_signal_deletes_the_temporary_file(tmp_path):
    with new_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        *before, delete = interruption.CLEANUPS
        delete()
        assert os.listdir(tmp_path) == []
        temporary.write_text("whole")
    assert before == interruption.CLEANUPS


def calls_in(file: Path) -> set[tuple[str, str]]:
    """The calls of methods that write in place, with what is the first argument."""
    tree = ast.parse(file.read_text())
    return {
        (node.func.attr, ast.unparse(node.args[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITING
        and node.args
    }


def test_the_package_writes_in_no_other_way():
    """Except to temporary files, and where the caller moves the file or deletes its folder."""
    apart = {"short_runs.py": {("to_netcdf", "saved")}}
    apart |= {"damage.py": {("write_text", "json.dumps(metadata, indent=2)")}}
    apart |= {"machine_code.py": {("write_text", "json.dumps(digests)")}}
    apart |= {"programs.py": {("write_text", "text")}}
    apart |= {"user_mode.py": {("write_text", "INIT"), ("write_text", "f'{seed}\\n'")}}
    apart |= {"output_files.py": {("write_text", "text"), ("write_bytes", "content")}}
    for file in (ROOT / "vegasfluid").rglob("*.py"):
        found = {call for call in calls_in(file) if call[1] not in IN_MEMORY}
        assert found == apart.get(file.name, set()), file

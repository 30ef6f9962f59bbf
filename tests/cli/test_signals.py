"""Each command ends at a signal at once, with its status, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.hardening.signals import COMMANDS, begun, died_at_random_moment
from tests.paths import ROOT
from tests.signals import end_of, start

FEW = ("packets", "fluid", "density", "recommend", "sweep", "doctor")
"""Commands that run for long; `benchmarks.hardening` takes all."""


def check_end(process: subprocess.Popen[str], folder: Path, number: int, command: str) -> None:
    """Send a signal to a command and its children, as a terminal does, and look what is left."""
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, number)
    begin = time.monotonic()
    out, err = end_of(process)
    if command == "doctor" and process.returncode == -number:
        return  # it had ended, and Python had given up its signal handlers: the same for a shell
    assert (process.returncode, out) == (128 + number, ""), err
    assert time.monotonic() - begin < 10  # on a busy machine; it takes some 0.1 s
    word = "interrupted." if number == signal.SIGINT else "terminated."
    *others, last = err.splitlines()
    assert last == f"vegasfluid: {word}"
    assert all("points are saved in" in line for line in others), err
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    left = {path.name for path in folder.iterdir()} - {"cache", "s.zarr"}
    assert left == {"long.toml"}
    if command not in {"sweep", "doctor"}:  # whose processes are killed: deleted an hour later
        assert not list(folder.glob("cache/numba/.*"))


def test_within_the_first_moments(tmp_path):
    for pause in (0.3, 0.6):
        process = begun("packets", tmp_path)
        time.sleep(pause)
        check_end(process, tmp_path, signal.SIGINT, "packets")


def test_before_it_responds_to_signals_ctrl_c_ends_it_without_a_traceback():
    code = (
        "import os, signal; from vegasfluid.cli import let_interrupts_end; let_interrupts_end(); "
        "os.kill(os.getpid(), signal.SIGINT)"
    )
    process = start([sys.executable, "-c", code], cwd=ROOT)
    assert end_of(process) == ("", "")
    assert process.returncode == -signal.SIGINT


@pytest.mark.slow
@pytest.mark.parametrize("command", FEW)
def test_at_any_moment(tmp_path, command):
    """While it imports, compiles with an empty cache, and runs.

    The two signals take turns; commands that write a file begin with the other one.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if "--out" in COMMANDS[command]:
        numbers.reverse()
    for pause, number in zip((0.5, 3.0, 8.0), [*numbers, numbers[0]], strict=True):
        process = begun(command, tmp_path)
        time.sleep(pause)
        if process.poll() is not None:  # the doctor ends by itself
            assert command == "doctor"
            process.communicate()
            break
        check_end(process, tmp_path, number, command)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(COMMANDS)))
def test_each_command_at_a_random_moment(tmp_path, index):
    death = died_at_random_moment(index, tmp_path / "work")
    assert death.fault == "", death
    assert death.seconds < 10  # on a busy machine; it takes some 0.1 s

"""Each command ends at a signal at once, with its status, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.paths import ROOT
from tests.signals import end_of, start
from tests.sweep.small import ALPHA, MODEL
from vegasfluid.modelfile import dumps

COMMAND = [sys.executable, "-c", "from vegasfluid.cli import main; main()"]
SWEEP = (
    "--over",
    f"{ALPHA}=1:400:4000",
    "--workers",
    "1",
    "--engine",
    "packets",
    "--out",
    "s.zarr",
)
COMMANDS = {
    "packets": ("simulate", "long.toml", "--engine", "packets", "--out", "run.nc"),
    "fluid": ("simulate", "long.toml", "--out", "run.nc"),
    "density": ("simulate", "long.toml", "--engine", "density", "--plot", "run.png"),
    "recommend": ("recommend", "long.toml", "--out", "tuned.toml"),
    "sweep": ("sweep", "long.toml", *SWEEP),
    "doctor": ("doctor",),
}


def begun(command: str, folder: Path) -> subprocess.Popen[str]:
    """A command that takes longer than a test, with an empty cache."""
    (folder / "long.toml").write_text(dumps(replace(MODEL, duration=1e6, warmup=1e5)))
    return start(
        [*COMMAND, *COMMANDS[command]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "VEGASFLUID_CACHE_DIR": str(folder / "cache")},
        start_new_session=True,
    )


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


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
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

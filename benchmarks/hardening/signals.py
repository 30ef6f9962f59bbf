"""Commands that get a signal at a random moment: they end at once, and leave nothing behind.

All commands take turns, with SIGINT for all processes of the group, as a terminal sends it, or
SIGTERM for the command alone, as `kill` does. A command that ends before its moment is run again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.paths import ROOT
from tests.signals import start
from tests.sweep.small import ALPHA, MODEL
from vegasfluid import simulate_packets
from vegasfluid.modelfile import dumps

__all__ = ["COMMANDS", "PROGRAM", "Death", "begun", "died_at_random_moment", "orphans"]

SEED = 382
"""Seed of the random moments."""
PROGRAM = (sys.executable, "-c", "from vegasfluid.cli import main; main()")
SWEEP = ("--over", f"{ALPHA}=1:400:4000", "--workers", "1", "--engine", "packets")
SS = ROOT / "tests" / "observe" / "data" / "droptail_ss.txt"
COMMANDS: dict[str, tuple[str, ...]] = {
    "packets": ("simulate", "long.toml", "--engine", "packets", "--out", "run.nc"),
    "fluid": ("simulate", "long.toml", "--out", "run.nc"),
    "density": ("simulate", "long.toml", "--engine", "density", "--plot", "run.png"),
    "recommend": ("recommend", "long.toml", "--out", "tuned.toml"),
    "sweep": ("sweep", "long.toml", *SWEEP, "--out", "s.zarr"),
    "doctor": ("doctor",),
    "analyse": ("analyse", "long.toml"),
    "explore": ("explore", "long.toml", "--no-browser"),
    "export": ("export", "long.toml", "--format", "ns3", "--out", "scenario.py"),
    "observe": ("observe", str(SS), "--out", "estimate.toml"),
    "plot": ("plot", "saved.nc", "--out", "saved.png"),
    "check": ("check", "long.toml"),
    "crosscheck": ("crosscheck", "long.toml"),
    "init": ("init", "--out", "mine.toml"),
    "models": ("models",),
    "laws": ("laws",),
    "notebooks": ("notebooks", "--out", "copies"),
    "certify": ("certify", "certificate.json"),
}
"""Command lines in a folder with a model whose runs take longer than any test, by name."""
LONG = ("packets", "fluid", "density", "recommend", "sweep", "explore", "init")
"""Commands that do not end by themselves in less than a minute."""
LONGEST_PAUSE, SHORT_PAUSE = 10.0, 2.0
"""Latest moment of a signal, s after the start: of the `LONG` commands and of the others."""
LONGEST_END = 60.0
"""Time after which a command that got a signal is killed, s."""
GRACE = 5.0
"""Time in which the children of a command must end after it, s."""


class Death(NamedTuple):
    """How a command ended after a signal.

    Args:
        command: name of the command.
        pause: time from its start to the signal, s.
        number: number of the signal.
        seconds: time from the signal to its end, s.
        fault: what is wrong, in a few words; empty if nothing is.
        errors: standard error.
    """

    command: str
    pause: float
    number: int
    seconds: float
    fault: str
    errors: str


def begun(command: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command in a process group and a folder, with an empty cache.

    Args:
        command: a key of `COMMANDS`.
        folder: its working folder, in which the model is written.
    """
    (folder / "long.toml").write_text(dumps(replace(MODEL, duration=1e6, warmup=1e5)))
    more = {"PYTHONPATH": str(ROOT), "VEGASFLUID_CACHE_DIR": str(folder / "cache")}
    return start(
        [*PROGRAM, *COMMANDS[command]],
        cwd=folder,
        env={**os.environ, **more},
        start_new_session=True,
        stdin=subprocess.PIPE,
    )


def died_at_random_moment(index: int, folder: Path) -> Death:
    """Start a command, send a signal to it at a random moment, and look what it leaves.

    Args:
        index: number of the case; commands take turns.
        folder: an empty folder.
    """
    draw = random.Random(f"{SEED}-{index}")
    name = list(COMMANDS)[index % len(COMMANDS)]
    number = draw.choice((signal.SIGINT, signal.SIGTERM))
    longest = LONGEST_PAUSE if name in LONG else SHORT_PAUSE
    while True:
        pause = draw.uniform(0.0, longest)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_inputs(folder)
        process = begun(name, folder)
        time.sleep(pause)
        if process.poll() is None:
            return death_of(process, name, pause, number, folder)
        process.communicate()
        longest = pause  # the command had ended by itself


def write_inputs(folder: Path) -> None:
    """Write a saved run and a file in place of a certificate into a folder."""
    (folder / "certificate.json").write_text("{}")
    (folder / "saved.nc").write_bytes(saved_run())


@cache
def saved_run() -> bytes:
    """The file of a short run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "saved.nc"
        simulate_packets(MODEL.network, 2.0).to_netcdf(file, engine="h5netcdf")
        return file.read_bytes()


def death_of(
    process: subprocess.Popen[str], name: str, pause: float, number: int, folder: Path
) -> Death:
    """Send a signal to a running command, and look what it leaves.

    Args:
        process: the command.
        name: its name.
        pause: time since its start, s.
        number: number of the signal.
        folder: its working folder.
    """
    below = psutil.Process(process.pid).children(recursive=True)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    began = time.monotonic()
    standard_input, process.stdin = process.stdin, None  # stays open: its end answers `init`
    try:
        _, errors = process.communicate(timeout=LONGEST_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Death(name, pause, number, LONGEST_END, "hang", "")
    finally:
        if standard_input is not None:
            standard_input.close()
    seconds = time.monotonic() - began
    found = "; ".join(faults(process, number, errors, folder, below))
    return Death(name, pause, number, seconds, found, errors)


def faults(
    process: subprocess.Popen[str],
    number: int,
    errors: str,
    folder: Path,
    below: list[psutil.Process],
) -> Iterator[str]:
    """What is wrong with the end of a command: its status, messages, children or files.

    Args:
        process: the command, which has ended.
        number: number of the signal.
        errors: its standard error.
        folder: its working folder.
        below: its children at the time of the signal.
    """
    if "vegasfluid" not in errors and errors.endswith("KeyboardInterrupt\n"):
        return  # while Python itself started, before it ran a line of this package
    # The second: before Python has handlers, or after it has given them up; the same for a shell.
    if process.returncode not in (128 + number, -number):
        yield f"exit status {process.returncode}"
    # Ctrl-C while Python imports the package ends as in any Python program: it is not caught.
    if "Traceback" in errors and process.returncode != -signal.SIGINT:
        yield "traceback"
    if orphans(process.pid, below):
        yield "orphan"
    # Files are written beside their place, under names with a dot, and moved into it when complete.
    left = [path for path in folder.rglob(".*") if folder / "cache" not in path.parents]
    if left:
        yield f"partial file {left[0].name}"


def orphans(session: int, below: list[psutil.Process]) -> list[psutil.Process]:
    """Processes that a command has left behind, after some grace.

    Args:
        session: number of the command's process, which was the first of its session.
        below: its children while it ran.
    """
    in_session = [process for process in psutil.process_iter() if of_session(process, session)]
    _, alive = psutil.wait_procs({*below, *in_session}, timeout=GRACE)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def of_session(process: psutil.Process, session: int) -> bool:
    """Whether a process is in a session."""
    try:
        return os.getsid(process.pid) == session
    except OSError:
        return False

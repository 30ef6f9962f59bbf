"""Signals end a command at once, whatever it computes, and leave nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.signals import end_of, start
from vegasfluid import interruption

PROGRAM = """
import ctypes, signal, sys
from pathlib import Path
from vegasfluid.interruption import at_interruption, exit_at_signals

exit_at_signals("program")
folder = Path(sys.argv[1])

def failing():
    raise OSError

def note(name):
    return lambda: (folder / "log").open("a").write(name + " ")

print("begun", file=sys.stderr, flush=True)
with at_interruption(note("never")):
    pass
with at_interruption(note("first")), at_interruption(failing), at_interruption(note("second")):
    print("not to be seen")
    (folder / "ready").touch()
    {body}
"""
BODIES = {
    "compiled code": "ctypes.CDLL(None).pause(); ctypes.CDLL(None).sleep(600)",
    "Python": "while True: pass",
    "a callback that swallows exceptions": (
        "exec('class A:\\n def __del__(self):\\n  while True: pass'); a = A(); del a"
    ),
    "another thread": (
        "import threading; thread = threading.Thread(target=ctypes.CDLL(None).sleep, args=(600,)); "
        "thread.start(); thread.join()"
    ),
}


def started(folder: Path, body: str, *before: str) -> subprocess.Popen[str]:
    """A program that is in its body; `before` is in front of its command line."""
    (folder / "program.py").write_text(PROGRAM.replace("{body}", body))
    process = start(
        [*before, sys.executable, str(folder / "program.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
    )
    while not (folder / "ready").exists():
        assert process.poll() is None, process.communicate()
    return process


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [("SIGINT", 130, "interrupted."), ("SIGTERM", 143, "terminated."), ("SIGHUP", 129, "the term")],
)
def test_a_signal_ends_the_program_at_once(tmp_path, body, name, status, message):
    process = started(tmp_path, BODIES[body])
    process.send_signal(getattr(signal, name))
    out, err = end_of(process)
    assert (process.returncode, out) == (status, "")
    assert err.splitlines()[0] == "begun"
    assert err.splitlines()[1].startswith(f"program: {message}")
    assert len(err.splitlines()) == 2
    assert (tmp_path / "log").read_text().split() == ["second", "first"]


def test_a_signal_that_the_program_was_started_to_ignore_stays_ignored(tmp_path):
    """As `nohup` does for SIGHUP, and shells for SIGINT of jobs in the background."""
    ignoring = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    process = started(tmp_path, BODIES["Python"], *ignoring)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(signal.SIGTERM)
    end_of(process)
    assert process.returncode == 143


def test_in_another_thread_nothing_is_changed():
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=interruption.exit_at_signals, args=("program",))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert interruption.SOCKETS == []


def test_a_cleanup_may_stay(monkeypatch):
    monkeypatch.setattr(interruption, "CLEANUPS", [])
    interruption.at_every_interruption(list)
    with interruption.at_interruption(dict):
        assert [list, dict] == interruption.CLEANUPS
    assert [list] == interruption.CLEANUPS


def test_importing_the_command_line_changes_no_handler():
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); import vegasfluid.cli.app; "
        "assert signal.getsignal(signal.SIGINT) is before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_children_do_not_receive_interrupts(tmp_path):
    code = "import time; print('begun', flush=True); time.sleep(1); print('ended')"
    with interruption.interrupts_blocked():
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "ended\n"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == set()


def test_what_a_cleanup_breaks_is_not_reported(tmp_path):
    """The body fails while the cleanup still runs."""
    body = """
    import threading, time
    broken = threading.Event()
    with at_interruption(lambda: (broken.set(), time.sleep(1))):
        broken.wait()
        raise RuntimeError("the cleanup has taken something away")
"""
    process = started(tmp_path, body.strip())
    process.send_signal(signal.SIGTERM)
    _, err = end_of(process)
    assert (process.returncode, err) == (143, "begun\nprogram: terminated.\n")

"""Programs that tests start and send signals to."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def default_signals() -> Iterator[None]:
    """Context in which programs are started with the usual response to SIGINT, SIGTERM and SIGHUP.

    A process passes on which signals it ignores, and tests in the background of a shell ignore
    SIGINT, under `nohup` SIGHUP.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
    """Start a program that responds to signals as usual; its output is read as text."""
    with default_signals():
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )


def end_of(process: subprocess.Popen[str], timeout: float = 60.0) -> tuple[str, str]:
    """Output and errors of a program that must end within the time (s); else it is killed."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise

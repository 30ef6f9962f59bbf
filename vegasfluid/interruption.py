"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP, also while compiled code runs.

Python raises KeyboardInterrupt in the main thread when it next runs Python code: not before a
packet run or XLA's compiler returns, never if a callback swallows it, and in the middle of JAX's
C++ code, which then crashes. So a thread waits for the signals instead. It removes what is not
finished, as in `at_interruption`, and ends the process at once. Compiled code runs without
Python's global interpreter lock, so it does not hold up this thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

__all__ = [
    "at_every_interruption",
    "at_interruption",
    "exit_at_signals",
    "interrupts_blocked",
    "print_now",
]

MESSAGES = {"SIGINT": "interrupted.", "SIGTERM": "terminated.", "SIGHUP": "the terminal is gone."}
"""Signals that end a command, and what is printed on standard error."""
CLEAR_LINE, SHOW_CURSOR = "\r\x1b[K", "\x1b[?25h"
"""Terminal codes that remove a line of progress, and show the cursor, which progress hides."""
CLEANUPS: list[Callable[[], object]] = []
"""Functions to call before the process ends, the last one first."""
ENDING = threading.Event()
"""Set when a signal ends this process, before the functions in `CLEANUPS` are called."""
SOCKETS: list[socket.socket] = []
"""Sockets through which Python reports signals; they are open until the process ends."""


@contextlib.contextmanager
def at_interruption(cleanup: Callable[[], object]) -> Iterator[None]:
    """Context in which a signal that ends the command first calls `cleanup`, in another thread.

    Once a signal has come, the context is not left: the process ends. So errors that `cleanup`
    causes here, such as that of a program that it kills, are not reported.
    """
    CLEANUPS.append(cleanup)
    try:
        yield
    finally:
        if ENDING.is_set():
            threading.Event().wait()
        CLEANUPS.remove(cleanup)


def at_every_interruption(cleanup: Callable[[], object]) -> None:
    """Let a signal that ends the command first call `cleanup`, from now on."""
    CLEANUPS.append(cleanup)


def exit_at_signals(program: str) -> None:
    """Make Ctrl-C, SIGTERM and SIGHUP end this process with status 128 plus the signal's number.

    Signals that the process was started to ignore (`nohup`) stay ignored. Only for programs, as it
    replaces the process's signal handlers; nothing happens outside the main thread.

    Args:
        program: name in front of the message.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    messages = {}
    for name, message in MESSAGES.items():
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            messages[int(number)] = f"{program}: {message}\n"
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    SOCKETS.extend((reader, writer))
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in messages:
        signal.signal(number, ignore)
    threading.Thread(target=wait_and_exit, args=(reader, messages), daemon=True).start()


def ignore(*_: object) -> None:
    """Signal handler that leaves the signal to the thread; Python reports only handled signals."""


def wait_and_exit(reader: socket.socket, messages: dict[int, str]) -> None:
    """Wait for one of the signals, clean up, print its message, and end the process.

    Args:
        reader: socket on which Python reports signals, a byte with the number for each.
        messages: messages by the number of the signal.
    """
    number = 0
    while number not in messages:
        number = reader.recv(1)[0]
    ENDING.set()
    for cleanup in reversed(CLEANUPS.copy()):
        with contextlib.suppress(Exception):
            cleanup()
    print_now(messages[number])
    os._exit(128 + number)


def print_now(message: str) -> None:
    """Write to standard error without Python's buffers, whose locks another thread may hold."""
    codes = CLEAR_LINE + SHOW_CURSOR if os.isatty(2) else ""
    with contextlib.suppress(OSError):
        os.write(2, f"{codes}{message}".encode(errors="replace"))


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Context in which this thread, and processes that are started in it, do not receive SIGINT.

    Threads that are started in it, and their child processes, never receive it.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

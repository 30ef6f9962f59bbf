"""Another user of the machine tries to use what a running sweep listens on.

It needs root, to become another user: `setpriv` runs a small program as user 65534.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from tests.sweep.small import begun, chunks_in, small_chunks

__all__ = ["port_fault"]

POINTS = 20_000
"""Number of points of the sweep; it lasts minutes, and is ended after the attempts."""
LONGEST = 120.0
"""Time until the first chunk is there, s."""
OTHER_USER = "65534"
"""Number of a user who owns nothing (nobody)."""
ATTEMPT = r"""
import itertools, socket, ssl, sys
from concurrent.futures import ThreadPoolExecutor

PAGES = "", "status", "health", "metrics", "info/main/workers.html", "json/identity.json"
HELLO = [f"GET /{page} HTTP/1.0\r\n\r\n".encode() for page in PAGES] + [b"\x01" + bytes(15)]


def attempt(case):
    port, secure, hello = case
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as channel:
            if secure:
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                channel = context.wrap_socket(channel)
            channel.sendall(hello)
            answer = channel.recv(100)
    except OSError:
        return
    if answer and answer[0] != 21 and not answer.startswith(b"HTTP/1.1 404 Not Found"):
        print(port, secure, answer)


cases = list(itertools.product(map(int, sys.argv[1:]), (False, True), HELLO))
with ThreadPoolExecutor(len(cases)) as threads:
    list(threads.map(attempt, cases))
"""
"""Program that connects to ports as plain text and by TLS, without a certificate, all at once (a
port may wait for more, and answer nothing until the time is over). It prints what any of them
answers, apart from TLS's refusals (which begin with 21) and "not found"."""


def port_fault(index: int, folder: Path) -> str:
    """What another user can use of what a sweep's processes listen on; empty if nothing.

    Args:
        index: number of the case; unused.
        folder: an empty folder.
    """
    del index
    store = folder / "s.zarr"
    process = begun(small_chunks(folder, POINTS), store, "--workers", "2")
    try:
        end = time.monotonic() + LONGEST
        while chunks_in(store) < 1:
            if process.poll() is not None or time.monotonic() > end:
                return "sweep without chunks"
            time.sleep(0.05)
        addresses = listening(process.pid)
        if not addresses:
            return "sweep that listens nowhere"
        outside = {address for address, _ in addresses} - {"127.0.0.1"}
        if outside:
            return f"listens on {sorted(outside)[0]}"
        answers = attempt(sorted({port for _, port in addresses}))
        if process.poll() is not None:
            return "sweep that ended before the attempts"
        return f"answers another user: {answers}" if answers else ""
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


def listening(number: int) -> list[tuple[str, int]]:
    """Addresses and ports at which a process and its children listen, as in `ss -ltnp`.

    Args:
        number: number of the process.
    """
    first = psutil.Process(number)
    return [
        (at.laddr.ip, at.laddr.port)
        for process in (first, *first.children(recursive=True))
        for at in process.net_connections("inet")
        if at.status == psutil.CONN_LISTEN
    ]


def attempt(ports: list[int]) -> str:
    """What ports answer to another user, as text; empty if they answer nothing.

    Args:
        ports: numbers of ports of this machine.

    Raises:
        subprocess.CalledProcessError: if the other user's program fails, or cannot be run.
    """
    user = ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
    program = ["/usr/bin/env", "python3", "-c", ATTEMPT, *map(str, ports)]
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # an interpreter that everybody can run
    done = subprocess.run(
        [*user, *program],
        cwd=tempfile.gettempdir(),
        env=path,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()

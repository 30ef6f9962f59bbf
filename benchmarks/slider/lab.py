"""JupyterLab as a subprocess with its own folders and without access to the network."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.slider.notebook import NOTEBOOKS, ROOT

__all__ = ["Lab", "LabFailed", "jupyter_lab"]

STARTING, STOPPING = 180.0, 30.0
"""Seconds that the server may take; far more than it needs."""
BETWEEN = 0.2
"""Interval between two checks, s."""
LAST_LINES = 60
QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.open_browser=False",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)


class LabFailed(Exception):
    """The server did not do what was asked of it; its log is in the message."""


class Lab(NamedTuple):
    """A server that runs.

    Args:
        url: with a slash at its end.
        token: that lets in.
        log: what it prints.
    """

    url: str
    token: str
    log: Path

    def page(self, notebook: str) -> str:
        """The address of a notebook in it."""
        return f"{self.url}lab/tree/{notebook}?reset&token={self.token}"

    def last_lines(self) -> str:
        """The end of the log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(["JupyterLab said:", *lines[-LAST_LINES:]])


@contextmanager
def jupyter_lab(folder: Path, notebooks: Path = NOTEBOOKS) -> Iterator[Lab]:
    """A server over a copy of the notebooks, until the block ends; its kernels end with it.

    Args:
        folder: empty; for the copy, the log and all that Jupyter writes.
        notebooks: what is copied.

    Raises:
        LabFailed: where it does not start.
    """
    shutil.copytree(notebooks, folder / "notebooks", ignore=shutil.ignore_patterns(".*"))
    token, log = secrets.token_hex(16), folder / "jupyter.log"
    environment = environment_in(folder)
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS]
    command += [f"--ServerApp.port={free_port()}", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.root_dir={folder / 'notebooks'}"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield started(server, folder, token, log)
        finally:
            stop(server, folder, token)


def environment_in(folder: Path) -> dict[str, str]:
    """The environment of the server: its own folders, this Python for kernels, this package."""
    kept = {name: item for name, item in os.environ.items() if not name.startswith("JUPYTER")}
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    kernel = folder / "path" / "kernels" / "python3"
    for needed in (settings, kernel, folder / "runtime"):
        needed.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": start, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    return {
        **kept,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_PATH": str(folder / "path"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH", "")])),
    }


def free_port() -> int:
    """A port that is free now; where it is not any more, the server takes another."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def started(server: subprocess.Popen[bytes], folder: Path, token: str, log: Path) -> Lab:
    """The server once it answers; where it listens, it writes into a file."""
    until = time.monotonic() + STARTING
    while time.monotonic() < until and server.poll() is None:
        for file in (folder / "runtime").glob("jpserver-*.json"):
            with suppress(ValueError, urllib.error.URLError, OSError):  # half written; not up yet
                lab = Lab(json.loads(file.read_text())["url"], token, log)
                ask(f"{lab.url}api/status", token, "GET")
                return lab
        time.sleep(BETWEEN)
    log_lines = Lab("", token, log).last_lines()
    why = "did not answer in time" if server.poll() is None else f"ended with {server.returncode}"
    raise LabFailed(f"JupyterLab {why}. {log_lines}")


def ask(url: str, token: str, method: str) -> None:
    """One request to the server."""
    request = urllib.request.Request(
        url, method=method, headers={"Authorization": f"token {token}"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as answer:
        answer.read()


def stop(server: subprocess.Popen[bytes], folder: Path, token: str) -> None:
    """End the server and its kernels: asked first, then made to. A kernel ends with its server."""
    for file in (folder / "runtime").glob("jpserver-*.json"):
        with suppress(ValueError, urllib.error.URLError, OSError):
            ask(json.loads(file.read_text())["url"] + "api/shutdown", token, "POST")
    for last in (signal.SIGTERM, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            server.wait(STOPPING)
            return
        with suppress(ProcessLookupError):
            os.killpg(server.pid, last)
    server.wait(STOPPING)

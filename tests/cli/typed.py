"""The command as it is typed: in a separate process, on the shell's path, on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.paths import ROOT

__all__ = ["command_on_path", "on_a_terminal"]

SCRIPT = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from vegasfluid.cli import main
main()
"""


def command_on_path(folder: Path) -> Path:
    """A folder that holds the command `vegasfluid` of these sources."""
    home = folder / ".bin"
    home.mkdir(exist_ok=True)
    script = home / "vegasfluid"
    if not script.exists():
        script.write_text(SCRIPT)
        script.chmod(0o755)
    return home


def on_a_terminal(
    arguments: list[str], columns: int, folder: Path, **environment: str
) -> tuple[int, str]:
    """The exit status of a command and what a terminal of so many columns gets from it."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    usual = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    begun = subprocess.Popen(
        [command_on_path(folder) / "vegasfluid", *arguments],
        cwd=folder,
        env={**usual, "TERM": "xterm-256color", **environment},
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        output += part
    os.close(ours)
    return begun.wait(), output.decode().replace("\r\n", "\n")

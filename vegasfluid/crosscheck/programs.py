"""Programs that run a scenario in a temporary folder, and end when the command ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vegasfluid.errors import ComputationFailed
from vegasfluid.interruption import at_interruption

__all__ = ["ProgramFailed", "run_program", "scenario_folder"]


class ProgramFailed(ComputationFailed):
    """A program ended with another status than 0.

    Args:
        name: name of the program.
        status: its exit status.
        last: the last line that it wrote.
    """

    def __init__(self, name: str, status: int, last: str) -> None:
        self.status, self.last = status, last
        super().__init__(f"crosscheck: {name} ended with status {status}: {last}")


@contextlib.contextmanager
def scenario_folder(files: Mapping[str, str]) -> Iterator[Path]:
    """Context with a temporary folder that holds these texts by file name, removed at its end."""
    temporary = tempfile.TemporaryDirectory(prefix="vegasfluid-", ignore_cleanup_errors=True)
    with temporary as name, at_interruption(temporary.cleanup):
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        yield folder


def run_program(
    command: Sequence[str | Path],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program in a folder and return its standard output.

    A signal that ends this process kills the program and all that it has started.

    Args:
        command: program and arguments.
        folder: its working folder.
        environment: its environment variables; None: those of this process.

    Raises:
        ProgramFailed: if its exit status is not 0; with the last line that it wrote to standard
            error, or without any, to standard output.
    """
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with at_interruption(lambda: os.killpg(process.pid, signal.SIGKILL)):
        out, err = process.communicate()
    if process.returncode:
        last = (err.strip() or out.strip() or "it printed nothing").splitlines()[-1]
        raise ProgramFailed(Path(command[0]).name, process.returncode, last.strip())
    return out

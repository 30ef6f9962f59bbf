"""Commands in one process after another: `python -m benchmarks.hardening.worker`.

It reads a JSON list of arguments a line, and writes an `Answer` as a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import time
import traceback
import warnings

from benchmarks.hardening.answers import Answer
from vegasfluid.cli.app import run_app
from vegasfluid.cli.terminal import show_warning

__all__ = ["answered", "main"]


def answered(command: tuple[str, ...]) -> Answer:
    """Run a command in this process."""
    output, errors = io.StringIO(), io.StringIO()
    began = time.process_time()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        warnings.showwarning = show_warning
        try:
            status: int | None = run_app(list(command))
        except BaseException:
            status = None
            traceback.print_exc()
    peak = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = time.process_time() - began
    return Answer(command, status, output.getvalue(), errors.getvalue(), seconds, peak)


def main() -> None:
    """Answer commands until standard input ends."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        answer = answered(tuple(json.loads(line)))
        print(json.dumps(vars(answer)), file=channel, flush=True)


if __name__ == "__main__":
    main()

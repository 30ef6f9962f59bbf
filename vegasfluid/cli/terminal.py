"""What the terminal shows: colours, the width of lines in a pipe, escapes, and warnings."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

__all__ = ["UNLIMITED", "escape_unknown_characters", "pipe_width", "supports_rich_output"]
__all__ += ["show_warning"]

UNLIMITED = 10_000
"""Line width in columns, so wide that no line of a table is broken in a pipe."""


def supports_rich_output() -> bool:
    """Whether standard output shows colours and boxes: a capable terminal, or $FORCE_COLOR."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def pipe_width() -> int | None:
    """Line width in columns outside a terminal: 10 000; None if $COLUMNS sets it, for Rich."""
    return None if "COLUMNS" in os.environ else UNLIMITED


def escape_unknown_characters() -> None:
    """Make standard output and error print a character outside their encoding as an escape.

    Without this, such a character ends the command with a UnicodeEncodeError.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line on standard error."""
    print(f"vegasfluid: Warning: {' '.join(str(message).split())}", file=sys.stderr)

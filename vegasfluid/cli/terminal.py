"""What standard output is: a terminal with boxes, or a pipe whose reader wants whole lines."""

from __future__ import annotations

import os
import sys

__all__ = ["UNLIMITED", "fancy", "width_in_a_pipe"]

UNLIMITED = 10_000
"""Columns, where lines are not broken."""


def fancy() -> bool:
    """Whether standard output shows boxes and colours: a terminal that can, or whoever insists."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def width_in_a_pipe() -> int | None:
    """How long lines are that no terminal shows: as $COLUMNS says (None), or unlimited."""
    return None if "COLUMNS" in os.environ else UNLIMITED

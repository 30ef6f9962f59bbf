"""A reference: an independent simulator or a kernel that runs an exported model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Reference"]


@dataclass(frozen=True)
class Reference:
    """An independent simulator or a kernel.

    Args:
        title: its name, for tables.
        format: name of the export format that it runs.
        run: function that runs the exported files in a folder, with a seed, and returns what the
            scenario printed.
        parallel: whether several runs may go on at a time.
    """

    title: str
    format: str
    run: Callable[[Path, int], str]
    parallel: bool = True

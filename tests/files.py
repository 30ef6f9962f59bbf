"""Damage to files, as a power cut, a failing disk or a full one leave it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["DAMAGES", "emptied", "flipped", "random", "shortened"]


def emptied(file: Path) -> None:
    """Nothing is left."""
    file.write_bytes(b"")


def shortened(file: Path) -> None:
    """The last byte is gone."""
    file.write_bytes(file.read_bytes()[:-1])


def flipped(file: Path) -> None:
    """One bit in the middle is another."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 16
    file.write_bytes(content)


def random(file: Path) -> None:
    """Every byte is another."""
    file.write_bytes(np.random.default_rng(3).bytes(file.stat().st_size))


DAMAGES: list[Callable[[Path], None]] = [emptied, shortened, flipped, random, Path.unlink]
"""Each changes a file; the last one deletes it."""

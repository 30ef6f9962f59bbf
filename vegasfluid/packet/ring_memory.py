"""Memory of rings of packets: slots that no packet reaches take none.

All rings of a run are as long as the flow with the most packets in flight needs. With very many
flows most of them send less than a ring holds, and so use its first slots only. Large arrays are
therefore kept in ordinary pages of 4 KiB, which take memory when they are first written to; with
pages of 2 MiB, which NumPy asks for, a single packet would take all of its flow's rings.
"""

from __future__ import annotations

import contextlib
import math
import mmap

import numpy as np

__all__ = ["RINGS", "used_bytes", "zeros"]

RINGS = ("packets", "slots")
"""Names of the arrays of `Simulation` whose last axis is a ring."""
LARGE = 2**28
"""Size of an array, bytes, from which it is kept in ordinary pages (chosen: below, large pages are
faster, and hold little that is not used)."""
HAS_PAGES = hasattr(mmap, "MAP_ANONYMOUS") and hasattr(mmap, "MAP_PRIVATE")
"""Whether memory can be requested in pages here (not on Windows)."""


def in_pages(size: float) -> bool:
    """Whether an array of `size` bytes is kept in ordinary pages."""
    return HAS_PAGES and size >= LARGE


def used_bytes(lengths: tuple[int, ...], item_bytes: int, packets: float) -> float:
    """Upper bound on the memory of an array of rings, bytes.

    An array below 256 MiB counts as a whole, of a larger one the slots that packets use.

    Args:
        lengths: number of rings along each axis, and of slots of a ring.
        item_bytes: size of a slot, bytes.
        packets: bound on the number of packets that all flows send, each of which takes a slot at
            each hop.
    """
    *axes, _ = lengths
    size = float(item_bytes * math.prod(lengths))
    if not in_pages(size):
        return size
    hops = axes[-1] if len(axes) > 1 else 1
    return min(size, item_bytes * hops * packets + mmap.PAGESIZE * math.prod(axes))


def zeros(lengths: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Array of zeros for rings, of the given shape and record type.

    Raises:
        MemoryError: if the system does not have that much address space.
    """
    size = dtype.itemsize * math.prod(lengths)
    if not in_pages(size):
        return np.zeros(lengths, dtype)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError from error
    with contextlib.suppress(OSError, AttributeError):  # a kernel without large pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(lengths)

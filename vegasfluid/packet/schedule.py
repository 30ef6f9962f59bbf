"""The schedule: a binary heap of flows, ordered by (time of the next event, flow)."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["build", "sift_down"]


def earlier(flows: Any, a: int, b: int) -> bool:
    """Whether flow `a` comes before flow `b`; ties go to the lower number."""
    return flows[a].key < flows[b].key or (flows[a].key == flows[b].key and a < b)


def sift_down(heap: np.ndarray, flows: Any, place: int) -> None:
    """Restore the order of the heap after the flow at `place` moved to a later time."""
    f = heap[place]
    size = heap.shape[0]
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and earlier(flows, heap[child + 1], heap[child]):
            child += 1
        if earlier(flows, f, heap[child]):
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = f


def build(heap: np.ndarray, flows: Any) -> None:
    """Order the heap of all flows."""
    for place in range(flows.shape[0] // 2 - 1, -1, -1):
        sift_down(heap, flows, place)

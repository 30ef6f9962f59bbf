"""The schedule: a binary heap of flows, ordered by (time of the next event, flow)."""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.memory import heap_of

__all__ = ["build", "sift_down"]


def earlier(key: int, f: int, entry: Any) -> bool:
    """Whether flow `f`, due at `key` (ps), comes before an entry; ties go to the lower flow."""
    return key < entry.key or (key == entry.key and f < entry.flow)


def sift_down(sim: Any, place: int) -> None:
    """Restore the order of the heap after the flow at `place` moved to a later time."""
    moved = heap_of(sim, place)
    key, f = moved.key, moved.flow
    child = 2 * place + 1
    while child < sim.flow_count:
        if child + 1 < sim.flow_count:
            next_one = heap_of(sim, child + 1)
            if earlier(next_one.key, next_one.flow, heap_of(sim, child)):
                child += 1
        least = heap_of(sim, child)
        if earlier(key, f, least):
            break
        hole = heap_of(sim, place)
        hole.key = least.key
        hole.flow = least.flow
        place = child
        child = 2 * place + 1
    hole = heap_of(sim, place)
    hole.key = key
    hole.flow = f


def build(sim: Any) -> None:
    """Order the heap of all flows."""
    for place in range(sim.flow_count // 2 - 1, -1, -1):
        sift_down(sim, place)

"""The schedule: a binary heap of flows, ordered by the time of the next event, then by index."""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.state import heap_of

__all__ = ["build", "sift_down"]


def earlier(time: int, f: int, entry: Any) -> bool:
    """Whether flow `f`, due at `time` (ps), precedes the flow of a heap entry in the schedule.

    Ties go to the lower index.
    """
    return time < entry.time or (time == entry.time and f < entry.flow)


def sift_down(sim: Any, position: int) -> None:
    """Restore the order of the schedule's heap after the time at `position` has increased."""
    moved = heap_of(sim, position)
    time, f = moved.time, moved.flow
    child = 2 * position + 1
    while child < sim.flow_count:
        if child + 1 < sim.flow_count:
            right = heap_of(sim, child + 1)
            if earlier(right.time, right.flow, heap_of(sim, child)):
                child += 1
        first = heap_of(sim, child)
        if earlier(time, f, first):
            break
        hole = heap_of(sim, position)
        hole.time = first.time
        hole.flow = first.flow
        position = child
        child = 2 * position + 1
    hole = heap_of(sim, position)
    hole.time = time
    hole.flow = f


def build(sim: Any) -> None:
    """Order the schedule's heap of flows, whose entries have arbitrary times (ps)."""
    for position in range(sim.flow_count // 2 - 1, -1, -1):
        sift_down(sim, position)

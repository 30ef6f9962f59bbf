"""The schedule: a binary heap of flows, ordered by the time of the next event, then by index.

Links that have a queue for each flow have entries, too, with negative indices: at equal times the
end of a transmission comes before arrivals.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.features import FLOW_QUEUES
from vegasfluid.packet.state import flow_of, heap_of, link_of

__all__ = ["build", "reschedule", "sift_down"]


def earlier(time: int, f: int, entry: Any) -> bool:
    """Whether flow or link `f`, due at `time` (ps), precedes an entry of the schedule.

    Ties go to the lower index.
    """
    return time < entry.time or (time == entry.time and f < entry.flow)


def put(sim: Any, position: int, time: int, f: int) -> None:
    """Write an entry of the schedule: flow or link `f` with its next event at `time` (ps).

    Where links have entries, too, the position is also stored as `place` of the flow or link.
    """
    entry = heap_of(sim, position)
    entry.time = time
    entry.flow = f
    if FLOW_QUEUES:
        if f >= 0:
            flow_of(sim, f).place = position
        else:
            link_of(sim, -1 - f).place = position


def sift_down(sim: Any, position: int) -> None:
    """Restore the order of the schedule's heap after the time at `position` has increased."""
    moved = heap_of(sim, position)
    time, f = moved.time, moved.flow
    child = 2 * position + 1
    while child < sim.entry_count:
        if child + 1 < sim.entry_count:
            right = heap_of(sim, child + 1)
            if earlier(right.time, right.flow, heap_of(sim, child)):
                child += 1
        first = heap_of(sim, child)
        if earlier(time, f, first):
            break
        put(sim, position, first.time, first.flow)
        position = child
        child = 2 * position + 1
    put(sim, position, time, f)


def sift_up(sim: Any, position: int) -> None:
    """Restore the order of the schedule's heap after the time at `position` has decreased."""
    moved = heap_of(sim, position)
    time, f = moved.time, moved.flow
    while position > 0:
        parent = heap_of(sim, (position - 1) // 2)
        if not earlier(time, f, parent):
            break
        put(sim, position, parent.time, parent.flow)
        position = (position - 1) // 2
    put(sim, position, time, f)


def reschedule(sim: Any, position: int, time: int) -> None:
    """Change the time of the entry at a position of the schedule to `time` (ps)."""
    entry = heap_of(sim, position)
    sooner = time < entry.time
    entry.time = time
    if sooner:
        sift_up(sim, position)
    else:
        sift_down(sim, position)


def build(sim: Any) -> None:
    """Order the schedule's heap, whose entries have arbitrary times (ps)."""
    if FLOW_QUEUES:
        for position in range(sim.entry_count):
            entry = heap_of(sim, position)
            put(sim, position, entry.time, entry.flow)
    for position in range(sim.entry_count // 2 - 1, -1, -1):
        sift_down(sim, position)

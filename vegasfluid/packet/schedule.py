"""The schedule: a binary heap of flows, ordered by (time of the next event, flow)."""

from __future__ import annotations

from typing import Any

from vegasfluid.packet.memory import flow_of, heap_of

__all__ = ["build", "sift_down"]


def earlier(sim: Any, a: int, b: int) -> bool:
    """Whether flow `a` comes before flow `b`; ties go to the lower number."""
    first, second = flow_of(sim, a).key, flow_of(sim, b).key
    return first < second or (first == second and a < b)


def sift_down(sim: Any, place: int) -> None:
    """Restore the order of the heap after the flow at `place` moved to a later time."""
    f = heap_of(sim, place).flow
    child = 2 * place + 1
    while child < sim.flow_count:
        if child + 1 < sim.flow_count and earlier(
            sim, heap_of(sim, child + 1).flow, heap_of(sim, child).flow
        ):
            child += 1
        if earlier(sim, f, heap_of(sim, child).flow):
            break
        heap_of(sim, place).flow = heap_of(sim, child).flow
        place = child
        child = 2 * place + 1
    heap_of(sim, place).flow = f


def build(sim: Any) -> None:
    """Order the heap of all flows."""
    for place in range(sim.flow_count // 2 - 1, -1, -1):
        sift_down(sim, place)

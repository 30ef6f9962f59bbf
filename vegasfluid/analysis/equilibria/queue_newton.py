"""Rest near given queues: Newton's method on the queues, with windows that follow them.

For given queues everything else settles (`relaxation.settle`); what is left is that each queue is
still, or empty and not filled, or full and not emptied. A step of Newton's method goes on until
the first queue reaches such an end, and is halved while it leads away from rest. So rest is found
whether the network is stable there or not, and which one depends on where the steps begin.

Sources:
    Derived for this project. Newton's method with ends held: D. Bertsekas, SIAM J. Control and
    Optimization 20(2), 1982 (projected Newton methods; not checked against the original).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.stats import qmc

from vegasfluid.analysis.equilibria.corners import Solved, solved
from vegasfluid.analysis.equilibria.equations import first_guess
from vegasfluid.analysis.equilibria.pseudo_transient import (
    Case,
    Settled,
    as_arrays,
    pace,
    relaxed,
    settle,
)
from vegasfluid.errors import SolveFailed

__all__ = ["begin_at", "rest_near"]

STEPS, HALVINGS = 40, 6
LEAST = 1e-3
"""Less is taken for so much of the capacity."""
AT_REST, NEARLY = 1e-12, 1e-9
"""How far loads may be off at rest, of themselves; and where rounding leads no nearer."""
NUDGE = 1e-6
"""Packets, relative above one: by so much a queue is moved to see what follows."""
EMPTY = 0.35
"""So often a queue is empty at the beginning."""
SMALL = 3
"""A power: small queues are tried more often than large ones."""


class Place(NamedTuple):
    """Queues, and what belongs to them.

    Args:
        queue: packets; (stations,).
        rest: of everything else.
        load: of what is admitted, in units of the capacity; (stations,).
        off: its logarithm where a queue can move, else 0; (stations,).
    """

    queue: np.ndarray
    rest: Settled
    load: np.ndarray
    off: np.ndarray

    @property
    def distance(self) -> float:
        """From rest."""
        return float(np.sum(np.abs(self.off)))


def begin_at(room: np.ndarray, number: int) -> Iterator[np.ndarray]:
    """Queues to begin at, packets: spread evenly, some of them empty.

    Args:
        room: of each queue, packets.
        number: how many.

    >>> [start.round(1).tolist() for start in begin_at(np.array([100.0, 100.0]), 3)]
    [[0.0, 0.0], [1.2, 0.0], [0.0, 11.6]]
    """
    for point in qmc.Halton(room.size, scramble=False).random(number):
        filled = np.maximum((point - EMPTY) / (1 - EMPTY), 0.0)
        yield room * filled**SMALL


def rest_near(case: Case, queue: np.ndarray) -> Solved | None:
    """The rest to which steps from these queues lead; None where they lead nowhere.

    Args:
        case: the equations.
        queue: packets; (stations,).
    """
    begin = np.asarray(ravel_pytree(first_guess(case.steady)[1:])[0])
    try:
        here = place(case, begin, queue)
        for _ in range(STEPS):
            there = None if here.distance < AT_REST else stepped(case, here)
            if there is None:
                break
            here = there
        else:
            return None
    except (SolveFailed, np.linalg.LinAlgError):
        return None
    if not here.rest.rests or here.distance >= NEARLY:
        return None
    return solved(case, relaxed(case, here.queue, here.rest))


def place(case: Case, begin: np.ndarray, queue: np.ndarray) -> Place:
    """Everything settled for some queues."""
    rest = settle(case, begin, queue)
    load = np.maximum(1 + rest.excess / np.asarray(case.posed.queues.capacity), LEAST)
    off = np.log(load)
    off[(queue <= 0) & (off < 0)] = 0.0
    off[(queue >= case.room) & (off > 0)] = 0.0
    return Place(queue, rest, load, off)


def stepped(case: Case, here: Place) -> Place | None:
    """A step nearer to rest; None where there is none."""
    move = direction(case, here)
    part = 1.0
    for _ in range(HALVINGS):
        queue = np.clip(here.queue + part * move, 0.0, case.room)
        there = place(case, here.rest.at, queue)
        if there.distance < here.distance:
            return there
        part /= 2
    return None


def direction(case: Case, here: Place) -> np.ndarray:
    """Newton's step of the queues that can move, packets."""
    queue = here.queue
    free = np.flatnonzero((here.off != 0) | ((queue > 0) & (queue < case.room)))
    capacity = np.asarray(case.posed.queues.capacity)
    unit = capacity * here.load
    slopes = np.stack([slope(case, here, int(number)) / unit for number in free], axis=1)
    move = np.zeros(queue.size)
    move[free] = np.linalg.solve(slopes[free], -here.off[free])
    return move


def slope(case: Case, here: Place, number: int) -> np.ndarray:
    """How the excesses change with one queue when windows follow it, 1/s; (stations,)."""
    nudge = NUDGE * (1 + here.queue[number])
    moved = here.queue + nudge * (np.arange(here.queue.size) == number)
    still = as_arrays(pace(*case, here.rest.at, here.queue))
    pulled = as_arrays(pace(*case, here.rest.at, moved))
    follow = np.linalg.solve(still.slope, still.speed - pulled.speed)
    then = as_arrays(pace(*case, here.rest.at + follow, moved))
    return (then.excess - here.rest.excess) / nudge

"""A first estimate of rest: windows settle for given queues, and queues for what windows send.

For given queues every class is alone with a round-trip time and a probability of loss, and its
windows settle there whether the network as a whole is stable or not: implicit Euler steps follow
them, that grow as they slow down. More queue means less that is sent, so each link's queue is
found between nothing and its room by bisection (Brent), link after link until none moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import root_scalar

from vegasfluid.analysis.at_rest import Steady, Unknowns, first_guess
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.stations import room

__all__ = ["Windows", "relax", "settling"]

QUICK = 100.0
"""How fast memories and rates follow, in units of windows."""
PULL = 10.0
"""1/s: what is pushed over a limit stands so many seconds of its speed beyond it."""
FIRST_STEP, LONGEST_STEP = 1e-3, 1e12
LEAP, STRIDE = 0.5, 0.1
"""A step that changes anything by more than the first is taken back; below the second the next is
twice as long."""
BACK = 0.5
"""A step after which something moves back by more than this part of its speed is taken back."""
STEPS, ROUNDS = 500, 60
SETTLED, STILL = 1e-13, 1e-10
"""Relative changes of windows, and of queues from round to round."""

Vector = Any


class Pace(NamedTuple):
    """How everything but the queues moves; arrays.

    Args:
        speed: (n,).
        slope: its Jacobian; (n, n).
        excess: packets/s by which each queue grows; (stations,).
    """

    speed: Vector
    slope: Vector
    excess: Vector


class Windows(NamedTuple):
    """Everything but the queues: how it moves for given queues.

    Args:
        unravel: such a vector and queues as unknowns.
        pace: (vector, queues) to how it moves, compiled.
        room: of the queues, packets.
    """

    unravel: Callable[[Vector, Vector], Unknowns]
    pace: Callable[[Vector, Vector], Pace]
    room: np.ndarray


def settling(steady: Steady) -> Windows:
    """The way to rest of all but the queues."""
    example = first_guess(steady)
    _, unravel_rest = ravel_pytree(example[1:])

    def unravel(vector: Vector, queue: Vector) -> Unknowns:
        return Unknowns(queue, *unravel_rest(vector))

    def speed(vector: Vector, queue: Vector) -> tuple[Vector, tuple[Vector, Vector]]:
        held = steady.held(unravel(vector, queue))
        moved = steady.residual(held)
        quick = jax.tree.map(lambda part: QUICK * part, (moved.memories, moved.rates))
        scaled = (quick[0], moved.classes, moved.silent, quick[1])
        found = ravel_pytree(scaled)[0] - PULL * (vector - ravel_pytree(held[1:])[0])
        return found, (found, moved.queue)

    @jax.jit
    def pace(vector: Vector, queue: Vector) -> Pace:
        slope, (found, excess) = jax.jacfwd(speed, has_aux=True)(vector, queue)
        return Pace(found, slope, excess)

    most = np.asarray(room(steady.system.posed)) * np.ones(len(example.queue))
    return Windows(unravel, pace, most)


class Settled(NamedTuple):
    """Where everything but the queues comes to rest for given queues.

    Args:
        at: the place; (n,).
        excess: packets/s by which the queues grow then; (stations,).
        rests: whether it came to rest there, or was only followed so far: without losses CUBIC's
            clock never stops.
    """

    at: np.ndarray
    excess: np.ndarray
    rests: bool


def settle(windows: Windows, begin: np.ndarray, queue: np.ndarray) -> Settled:
    """Follow everything but the queues to rest, for given queues.

    Args:
        windows: how it moves.
        begin: where it begins; (n,).
        queue: packets; (stations,).

    Raises:
        SolveFailed: where it leaves the finite numbers.
    """
    at, step, one = begin, FIRST_STEP, np.eye(begin.size)
    pace = as_arrays(windows.pace(at, queue))
    for _ in range(STEPS):
        move = np.linalg.solve(one / step - pace.slope, pace.speed)
        leap = np.max(np.abs(move) / (np.abs(at) + 1))
        then = as_arrays(windows.pace(at + move, queue)) if leap < LEAP else pace
        if leap < SETTLED and step > 1:
            return Settled(at + move, then.excess, True)
        if leap >= LEAP or turned(pace.speed, then.speed):
            step /= 4
            continue
        at, pace = at + move, then
        step = min(step * (2.0 if leap < STRIDE else 1.2), LONGEST_STEP)
    return Settled(at, pace.excess, False)


def as_arrays(pace: Pace) -> Pace:
    """The same as NumPy arrays.

    Raises:
        SolveFailed: where they are not finite.
    """
    found = Pace(*(np.asarray(part) for part in pace))
    if not np.all(np.isfinite(found.speed)):
        raise SolveFailed("the way to rest leaves the finite numbers")
    return found


def turned(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a step went over a corner: something now moves back nearly as fast as it came."""
    return bool(np.any((before * after < 0) & (np.abs(after) > BACK * np.abs(before) + STILL)))


def relax(windows: Windows, begin: Unknowns) -> Unknowns:
    """Rest, to some ten digits; what stands at a limit may stand beyond it.

    Args:
        windows: how they move.
        begin: where everything but the queues begins, for any queues.

    Raises:
        SolveFailed: where nothing comes to rest.
    """
    first = np.asarray(ravel_pytree(begin[1:])[0])
    queue = np.zeros(windows.room.size)
    for _ in range(ROUNDS):
        before = queue.copy()
        for number in range(queue.size):
            queue[number] = rest_of_queue(windows, first, queue, number)
        if queue.size == 1 or np.all(np.abs(queue - before) <= STILL * (1 + queue)):
            found = settle(windows, first, queue)
            if not found.rests:
                break
            return windows.unravel(jnp.asarray(found.at), jnp.asarray(queue))
    raise SolveFailed(f"windows and queues come to no rest; the queues were {queue} packets")


def rest_of_queue(windows: Windows, begin: np.ndarray, queue: np.ndarray, number: int) -> float:
    """Where one queue rests while the others stay, packets."""

    def excess(packets: float) -> float:
        there = queue.copy()
        there[number] = packets
        return float(settle(windows, begin, there).excess[number])

    most = float(windows.room[number])
    if excess(0.0) <= 0:
        return 0.0
    if excess(most) > 0 or excess(most * (1 - 1e-12)) >= 0:
        return most
    return root_scalar(excess, bracket=(0.0, most), xtol=1e-11, rtol=1e-14, maxiter=200).root

"""A first estimate of rest: windows settle for given queues, and queues for what windows send.

For given queues every class is alone with a round-trip time and a probability of loss, and its
windows settle there whether the network as a whole is stable or not: implicit Euler steps follow
them, that grow as they slow down. More queue means less that is sent, so each link's queue is
found between nothing and its room by bisection (Brent), link after link until none moves.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import root_scalar

from vegasfluid.analysis.equilibria.equations import Steady, Unknowns, first_guess
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.queues import buffer_in_packets
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Case", "Relaxed", "relax", "relaxed", "residual"]

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
ROUNDING = 1e-8
"""1/s: what moves slower, relative to itself, may do so by rounding."""
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


class Case(NamedTuple):
    """A network's equations, to be compiled once for all of the same structure.

    Args:
        posed: numbers.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
    """

    posed: FluidParameters
    plan: FluidStructure
    options: FluidOptions

    @property
    def steady(self) -> Steady:
        """The equations at rest."""
        return Steady.of(FluidModel(*self).vector_field)

    @property
    def room(self) -> np.ndarray:
        """Of the queues, packets."""
        return np.asarray(buffer_in_packets(self.posed)) * np.ones(self.plan.queue_count)


@partial(jax.jit, static_argnames=("plan", "options"))
def residual(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, unknowns: Unknowns
) -> Unknowns:
    """`Steady.residual`, traced once for all that is made of it.

    Args:
        posed: numbers.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
        unknowns: where.
    """
    return Case(posed, plan, options).steady.residual(unknowns)


@partial(jax.jit, static_argnames=("plan", "options"))
def pace(
    posed: FluidParameters,
    plan: FluidStructure,
    options: FluidOptions,
    vector: Vector,
    queue: Vector,
) -> Pace:
    """How everything but the queues moves for given queues.

    Args:
        posed: numbers.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
        vector: everything but the queues; (n,).
        queue: packets; (stations,).
    """
    steady = Case(posed, plan, options).steady

    def speed(vector: Vector) -> tuple[Vector, tuple[Vector, Vector]]:
        held = steady.held(unraveled(steady, vector, queue))
        moved = residual(posed, plan, options, held)
        quick = jax.tree.map(lambda part: QUICK * part, (moved.memories, moved.rates))
        scaled = (quick[0], moved.classes, moved.silent, quick[1])
        found = ravel_pytree(scaled)[0] - PULL * (vector - ravel_pytree(held[1:])[0])
        return found, (found, moved.queue)

    slope, (found, excess) = jax.jacfwd(speed, has_aux=True)(vector)
    return Pace(found, slope, excess)


def unraveled(steady: Steady, vector: Vector, queue: Vector) -> Unknowns:
    """Everything but the queues as one vector, and queues, as unknowns."""
    return Unknowns(queue, *ravel_pytree(first_guess(steady)[1:])[1](vector))


class Way(NamedTuple):
    """How far everything but the queues was followed; JAX arrays.

    Args:
        at: the place; (n,).
        here: how it moves there.
        step: of Euler's method, s.
        steps: done.
        end: GOING, or why it ended.
    """

    at: Vector
    here: Pace
    step: Vector
    steps: Vector
    end: Vector


GOING, RESTS, LOST = 0, 1, 2


@partial(jax.jit, static_argnames=("plan", "options"))
def followed(
    posed: FluidParameters,
    plan: FluidStructure,
    options: FluidOptions,
    begin: Vector,
    queue: Vector,
) -> Way:
    """Follow everything but the queues, as `settle` says; the first step stands still.

    Args:
        posed: numbers.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
        begin: where it begins; (n,).
        queue: packets; (stations,).
    """
    one = jnp.eye(begin.size)

    def onward(way: Way) -> Way:
        at, here, step = way.at, way.here, way.step
        move = jnp.linalg.solve(one / step - here.slope, here.speed)
        leap = jnp.max(jnp.abs(move) / (jnp.abs(at) + 1))
        then = pace(posed, plan, options, at + move, queue)
        finite = jnp.all(jnp.isfinite(then.speed)) | (leap >= LEAP)
        rests = (leap < SETTLED) & (step > 1)
        end = jnp.where(finite & ~jnp.isnan(leap), jnp.where(rests, RESTS, GOING), LOST)
        back = ~rests & ((leap >= LEAP) | turned(at, here.speed, then.speed))
        longer = jnp.minimum(step * jnp.where(leap < STRIDE, 2.0, 1.2), LONGEST_STEP)
        new_at, new = jax.tree.map(partial(jnp.where, back), (at, here), (at + move, then))
        return Way(new_at, new, jnp.where(back, step / 4, longer), way.steps + 1, end)

    nothing = jnp.zeros_like(begin)
    still = Pace(nothing, jnp.zeros_like(one), jnp.zeros_like(queue))
    first = Way(begin, still, jnp.asarray(FIRST_STEP / 2), jnp.asarray(0), jnp.asarray(GOING))
    return jax.lax.while_loop(lambda way: (way.end == GOING) & (way.steps <= STEPS), onward, first)


def turned(at: Vector, before: Vector, after: Vector) -> Vector:
    """Whether a step went over a corner: something now moves back nearly as fast as it came."""
    more = jnp.abs(after) > BACK * jnp.abs(before) + ROUNDING * (1 + jnp.abs(at))
    return jnp.any((before * after < 0) & more)


class Settled(NamedTuple):
    """Where everything but the queues comes to rest for given queues.

    Args:
        at: the place; (n,).
        excess: packets/s by which the queues grow then; (stations,).
        slope: how what moves changes with the place; (n, n).
        rests: whether it came to rest there, or was only followed so far: without losses CUBIC's
            clock never stops.
    """

    at: np.ndarray
    excess: np.ndarray
    slope: np.ndarray
    rests: bool


def settle(case: Case, begin: np.ndarray, queue: np.ndarray) -> Settled:
    """Follow everything but the queues to rest, for given queues.

    Args:
        case: the equations.
        begin: where it begins; (n,).
        queue: packets; (stations,).

    Raises:
        SolveFailed: where it leaves the finite numbers.
    """
    way = followed(*case, jnp.asarray(begin), jnp.asarray(queue))
    if way.end == LOST:
        raise SolveFailed("the way to rest leaves the finite numbers")
    return Settled(
        np.asarray(way.at),
        np.asarray(way.here.excess),
        np.asarray(way.here.slope),
        bool(way.end == RESTS),
    )


def as_arrays(found: Pace) -> Pace:
    """The same as NumPy arrays.

    Raises:
        SolveFailed: where they are not finite.
    """
    found = Pace(*(np.asarray(part) for part in found))
    if not np.all(np.isfinite(found.speed)):
        raise SolveFailed("the way to rest leaves the finite numbers")
    return found


class Relaxed(NamedTuple):
    """An estimate of rest.

    Args:
        unknowns: some ten digits of them.
        fixed: which of them nothing moves at all, as a flat vector of booleans.
    """

    unknowns: Unknowns
    fixed: np.ndarray


def relaxed(case: Case, queue: np.ndarray, found: Settled) -> Relaxed:
    """An estimate of the equilibrium from queues and from the steady state of the rest for them."""
    unknowns = unraveled(case.steady, jnp.asarray(found.at), jnp.asarray(queue))
    return Relaxed(unknowns, np.concatenate([queue < 0, ~np.any(found.slope, axis=1)]))


def relax(case: Case) -> Relaxed:
    """Rest, to some ten digits; what stands at a limit may stand beyond it.

    Args:
        case: the equations.

    Raises:
        SolveFailed: where nothing comes to rest.
    """
    first = np.asarray(ravel_pytree(first_guess(case.steady)[1:])[0])
    queue = np.zeros(case.room.size)
    for _ in range(ROUNDS):
        before = queue.copy()
        for number in range(queue.size):
            queue[number] = rest_of_queue(case, first, queue, number)
        if queue.size == 1 or np.all(np.abs(queue - before) <= STILL * (1 + queue)):
            found = settle(case, first, queue)
            if not found.rests:
                break
            return relaxed(case, queue, found)
    raise SolveFailed(f"windows and queues come to no rest; the queues were {queue} packets")


def rest_of_queue(case: Case, begin: np.ndarray, queue: np.ndarray, number: int) -> float:
    """Where one queue rests while the others stay, packets."""

    def excess(packets: float) -> float:
        there = queue.copy()
        there[number] = packets
        return float(settle(case, begin, there).excess[number])

    most = float(case.room[number])
    if excess(0.0) <= 0:
        return 0.0
    if excess(most) > 0 or excess(most * (1 - 1e-12)) >= 0:
        return most
    return root_scalar(excess, bracket=(0.0, most), xtol=1e-11, rtol=1e-14, maxiter=200).root

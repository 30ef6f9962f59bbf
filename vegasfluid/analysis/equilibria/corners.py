"""Unknowns at equilibrium whose equation has no derivative: those at limits and at corners.

A window at its largest value and an empty or full queue are at a limit; there the limit replaces
the equation. A Vegas window at the edge of its dead band is at a corner: its rate is zero on one
side, so Newton's method and derivatives have no slope to use. A little to the other side the rate
has a slope. The equation is therefore evaluated at that small offset, and its value there at the
solution is subtracted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from vegasfluid.analysis.equilibria.continuation import evaluate, flatten, unflatten
from vegasfluid.analysis.equilibria.equations import Unknowns, buffer_sizes
from vegasfluid.analysis.equilibria.pseudo_transient import Estimate
from vegasfluid.fluid.model import FluidModel

__all__ = ["BEYOND_LIMITS", "Solution", "is_continuum", "solution_from"]

AT_LIMIT = 1e-6
"""An unknown that lies beyond its limit by more than this, relative, is at the limit."""
BEYOND_LIMITS = 1e12
"""A distance larger than any limit, in packets or the unit of the unknown."""
CORNER_OFFSET, RELATIVE_CORNER_OFFSET = 1e-6, 1e-9
"""Offset from a corner at which the equations are evaluated, packets: the sum of the first and the
second times the window. Chosen far below the width of a corner and far above rounding; derivatives
have about six digits."""
QUADRATIC = 3.0
"""At a smooth corner the rate at twice the offset is four times as large, and elsewhere twice as
large; above this factor, a corner is assumed."""
FLAT = 0.05
"""At a sharp corner the rate on the other side is below this fraction of the rate on this side."""
CONTINUUM_OFFSET = 0.01
"""Packets: a window that is larger by this and still has rate zero is inside a dead band."""


class Solution(NamedTuple):
    """Unknowns at equilibrium, and how the equation of each is to be evaluated; concrete arrays.

    All but the first have one entry for each unknown; (n,).

    Args:
        unknowns: their values at equilibrium, queues in packets.
        limited: boolean; which unknowns are at a limit, or have a constant rate.
        limit_side: 1 at an upper limit, -1 at a lower one, else 0.
        offset: signed distance from a corner at which the equations are evaluated, packets; 0 for
            unknowns that are not at a corner.
        offset_rate: what to subtract from the rates at the offsets, in the unknown's unit per
            second: at a corner the whole rate there, elsewhere the change that the offsets cause.
    """

    unknowns: Any
    limited: Any
    limit_side: Any
    offset: Any
    offset_rate: Any

    @property
    def insensitive(self) -> Any:
        """Boolean (n,): unknowns that do not respond to small disturbances, to first order.

        They are at a limit (such as an empty queue), or at a corner (the edge of Vegas's dead
        band).
        """
        return self.limited | (self.offset != 0)


def solution_from(model: FluidModel, estimate: Estimate, side: float = -1.0) -> Solution:
    """The solution of an approximate equilibrium, with its limits and corners identified.

    Empty or full queues and windows at their bounds are at a limit. Windows at the edge of Vegas's
    dead band are at a corner: their rate has no slope on one side.

    Args:
        model: the fluid model.
        estimate: the approximate equilibrium; unknowns at a limit may lie beyond it.
        side: from which windows approached their corners: -1 from below, 1 from above.

    Returns:
        The unknowns clipped to their limits, which of them are at a limit, and for windows at a
        corner the offset (packets) at which their equation is evaluated.
    """
    original = flatten(estimate.unknowns)
    clipped = evaluate(model, original, clip=True).unknowns
    inside, excess = unflatten(model, clipped), original - clipped
    beyond = np.abs(excess) > AT_LIMIT * (1e-3 + np.abs(clipped))
    limit_side = np.where(beyond, np.sign(excess), 0.0)
    queue = np.asarray(estimate.unknowns.queue)
    ends = [queue <= 0, queue >= buffer_sizes(model)]
    limit_side[: queue.size] = np.select(ends, [-1.0, 1.0], 0.0)
    limited, window = estimate.constant | (limit_side != 0), is_window(inside)

    def rates(offset: np.ndarray) -> np.ndarray:
        """Rate of each unknown, in its unit per second, at an offset from the clipped estimate."""
        return evaluate(model, clipped + offset).rates

    size = CORNER_OFFSET + RELATIVE_CORNER_OFFSET * clipped
    offset = side * np.where(window & (limit_side == 0), size, 0.0)
    once, twice, across = (np.abs(rates(factor * offset)) for factor in (1, 2, -1))
    no_slope = estimate.constant | (twice > QUADRATIC * once) | (across < FLAT * once)
    corner = (offset != 0) & (once > 0) & no_slope
    offset = np.where(corner, offset, 0.0)
    offset_rate = rates(offset) - np.where(corner, 0.0, rates(np.zeros_like(offset)))
    return Solution(inside, limited & ~corner, limit_side, offset, offset_rate)


def is_window(unknowns: Unknowns) -> np.ndarray:
    """Boolean vector (n,): which of the flattened unknowns are congestion windows."""
    zeros = jax.tree.map(lambda part: np.zeros(np.shape(part)), unknowns)
    classes = tuple(
        {name: part + (name == "cwnd") for name, part in fields.items()} for fields in zeros.classes
    )
    return flatten(zeros._replace(classes=classes)) > 0


def is_continuum(model: FluidModel, unknowns: Unknowns) -> bool:
    """Whether an equilibrium of a model is one of a continuum, as inside Vegas's dead band.

    `unknowns` are the equilibrium. The answer is yes if, with all windows 0.01 packets larger, the
    rate of some window is zero and does not depend on the queues. (A rate that is zero for these
    queues only, as a Scalable TCP window may have, does not count.)
    """
    window, queues = is_window(unknowns), slice(model.structure.queue_count)
    local = evaluate(model, flatten(unknowns) + CONTINUUM_OFFSET * window)
    in_dead_band = (local.rates == 0) & ~np.any(local.jacobian[:, queues], axis=1)
    return bool(np.any(window & in_dead_band))

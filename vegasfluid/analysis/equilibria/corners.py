"""Where the equations of an equilibrium have no slope: limits, and the edges of a dead zone.

A window at its largest value, or an empty or full queue, stands at a limit: there the limit itself
takes the place of the equation. A Vegas window at the edge of its dead zone stands at a corner:
nothing moves it there, and its speed has no slope either, so Newton's method has nothing to go by
and derivatives would be zero. But a little aside, where the window is still moved, there is a
slope; the corner is where the window has, that far aside, the speed that it has at the solution.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.equations import Unknowns
from vegasfluid.analysis.equilibria.pseudo_transient import Case, Relaxed, residual
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["FAR", "Solved", "idling", "solved"]

AT_LIMIT = 1e-6
"""What is so far beyond a limit, relative, stands at it."""
FAR = 1e12
"""Packets and the like: beyond any limit that is one."""
ASIDE, PART_ASIDE = 1e-6, 1e-9
"""How far beside a corner the equations are asked: packets, and parts of the window. Far less than
what a corner is rounded by, far more than what numbers are; derivatives have some six digits."""
QUADRATIC = 3.0
"""Twice as far aside, a window at a smooth corner moves four times as fast, others twice."""
FLAT = 0.05
"""On the other side of a sharp corner a window moves by less than this part of the speed here."""
LITTLE = 0.01
"""Packets: a window that may be larger by so many and still does not move is in a dead zone."""


class Solved(NamedTuple):
    """A solution as the solver left it; concrete. The vectors have one number for each unknown.

    Args:
        unknowns: at equilibrium.
        limited: which of them stand at a limit, or are moved by nothing.
        outward: on which side that limit lies, 1 or -1; 0 where there is none.
        aside: how far from them the equations are asked: of windows at a corner, packets; else 0.
        speed: what the equations say there, to be subtracted.
    """

    unknowns: Any
    limited: Any
    outward: Any
    aside: Any
    speed: Any

    @property
    def still(self) -> Any:
        """Which of the unknowns a small disturbance does not move, to first order."""
        return self.limited | (self.aside != 0)


def flat(unknowns: Unknowns) -> np.ndarray:
    """The unknowns as one vector."""
    return np.asarray(ravel_pytree(unknowns)[0])


def solved(case: Case, relaxed: Relaxed, side: float = -1.0) -> Solved:
    """An estimate, with what in it stands at a limit or at a corner.

    Args:
        case: the equations.
        relaxed: the estimate; what stands at a limit may stand beyond it.
        side: of a corner from which a window came to it: -1 from below, 1 from above.
    """
    found, fixed = relaxed
    inside = jax.tree.map(np.asarray, case.steady.held(found))
    beyond, within = flat(found), flat(inside)
    outward = np.where(
        np.abs(beyond - within) > AT_LIMIT * (1e-3 + np.abs(within)), np.sign(beyond - within), 0.0
    )
    queue = np.asarray(found.queue)
    outward[: queue.size] = np.select([queue <= 0, queue >= case.room], [-1.0, 1.0], 0.0)
    limited, window = fixed | (outward != 0), windows(inside)

    def speeds(by: np.ndarray) -> np.ndarray:
        return np.asarray(speed(*case, inside, jnp.asarray(by)))

    aside = side * np.where(window & (outward == 0), ASIDE + PART_ASIDE * within, 0.0)
    once, twice, across = (np.abs(speeds(times * aside)) for times in (1, 2, -1))
    flat_here = fixed | (twice > QUADRATIC * once) | (across < FLAT * once)
    corner = (aside != 0) & (once > 0) & flat_here
    aside = np.where(corner, aside, 0.0)
    off = speeds(aside) - np.where(corner, 0.0, speeds(np.zeros_like(aside)))
    return Solved(inside, limited & ~corner, outward, aside, off)


def windows(unknowns: Unknowns) -> np.ndarray:
    """Which of the unknowns are congestion windows, as a flat vector of booleans."""
    nothing = jax.tree.map(lambda of: np.zeros(np.shape(of)), unknowns)
    classes = tuple(
        {name: part + (name == "cwnd") for name, part in of.items()} for of in nothing.classes
    )
    return flat(nothing._replace(classes=classes)) > 0


@partial(jax.jit, static_argnames=("plan", "options"))
def speed(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, unknowns: Unknowns, by: Any
) -> Any:
    """What the equations say so far from some unknowns, as a flat vector."""
    vector, unravel = ravel_pytree(unknowns)
    return ravel_pytree(residual(posed, plan, options, unravel(vector + by)))[0]


def idling(case: Case, unknowns: Unknowns) -> bool:
    """Whether there is a window that does not move where windows are a little larger, too."""
    window = windows(unknowns)
    return bool(np.any(np.asarray(speed(*case, unknowns, LITTLE * window))[window] == 0))

"""The first root of several functions at once, for each instance of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["SIMULTANEOUS", "first_root"]

MAX_ROOT_ITERATIONS = 40
"""Largest number of iterations of the root search (chosen)."""
ZERO_TOLERANCE = 1e-11
"""Scaled indicators (`first_root`) no further from 0 than this count as zero (chosen)."""
ROOT_TOLERANCE = 1e-6
"""The search ends when the next move is below this fraction of the step: convergence is faster
than linear, so the error left is smaller by orders of magnitude."""
BISECT_AFTER = 6
"""Iterations after which every other one bisects the bracket (chosen)."""
SIMULTANEOUS = 1e-7
"""Roots of indicators this near each other, as a fraction of the step, count as one (chosen)."""


def first_root(
    indicators: Callable[[Array], Array],
    wanted: Bool[Array, " batch"],
    at_start: Float[Array, "indicators batch"],
    at_half: Float[Array, "indicators batch"] | None,
    at_end: Float[Array, "indicators batch"],
) -> tuple[Float[Array, " batch"], Float[Array, "indicators batch"]]:
    """The first root of several indicators within a step, by inverse quadratic interpolation.

    Each indicator is interpolated separately, as their minimum has a kink where two cross.

    Args:
        indicators: maps fractions of the step, shape (batch,), to the indicators, scaled to a
            size of about 1; shape (indicators, batch).
        wanted: the instances whose root is wanted; the result is undefined for others.
        at_start: the indicators at fraction 0.
        at_half: the indicators at fraction 1/2; None: not known.
        at_end: the indicators at fraction 1.

    Returns:
        The first root, as a fraction of the step, and the root of each indicator; infinite for
        indicators that are positive until the first root. The first root is 0 where the smallest
        indicator is not positive at 0, and 1 where it is not negative at 1.

    Source: inverse quadratic interpolation as in R. Brent, Algorithms for Minimization without
    Derivatives, Prentice-Hall 1973, chapter 4 (not checked against the book).
    """

    def continues(state: tuple[_Bracket, Array]) -> Array:
        return jnp.any(state[0].moving) & (state[1] < jnp.int32(MAX_ROOT_ITERATIONS))

    def refine(state: tuple[_Bracket, Array]) -> tuple[_Bracket, Array]:
        """The brackets and the number of iterations after one more evaluation of the indicators.

        Every other iteration bisects from the sixth on.
        """
        bracket, count = state
        slow = (count >= jnp.int32(BISECT_AFTER)) & (count % 2 == 0)
        point = jnp.where(slow, (bracket.low + bracket.high) / 2, bracket.next)
        return bracket.narrowed(point, indicators(point), bracket.moving), count + jnp.int32(1)

    bracket = _Bracket.of(wanted, at_start, at_half, at_end)
    bracket, _ = jax.lax.while_loop(continues, refine, (bracket, jnp.zeros((), jnp.int32)))
    return bracket.next, bracket.roots


class _Bracket(NamedTuple):
    """Two fractions of a step that bracket the first root, and a third point for interpolation.

    Args:
        low: fraction at which no indicator is negative.
        at_low: the indicators there.
        high: fraction at which one is negative.
        at_high: the indicators there.
        third: an earlier end of the bracket.
        at_third: the indicators there.
        next: estimate of the first root.
        roots: estimate of the root of each indicator.
        moving: the instances whose root has not converged.
    """

    low: Array
    at_low: Array
    high: Array
    at_high: Array
    third: Array
    at_third: Array
    next: Array
    roots: Array
    moving: Array

    @classmethod
    def of(cls, wanted: Array, at_start: Array, at_half: Array | None, at_end: Array) -> _Bracket:
        """Brackets of the first root in a step: the whole step, or its first or second half.

        Args:
            wanted: the instances whose root is wanted, shape (batch,).
            at_start: the indicators at fraction 0, shape (indicators, batch).
            at_half: the indicators at fraction 1/2, if known.
            at_end: the indicators at fraction 1.

        Returns:
            The bracket, not moving where the root is at an end of the step.
        """
        half = at_start if at_half is None else at_half
        # A break may lie at the very end of the step, where its indicator is zero up to rounding.
        root_at_end = jnp.min(at_end, axis=0) > -ZERO_TOLERANCE
        zero_at_start = jnp.min(at_start, axis=0) <= ZERO_TOLERANCE
        late = zero_at_start & (jnp.min(half, axis=0) > ZERO_TOLERANCE)
        root_at_start = zero_at_start & ~late & ~root_at_end
        known = root_at_end | root_at_start
        at_root = jnp.where(root_at_start, at_start, at_end)
        low = jnp.where(late, 0.5, 0.0).astype(at_end.dtype)
        at_low = jnp.where(late, half, at_start)
        end = jnp.where(root_at_start, 0.0, 1.0).astype(at_end.dtype)
        one = jnp.ones_like(end)
        roots = _roots((low, one, one), (at_low, at_end, at_end))
        roots = jnp.where(known, jnp.where(at_root <= SIMULTANEOUS, end, jnp.inf), roots)
        first = jnp.where(known, end, jnp.min(roots, axis=0))
        bracket = cls(low, at_low, one, at_end, one, at_end, first, roots, wanted & ~known)
        if at_half is None:
            return bracket
        return bracket.narrowed(jnp.full_like(low, 0.5), at_half, bracket.moving & ~late)

    def narrowed(self, point: Array, values: Array, which: Array) -> _Bracket:
        """The bracket, narrowed by the indicators at a point in it, for the instances in `which`.

        Args:
            point: fraction of the step, shape (batch,).
            values: the indicators there, shape (indicators, batch).
            which: instances whose bracket is narrowed, shape (batch,).
        """
        lowest = jnp.min(values, axis=0)

        def pick(*pair: Array) -> Array:
            return jnp.where(lowest < 0, *pair)

        low, at_low = pick(self.low, point), pick(self.at_low, values)
        high, at_high = pick(point, self.high), pick(values, self.at_high)
        third, at_third = pick(self.high, self.low), pick(self.at_high, self.at_low)
        roots = _roots((low, high, third), (at_low, at_high, at_third))
        zero = jnp.abs(lowest) <= ZERO_TOLERANCE
        first = jnp.where(zero, point, jnp.min(roots, axis=0))
        roots = jnp.where(zero & (values <= ZERO_TOLERANCE), point, roots)
        moving = ~zero & (jnp.abs(first - point) >= ROOT_TOLERANCE)
        ends = (low, at_low, high, at_high, third, at_third)
        new = _Bracket(*ends, first, roots, moving)
        return jax.tree.map(lambda new, old: jnp.where(which, new, old), new, self)


def _roots(
    points: tuple[Array, ...], values: tuple[Array, ...]
) -> Float[Array, "indicators batch"]:
    """The estimated root of each indicator between two points; infinite where it has none.

    Inverse quadratic interpolation through these and a third point; where its result lies outside
    the two points, linear interpolation.

    Args:
        points: low, high and third point, as fractions of the step; shape (batch,) each.
        values: the indicators at these points, shape (indicators, batch) each.
    """
    (low, high, third), (at_low, at_high, at_third) = points, values

    def ratio(value: Array, divisor: Array) -> Array:
        return value / jnp.where(divisor == 0, 1.0, divisor)

    fall, before, after = at_low - at_high, at_low - at_third, at_high - at_third
    linear = low + (high - low) * ratio(at_low, fall)
    quadratic = (
        low * ratio(at_high * at_third, fall * before)
        - high * ratio(at_low * at_third, fall * after)
        + third * ratio(at_low * at_high, before * after)
    )
    inside = (quadratic > low) & (quadratic < high) & (before != 0) & (after != 0)
    return jnp.where(at_high < 0, jnp.where(inside, quadratic, linear), jnp.inf)

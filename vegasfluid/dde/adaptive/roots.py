"""The first root of several functions at once, for each instance of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["SIMULTANEOUS", "first_root"]

MAX_ROOT_ITERATIONS = 40
ZERO_TOLERANCE = 1e-11
"""Indicators this near zero, as a share of their change, are zero."""
ROOT_TOLERANCE = 1e-6
"""A root that will move by less than this share of the step has been found: its last move leaves
an error that is smaller by orders of magnitude."""
BISECT_AFTER = 6
"""Looks after which every other one halves what is left of the step."""
SIMULTANEOUS = 1e-7
"""Indicators whose roots are this near each other, as a share of the step, have one root."""


def first_root(
    indicators: Callable[[Array], Array],
    wanted: Bool[Array, " batch"],
    at_start: Float[Array, "indicators batch"],
    at_half: Float[Array, "indicators batch"] | None,
    at_end: Float[Array, "indicators batch"],
) -> tuple[Float[Array, " batch"], Float[Array, "indicators batch"]]:
    """Where the first of some indicators is zero, by parabolas x(f) through three points of each.

    Not by one through the lowest of them: where two are zero together that one bends.

    Args:
        indicators: of shares of a step, shape (batch,); as shares of their change.
        wanted: whose root is wanted.
        at_start: the indicators at 0.
        at_half: the indicators at 1/2, if they are known.
        at_end: the indicators at 1.

    Returns:
        The first roots, and those of each indicator, infinite where it is not zero by then. 0 where
        the lowest is not positive at 0, and 1 where it is not negative at 1.

    Source: inverse quadratic interpolation as in R. Brent, Algorithms for Minimization without
    Derivatives, Prentice-Hall 1973, chapter 4 (not checked against the book).
    """

    def continues(state: tuple[_Bracket, Array]) -> Array:
        return jnp.any(state[0].moving) & (state[1] < jnp.int32(MAX_ROOT_ITERATIONS))

    def refine(state: tuple[_Bracket, Array]) -> tuple[_Bracket, Array]:
        bracket, count = state
        slow = (count >= jnp.int32(BISECT_AFTER)) & (count % 2 == 0)
        share = jnp.where(slow, (bracket.low + bracket.high) / 2, bracket.next)
        return bracket.narrowed(share, indicators(share), bracket.moving), count + jnp.int32(1)

    bracket = _Bracket.of(wanted, at_start, at_half, at_end)
    bracket, _ = jax.lax.while_loop(continues, refine, (bracket, jnp.zeros((), jnp.int32)))
    return bracket.next, bracket.roots


class _Bracket(NamedTuple):
    """Two points with the first root between them, and one beside.

    Args:
        low: no indicator is negative here.
        at_low: the indicators there.
        high: one is negative here.
        at_high: the indicators there.
        third: an end that they had before.
        at_third: the indicators there.
        next: where the first root is thought to be.
        roots: likewise that of each indicator.
        moving: whose root has not been found.
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
        """The whole step, or half of it; not moving where the root is at one of its ends."""
        half = at_start if at_half is None else at_half
        # A break may lie at the very end, where its indicator is zero but for rounding.
        over, unborn = (
            jnp.min(at_end, axis=0) > -ZERO_TOLERANCE,
            jnp.min(at_start, axis=0) <= ZERO_TOLERANCE,
        )
        late = unborn & (jnp.min(half, axis=0) > ZERO_TOLERANCE)
        start_values = unborn & ~late & ~over
        chatter_count = over | start_values
        at_still = jnp.where(start_values, at_start, at_end)
        low = jnp.where(late, 0.5, 0.0).astype(at_end.dtype)
        at_low = jnp.where(late, half, at_start)
        end = jnp.where(start_values, 0.0, 1.0).astype(at_end.dtype)
        one = jnp.ones_like(end)
        roots = _roots((low, one, one), (at_low, at_end, at_end))
        roots = jnp.where(chatter_count, jnp.where(at_still <= SIMULTANEOUS, end, jnp.inf), roots)
        first = jnp.where(chatter_count, end, jnp.min(roots, axis=0))
        whole = cls(low, at_low, one, at_end, one, at_end, first, roots, wanted & ~chatter_count)
        if at_half is None:
            return whole
        return whole.narrowed(jnp.full_like(low, 0.5), at_half, whole.moving & ~late)

    def narrowed(self, share: Array, values: Array, which: Array) -> _Bracket:
        """The bracket of those in `which` with the indicators at one more point in it."""
        lowest = jnp.min(values, axis=0)

        def pick(*pair: Array) -> Array:
            return jnp.where(lowest < 0, *pair)

        low, at_low = pick(self.low, share), pick(self.at_low, values)
        high, at_high = pick(share, self.high), pick(values, self.at_high)
        third, at_third = pick(self.high, self.low), pick(self.at_high, self.at_low)
        roots = _roots((low, high, third), (at_low, at_high, at_third))
        there = jnp.abs(lowest) <= ZERO_TOLERANCE
        first = jnp.where(there, share, jnp.min(roots, axis=0))
        roots = jnp.where(there & (values <= ZERO_TOLERANCE), share, roots)
        moving = ~there & (jnp.abs(first - share) >= ROOT_TOLERANCE)
        ends = (low, at_low, high, at_high, third, at_third)
        new = _Bracket(*ends, first, roots, moving)
        return jax.tree.map(lambda new, old: jnp.where(which, new, old), new, self)


def _roots(
    points: tuple[Array, ...], values: tuple[Array, ...]
) -> Float[Array, "indicators batch"]:
    """The root between two points of each indicator that changes its sign there; else infinity.

    By the parabola x(f) through these and a third point, or, where that leads out of them, by the
    straight line.
    """
    (low, high, third), (at_low, at_high, at_third) = points, values

    def over(value: Array, by: Array) -> Array:
        return value / jnp.where(by == 0, 1.0, by)

    fall, before, after = at_low - at_high, at_low - at_third, at_high - at_third
    straight = low + (high - low) * over(at_low, fall)
    bent = (
        low * over(at_high * at_third, fall * before)
        - high * over(at_low * at_third, fall * after)
        + third * over(at_low * at_high, before * after)
    )
    inside = (bent > low) & (bent < high) & (before != 0) & (after != 0)
    return jnp.where(at_high < 0, jnp.where(inside, bent, straight), jnp.inf)

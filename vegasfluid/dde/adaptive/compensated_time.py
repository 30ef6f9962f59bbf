"""Time in two parts, so that float32 can tell near times apart."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["CompensatedTime"]


class CompensatedTime(NamedTuple):
    """A time, and what rounding took from it.

    A float32 clock at 100 s ticks in 8 us; what a delay equation needs are differences between
    near times, and those stay exact.

    >>> begin = CompensatedTime.at(jnp.float32(100.0))
    >>> clock = begin
    >>> for _ in range(1000):
    ...     clock = clock.after(jnp.float32(1e-6))
    >>> bool(abs(clock.since(begin) - 1e-3) < 1e-8)
    True
    """

    whole: Float[Array, "*batch"]
    rest: Float[Array, "*batch"]

    @classmethod
    def at(cls, time: Float[Array, "*batch"]) -> CompensatedTime:
        """The clock that shows a plain time."""
        return cls(time, jnp.zeros_like(time))

    def after(self, passed: Float[Array, "*batch"]) -> CompensatedTime:
        """The clock `passed` later (Kahan's summation)."""
        added = passed + self.rest
        whole = self.whole + added
        return CompensatedTime(whole, added - (whole - self.whole))

    def since(self, other: CompensatedTime) -> Float[Array, "*batch"]:
        """The time from `other` to this."""
        return (self.whole - other.whole) + (self.rest - other.rest)

    def until(self, time: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The time from this to a plain time."""
        return (time - self.whole) - self.rest

    def plain(self) -> Float[Array, "*batch"]:
        """The nearest plain time."""
        return self.whole + self.rest

"""Compensated time: a sum of two floats, so that float32 resolves small time differences."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["CompensatedTime"]


class CompensatedTime(NamedTuple):
    """A time as a rounded value and the rounding error that it left out (Kahan summation).

    A float32 near 100 s has a resolution of 8 us. A delay equation needs differences between
    nearby times, and the compensation keeps these accurate.

    Args:
        whole: the rounded time.
        compensation: the exact time minus `whole`.

    >>> begin = CompensatedTime.at(jnp.float32(100.0))
    >>> clock = begin
    >>> for _ in range(1000):
    ...     clock = clock.after(jnp.float32(1e-6))
    >>> bool(abs(clock.since(begin) - 1e-3) < 1e-8)
    True
    """

    whole: Float[Array, "*batch"]
    compensation: Float[Array, "*batch"]

    @classmethod
    def at(cls, time: Float[Array, "*batch"]) -> CompensatedTime:
        """A plain time as a compensated one, with a compensation of 0."""
        return cls(time, jnp.zeros_like(time))

    def after(self, passed: Float[Array, "*batch"]) -> CompensatedTime:
        """The time that is `passed` later, in the same unit."""
        added = passed + self.compensation
        whole = self.whole + added
        return CompensatedTime(whole, added - (whole - self.whole))

    def since(self, other: CompensatedTime) -> Float[Array, "*batch"]:
        """The time that has passed since `other`: this time minus `other`, as one float."""
        return (self.whole - other.whole) + (self.compensation - other.compensation)

    def until(self, time: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The time left until the plain time `time`: `time` minus this one, as one float."""
        return (time - self.whole) - self.compensation

    def plain(self) -> Float[Array, "*batch"]:
        """The time as one float, rounded."""
        return self.whole + self.compensation

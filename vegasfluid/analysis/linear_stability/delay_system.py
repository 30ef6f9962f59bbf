"""A linear system that sees its own past, and its characteristic function.

    x'(t) = A x(t) + sum_k B_k y(t - lag_k) + sum_k G_k (integral of y over the last lag_k)
    y(t)  = C x(t) + the same of y

x are small deviations from rest; y is what is carried through time, which is less: with s for
d/dt the characteristic matrix is of x and y together, and its determinant has the roots of the
delay equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Delayed", "Linear"]


class Delayed(NamedTuple):
    """One look at the past.

    Args:
        lag: s.
        channel: which of the y.
        summed: whether it is the integral over the lag that is seen, and not the value then.
        state: what it does to x'; (n,).
        output: and to y; (m,).
    """

    lag: float
    channel: int
    summed: bool
    state: np.ndarray
    output: np.ndarray


class Linear(NamedTuple):
    """A linear system with a past; concrete.

    Args:
        now: A; (n, n).
        read: C; (m, n).
        looks: at the past.
    """

    now: np.ndarray
    read: np.ndarray
    looks: tuple[Delayed, ...]

    @property
    def longest(self) -> float:
        """The longest lag, s."""
        return max((look.lag for look in self.looks), default=0.0)

    def characteristic(self, s: complex) -> np.ndarray:
        """The matrix whose determinant is the characteristic function; (n + m, n + m)."""
        n, m = self.now.shape[0], self.read.shape[0]
        found = np.zeros((n + m, n + m), complex)
        found[:n, :n], found[n:, :n], found[n:, n:] = (
            s * np.eye(n) - self.now,
            -self.read,
            np.eye(m),
        )
        for look in self.looks:
            seen = span(s, look.lag) if look.summed else np.exp(-s * look.lag)
            found[:n, n + look.channel] -= seen * look.state
            found[n:, n + look.channel] -= seen * look.output
        return found

    def slope(self, s: complex) -> np.ndarray:
        """The derivative of `characteristic`; (n + m, n + m)."""
        n, m = self.now.shape[0], self.read.shape[0]
        found = np.zeros((n + m, n + m), complex)
        found[:n, :n] = np.eye(n)
        for look in self.looks:
            back = np.exp(-s * look.lag)
            seen = span_slope(s, look.lag) if look.summed else -look.lag * back
            found[:n, n + look.channel] -= seen * look.state
            found[n:, n + look.channel] -= seen * look.output
        return found


def span(s: complex, lag: float) -> complex:
    """The integral of exp(s t) from -lag to 0."""
    return -np.expm1(-s * lag) / s if abs(s) * lag > 1e-6 else lag * (1 - s * lag / 2)


def span_slope(s: complex, lag: float) -> complex:
    """Its derivative."""
    if abs(s) * lag < 1e-4:
        return -(lag**2) / 2 + s * lag**3 / 3
    return (lag * np.exp(-s * lag) - span(s, lag)) / s

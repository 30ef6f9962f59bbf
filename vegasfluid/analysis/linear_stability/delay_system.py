"""A linear system with constant delays, and its characteristic matrix.

    x'(t) = A x(t) + sum_k B_k y(t - delay_k) + sum_k G_k (integral of y over the last delay_k)
    y(t)  = C x(t) + the same terms of y

x are small deviations from an equilibrium; y are the outputs that act with a delay, fewer than x.
The characteristic matrix is that of x and y together, with s for d/dt. The zeros of its determinant
are the roots of the delay equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["DelaySystem", "DelayTerm"]

MOST_BYTES = 2**26
"""Memory for the characteristic matrices that are computed together (chosen)."""


class DelayTerm(NamedTuple):
    """The effect of one delayed output on states and outputs.

    Args:
        delay: how long the output is delayed, s.
        output: index of the output that is delayed.
        distributed: whether the output's integral from now - delay to now is used; otherwise its
            value at now - delay is.
        into_state: contribution to x' per unit of that integral or value; (n,) for n states.
        into_output: contribution to y per unit of that integral or value; (m,) for m outputs.
    """

    delay: float
    output: int
    distributed: bool
    into_state: np.ndarray
    into_output: np.ndarray


class DelaySystem(NamedTuple):
    """A linear system with delayed outputs, of NumPy arrays; n states and m outputs.

    x' = A x + delayed terms of y; y = C x + delayed terms of y. The states x are deviations from an
    equilibrium, dimensionless (in units of the equilibrium's values).

    Args:
        state_matrix: A, 1/s; (n, n).
        output_matrix: C; (m, n).
        terms: the delayed terms.
    """

    state_matrix: np.ndarray
    output_matrix: np.ndarray
    terms: tuple[DelayTerm, ...]

    @property
    def longest_delay(self) -> float:
        """The longest delay of any delayed term, s; 0 without delayed terms."""
        return max((term.delay for term in self.terms), default=0.0)

    def characteristic(self, s: complex | np.ndarray) -> np.ndarray:
        """The characteristic matrix at complex s; (..., n + m, n + m) for n states, m outputs.

        Its determinant is zero where s is a root of the linear delay equation.

        Args:
            s: 1/s; a number or an array of any shape, (...).
        """
        s = np.asarray(s)
        n, m = self.state_matrix.shape[0], self.output_matrix.shape[0]
        matrix = np.zeros((*s.shape, n + m, n + m), complex)
        matrix[..., :n, :n] = s[..., None, None] * np.eye(n) - self.state_matrix
        matrix[..., n:, :n] = -self.output_matrix
        matrix[..., n:, n:] = np.eye(m)
        for term in self.terms:
            factor = kernel(s, term.delay) if term.distributed else np.exp(-s * term.delay)
            matrix[..., :n, n + term.output] -= factor[..., None] * term.into_state
            matrix[..., n:, n + term.output] -= factor[..., None] * term.into_output
        return matrix

    def parts(self, points: np.ndarray) -> list[np.ndarray]:
        """Points (1/s) in arrays short enough that the matrices of one take at most 64 MiB."""
        size = self.state_matrix.shape[0] + self.output_matrix.shape[0]
        most = max(1, MOST_BYTES // (16 * size**2))
        return np.split(points, range(most, len(points), most))

    def characteristic_derivative(self, s: complex) -> np.ndarray:
        """Derivative by s of the characteristic matrix, at a complex s (1/s); (n + m, n + m)."""
        n, m = self.state_matrix.shape[0], self.output_matrix.shape[0]
        matrix = np.zeros((n + m, n + m), complex)
        matrix[:n, :n] = np.eye(n)
        for term in self.terms:
            shift = np.exp(-s * term.delay)
            factor = kernel_derivative(s, term.delay) if term.distributed else -term.delay * shift
            matrix[:n, n + term.output] -= factor * term.into_state
            matrix[n:, n + term.output] -= factor * term.into_output
        return matrix


def kernel(s: np.ndarray, delay: float) -> np.ndarray:
    """The integral of exp(s t) over t from -delay to 0, in s; of the shape of `s`.

    It is the transfer function of a uniformly distributed delay; `s` is in 1/s, `delay` in s.
    """
    small = np.abs(s) * delay <= 1e-6
    divisor = np.where(small, 1.0, s)
    return np.where(small, delay * (1 - s * delay / 2), -np.expm1(-s * delay) / divisor)


def kernel_derivative(s: complex, delay: float) -> complex:
    """The derivative by s of the integral of exp(s t) over t from -delay to 0, in s^2.

    `s` is complex, 1/s; `delay` is in s.
    """
    if abs(s) * delay < 1e-4:
        return -(delay**2) / 2 + s * delay**3 / 3
    return complex((delay * np.exp(-s * delay) - kernel(np.asarray(s), delay)) / s)

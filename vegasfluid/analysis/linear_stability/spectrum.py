"""The rightmost roots of a delay system: collocation of its generator, polished by Newton's method.

The state of a delay equation is a function: the outputs over the longest delay. The generator of
its evolution becomes a matrix on Chebyshev nodes. The eigenvalues of this matrix converge to the
roots of the characteristic function faster than any power of the number of nodes, the rightmost
first. Newton's method on that function refines them. The argument principle, which does not depend
on the nodes, counts unstable roots and so checks that none was missed.

Sources:
    D. Breda, S. Maset and R. Vermiglio, SIAM J. Sci. Comput. 27(2), 2005 (the infinitesimal
    generator, collocated); here with delayed outputs of the state (derived anew).
    L. Trefethen, "Spectral methods in MATLAB", 2000, chapter 6 (differentiation on the nodes).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from vegasfluid.analysis.linear_stability.delay_system import DelaySystem
from vegasfluid.errors import SolveFailed

__all__ = ["INTERVALS", "generator", "newton_polish", "rightmost_roots", "unstable_count"]

INTERVALS = 24
"""Intervals between Chebyshev nodes, enough for Newton's method to converge from the estimates."""
NEWTON_STEPS = 30
"""Bound on the steps of Newton's method for one root; it takes about five."""
ROOT_TOLERANCE = 1e-13
"""Newton's method stops at a step below this, relative (absolute below 1/s): rounding."""
CONTOUR_POINTS = 4000
"""Points on the half circle of the argument principle; four times as many on the axis."""
SAME = 1e-7
"""Roots closer to each other than this, relative, count as one."""


@cache
def chebyshev_nodes(intervals: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chebyshev nodes on [-1, 0], from 0 to -1, their differentiation matrix and weights.

    Args:
        intervals: number of intervals between the nodes.

    Returns:
        The nodes, (intervals + 1,); the matrix that differentiates values on them, (intervals + 1,
        intervals + 1); the barycentric interpolation weights, (intervals + 1,).
    """
    index = np.arange(intervals + 1)
    nodes = (np.cos(np.pi * index / intervals) - 1) / 2
    weights = (-1.0) ** index
    weights[[0, -1]] /= 2
    distances = nodes[:, None] - nodes + np.eye(intervals + 1)
    derivative = weights / weights[:, None] / distances
    np.fill_diagonal(derivative, 0.0)
    np.fill_diagonal(derivative, -derivative.sum(axis=1))
    return nodes, derivative, weights


@cache
def differentiation_matrix(intervals: int, outputs: int) -> np.ndarray:
    """Matrix of d/dtheta for several outputs on Chebyshev nodes of [-1, 0].

    Rows and columns are numbered by node, then by output; (outputs (intervals + 1),) * 2.
    """
    return np.kron(chebyshev_nodes(intervals)[1], np.eye(outputs))


def interpolation_weights(theta: float, intervals: int) -> np.ndarray:
    """Weights by which values on the Chebyshev nodes give the value at theta; (intervals + 1,).

    `theta` is from -1 to 0: a past time in units of the longest delay.
    """
    nodes, _, weights = chebyshev_nodes(intervals)
    distances = theta - nodes
    if np.any(distances == 0):
        return (distances == 0).astype(float)
    return weights / distances / np.sum(weights / distances)


def quadrature_weights(theta: float, intervals: int) -> np.ndarray:
    """Weights by which values on the Chebyshev nodes give the integral from theta to 0.

    Time is in units of the longest delay, and `theta` is a past time from -1 to 0. The result has
    the shape (intervals + 1,).
    """
    points, weights = np.polynomial.legendre.leggauss(intervals + 1)
    values = np.stack([interpolation_weights(theta * (1 - x) / 2, intervals) for x in points])
    return -theta / 2 * weights @ values


def generator(system: DelaySystem, intervals: int = INTERVALS) -> np.ndarray:
    """A matrix, 1/s, whose eigenvalues approximate the rightmost roots of a delay system.

    It is the infinitesimal generator of the system's evolution, collocated on Chebyshev nodes over
    the longest delay.

    Args:
        system: n states and m delayed outputs.
        intervals: number of intervals between Chebyshev nodes.

    Returns:
        The matrix; (n + m intervals, n + m intervals). Its rows and columns are the states, then
        the outputs at each node except the present time. Without outputs it is the state matrix.
    """
    n, m = system.state_matrix.shape[0], system.output_matrix.shape[0]
    longest = system.longest_delay
    if not m:
        return system.state_matrix
    into_x, into_y = np.zeros((n, intervals + 1, m)), np.zeros((m, intervals + 1, m))
    for term in system.terms:
        theta = -term.delay / longest
        if term.distributed:
            weights = longest * quadrature_weights(theta, intervals)
        else:
            weights = interpolation_weights(theta, intervals)
        into_x[:, :, term.output] += term.into_state[:, None] * weights
        into_y[:, :, term.output] += term.into_output[:, None] * weights
    derivative = differentiation_matrix(intervals, m) / longest
    # the outputs now: y0 = C x + E0 y0 + E1 (the other nodes)
    inverse = np.linalg.inv(np.eye(m) - into_y[:, 0])
    y0_by_x = inverse @ system.output_matrix
    y0_by_past = inverse @ into_y[:, 1:].reshape(m, -1)
    matrix = np.zeros((n + m * intervals,) * 2)
    matrix[:n, :n] = system.state_matrix + into_x[:, 0] @ y0_by_x
    matrix[:n, n:] = into_x[:, 1:].reshape(n, -1) + into_x[:, 0] @ y0_by_past
    matrix[n:, :n] = derivative[m:, :m] @ y0_by_x
    matrix[n:, n:] = derivative[m:, m:] + derivative[m:, :m] @ y0_by_past
    return matrix


def newton_polish(system: DelaySystem, guess: complex) -> complex | None:
    """The root of the characteristic function near a guess, complex, 1/s, by Newton's method.

    It is None if the last of 30 steps is above 1e-7, relative, or a step is not finite. (At double
    roots steps do not become much shorter than 1e-8.)
    """
    s, step = guess, np.inf
    for _ in range(NEWTON_STEPS):
        try:
            quotient = np.linalg.solve(
                system.characteristic(s), system.characteristic_derivative(s)
            )
        except np.linalg.LinAlgError:  # the matrix is singular: a root
            return s
        logarithmic_derivative = np.trace(quotient)
        if logarithmic_derivative == 0 or not np.isfinite(logarithmic_derivative):
            return None
        step = 1 / logarithmic_derivative
        s -= step
        if abs(step) < ROOT_TOLERANCE * (1 + abs(s)):
            return s
    return s if abs(step) < SAME * (1 + abs(s)) else None


def rightmost_roots(system: DelaySystem, most: int = 8, intervals: int = INTERVALS) -> np.ndarray:
    """The roots of a delay system's characteristic function with the largest real parts, 1/s.

    Args:
        system: the delay system.
        most: how many eigenvalues of the generator are polished by Newton's method, the rightmost.
        intervals: number of intervals between Chebyshev nodes.

    Returns:
        At most `most` distinct complex roots, the rightmost first. Both roots of a conjugate pair
        are included, unless `most` excludes one. The system is stable if all real parts are
        negative. Estimates from which Newton's method does not converge are left out.

    Raises:
        SolveFailed: if such an estimate is further to the right than all roots, or there is none.
    """
    estimates = np.linalg.eigvals(generator(system, intervals))
    roots: list[complex] = []
    lost = -np.inf
    for guess in estimates[np.argsort(-estimates.real)][:most]:
        root = newton_polish(system, complex(guess))
        if root is None:
            lost = max(lost, guess.real)
        elif not any(abs(root - other) < SAME * (1 + abs(root)) for other in roots):
            roots.append(complex(root))
    if lost >= max((root.real for root in roots), default=-np.inf):
        reason = "Newton's method does not converge to the rightmost root"
        raise SolveFailed(f"the characteristic equation was not solved: {reason}")
    return np.array(sorted(roots, key=lambda root: (-root.real, -root.imag)))


def unstable_count(system: DelaySystem, radius: float) -> int:
    """Number of a delay system's roots with positive real part, by the argument principle.

    It is the winding number of the characteristic function around the right half of a disc.

    Args:
        system: the delay system.
        radius: radius of the disc, 1/s: a bound on the absolute value of such roots.
    """
    angles = np.linspace(-np.pi / 2, np.pi / 2, CONTOUR_POINTS)
    grid = np.linspace(np.arcsinh(-1e4), np.arcsinh(1e4), 4 * CONTOUR_POINTS)
    axis = np.sinh(grid) / 1e4 * radius
    contour = np.concatenate([radius * np.exp(1j * angles), 1j * axis[::-1]])
    parts = system.parts(contour)
    values = np.concatenate([np.linalg.det(system.characteristic(part)) for part in parts])
    turns = np.angle(np.roll(values, -1) / values)
    return round(float(np.sum(turns)) / (2 * np.pi))

"""The rightmost roots of a delay system, by collocation of its generator, made exact by Newton.

A state of a delay equation is a function: what was carried, from the longest lag ago to now. Time
shifts it, which on Chebyshev nodes is a matrix; its eigenvalues converge to the roots of the
characteristic function faster than any power of the number of nodes, the rightmost first. Newton's
method on that function then makes them exact, and a count of zeros by the argument principle, which
knows nothing of the nodes, says whether some to the right were missed.

Sources:
    D. Breda, S. Maset and R. Vermiglio, SIAM J. Sci. Comput. 27(2), 2005 (the infinitesimal
    generator, collocated); here with what is carried as outputs of the state (derived anew).
    L. Trefethen, "Spectral methods in MATLAB", 2000, chapter 6 (differentiation on the nodes).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from vegasfluid.analysis.linear_stability.delay_system import Linear

__all__ = ["NODES", "generator", "polish", "roots", "unstable_count"]

NODES = 24
"""Intervals between nodes."""
STEPS, EXACT = 30, 1e-13
CONTOUR = 4000
SAME = 1e-7
"""Roots so near to each other, relative, are one."""


@cache
def nodes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chebyshev nodes on [-1, 0], from 0 to -1, their differentiation matrix and weights.

    Args:
        count: of the intervals.

    Returns:
        The nodes, (count + 1,); d/dtheta on them, (count + 1, count + 1); barycentric weights.
    """
    number = np.arange(count + 1)
    at = (np.cos(np.pi * number / count) - 1) / 2
    weights = (-1.0) ** number
    weights[[0, -1]] /= 2
    apart = at[:, None] - at + np.eye(count + 1)
    slope = weights / weights[:, None] / apart
    np.fill_diagonal(slope, 0.0)
    np.fill_diagonal(slope, -slope.sum(axis=1))
    return at, slope, weights


@cache
def slopes(count: int, size: int) -> np.ndarray:
    """d/dtheta of so many functions on the nodes; both axes (node, function)."""
    return np.kron(nodes(count)[1], np.eye(size))


def value_at(theta: float, count: int) -> np.ndarray:
    """The weights by which values on the nodes give the value at theta; (count + 1,)."""
    at, _, weights = nodes(count)
    apart = theta - at
    if np.any(apart == 0):
        return (apart == 0).astype(float)
    return weights / apart / np.sum(weights / apart)


def integral_from(theta: float, count: int) -> np.ndarray:
    """The weights by which values on the nodes give the integral from theta to 0; (count + 1,)."""
    points, parts = np.polynomial.legendre.leggauss(count + 1)
    inside = np.stack([value_at(theta * (1 - point) / 2, count) for point in points])
    return -theta / 2 * parts @ inside


def generator(linear: Linear, count: int = NODES) -> np.ndarray:
    """The matrix that shifts the state of a delay system through time; its eigenvalues are roots.

    Args:
        linear: the system.
        count: intervals between the nodes.

    Returns:
        Of x and then of what is carried at each node but now; (n + m count, n + m count), 1/s.
    """
    n, m, longest = linear.now.shape[0], linear.read.shape[0], linear.longest
    if not m:
        return linear.now
    onto_x, onto_y = np.zeros((n, count + 1, m)), np.zeros((m, count + 1, m))
    for look in linear.looks:
        theta = -look.lag / longest
        seen = longest * integral_from(theta, count) if look.summed else value_at(theta, count)
        onto_x[:, :, look.channel] += look.state[:, None] * seen
        onto_y[:, :, look.channel] += look.output[:, None] * seen
    slope = slopes(count, m) / longest
    # what is carried now: y0 = C x + E0 y0 + E1 (the other nodes)
    now = np.linalg.inv(np.eye(m) - onto_y[:, 0])
    of_x, of_past = now @ linear.read, now @ onto_y[:, 1:].reshape(m, -1)
    found = np.zeros((n + m * count,) * 2)
    found[:n, :n] = linear.now + onto_x[:, 0] @ of_x
    found[:n, n:] = onto_x[:, 1:].reshape(n, -1) + onto_x[:, 0] @ of_past
    found[n:, :n] = slope[m:, :m] @ of_x
    found[n:, n:] = slope[m:, m:] + slope[m:, :m] @ of_past
    return found


def polish(linear: Linear, guess: complex) -> complex:
    """The root near a guess, by Newton's method on the logarithm of the determinant."""
    s = guess
    for _ in range(STEPS):
        try:
            per_step = np.trace(np.linalg.solve(linear.characteristic(s), linear.slope(s)))
        except np.linalg.LinAlgError:
            return s
        if per_step == 0 or not np.isfinite(per_step):
            return s
        s -= 1 / per_step
        if abs(1 / per_step) < EXACT * (1 + abs(s)):
            return s
    return s


def roots(linear: Linear, most: int = 8, count: int = NODES) -> np.ndarray:
    """The rightmost roots of the characteristic function, 1/s.

    Args:
        linear: the system.
        most: how many.
        count: intervals between the nodes.

    Returns:
        Complex numbers, from the right; of a pair both.
    """
    estimates = np.linalg.eigvals(generator(linear, count))
    found: list[complex] = []
    for guess in estimates[np.argsort(-estimates.real)][:most]:
        root = complex(polish(linear, complex(guess)))
        if not any(abs(root - other) < SAME * (1 + abs(root)) for other in found):
            found.append(root)
    return np.array(sorted(found, key=lambda root: (-root.real, -root.imag)))


def unstable_count(linear: Linear, reach: float) -> int:
    """How many roots lie to the right of the imaginary axis, by the argument principle.

    Args:
        linear: the system.
        reach: all such roots are smaller than this, 1/s.

    Returns:
        The winding number of the characteristic function around a half disc.
    """
    turn = np.linspace(-np.pi / 2, np.pi / 2, CONTOUR)
    up = np.sinh(np.linspace(np.arcsinh(-1e4), np.arcsinh(1e4), 4 * CONTOUR)) / 1e4 * reach
    way = np.concatenate([reach * np.exp(1j * turn), 1j * up[::-1]])
    values = np.array([np.linalg.det(linear.characteristic(s)) for s in way])
    turned = np.angle(np.roll(values, -1) / values)
    return round(float(np.sum(turned)) / (2 * np.pi))

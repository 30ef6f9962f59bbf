"""Weighted least-squares slope of a line, as one inner product."""

from __future__ import annotations

import numpy as np

__all__ = ["slope_weights"]


def slope_weights(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Coefficients whose inner product with the ordinates of points is their least-squares slope.

    Args:
        x: abscissas of the points; (point,).
        weights: inverse variances of the ordinates, up to a common factor; (point,).

    Returns:
        The coefficients; (point,).

    >>> float(slope_weights(np.array([0.0, 1.0, 3.0]), np.ones(3)) @ [1.0, 3.0, 7.0])
    2.0
    """
    centred = x - np.average(x, weights=weights)
    return weights * centred / np.sum(weights * centred**2)

"""The slope of a line through weighted points, as one inner product."""

from __future__ import annotations

import numpy as np

__all__ = ["slope_weights"]


def slope_weights(places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What each height must be multiplied by, so that the sum is the least-squares slope.

    Args:
        places: where the points lie; (point,).
        weights: inverse variances of their heights, up to a factor; (point,).

    >>> float(slope_weights(np.array([0.0, 1.0, 3.0]), np.ones(3)) @ [1.0, 3.0, 7.0])
    2.0
    """
    centred = places - np.average(places, weights=weights)
    return weights * centred / np.sum(weights * centred**2)

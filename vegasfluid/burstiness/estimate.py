"""An estimate with its confidence interval, and what a series must be to give one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vegasfluid.errors import InvalidInput

__all__ = ["QUANTILE", "Estimate", "around", "checked", "require_above_zero"]

QUANTILE = 1.959963984540054
"""Of the standard normal law: 95 % of it lie between minus this and this."""


class Estimate(NamedTuple):
    """A number estimated from data.

    Args:
        value: the estimate.
        low: where its 95 % confidence interval begins.
        high: where it ends.
    """

    value: float
    low: float
    high: float


def around(value: float, error: float) -> Estimate:
    """An estimate with a normal interval about it.

    Args:
        value: the estimate.
        error: its standard error.

    >>> around(0.5, 0.1)
    Estimate(value=0.5, low=0.30400..., high=0.69599...)
    """
    return Estimate(float(value), float(value - QUANTILE * error), float(value + QUANTILE * error))


def checked(whose: str, counts: ArrayLike, shortest: int) -> np.ndarray:
    """A series of counts as floats, or a refusal.

    Args:
        whose: who asks, for the message.
        counts: packets in each bin; (bin,).
        shortest: bins that are needed.

    Raises:
        InvalidInput: where the series is not one-dimensional, too short, not finite or constant.

    >>> checked("cov", [1, 2, 4], shortest=3)
    array([1., 2., 4.])
    """
    series = np.asarray(counts, float)
    if series.ndim != 1:
        raise InvalidInput(whose, "counts", "an array of one dimension", series.shape)
    if series.size < shortest:
        raise InvalidInput(whose, "number of counts", f"at least {shortest}", series.size)
    if not np.all(np.isfinite(series)):
        bad = series[~np.isfinite(series)][0]
        raise InvalidInput(whose, "counts", "finite", float(bad))
    if np.ptp(series) == 0.0:
        raise InvalidInput(whose, "counts", "different from one another", float(series[0]))
    return series


def require_above_zero(whose: str, name: str, spreads: np.ndarray) -> None:
    """Refuse a series without variation on some scale: its logarithm says nothing.

    >>> require_above_zero("wavelet", "energy of every octave", np.array([2.0, 1.0]))
    """
    if not np.all(spreads > 0.0):
        raise InvalidInput(whose, name, "above 0", 0.0)

"""The Hurst exponent of a series of counts, by a choice of four methods.

The exponent is 1/2 if distant counts are independent, and up to 1 with long memory. The default
method, local Whittle, has little bias and needs the shortest series.

An estimate describes the time scales that its method uses, and its interval is valid only if the
series scales as a power law there. Pareto on/off sources of shape 1.4 have H = 0.8 only in the
limit of long times: their spectrum approaches its power law as frequency to the power 0.4. With
periods of at least one bin all methods therefore estimate about 0.85 to 0.9, and with periods of at
least 0.01 bins about 0.8.

Sources:
    M. S. Taqqu, W. Willinger and R. Sherman, "Proof of a fundamental result in self-similar
    traffic modeling", ACM Computer Communication Review 27(2), 1997: H = (3 - shape)/2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from vegasfluid.burstiness.estimate import Estimate
from vegasfluid.burstiness.local_whittle import local_whittle
from vegasfluid.burstiness.rescaled_range import rescaled_range
from vegasfluid.burstiness.variance_time import variance_time
from vegasfluid.burstiness.wavelet import wavelet
from vegasfluid.errors import InvalidInput

__all__ = ["METHODS", "hurst"]

METHODS: Mapping[str, Callable[[ArrayLike], Estimate]] = {
    "rescaled_range": rescaled_range,
    "variance_time": variance_time,
    "wavelet": wavelet,
    "local_whittle": local_whittle,
}
"""Estimators of the Hurst exponent by name: functions of the counts in each bin."""


def hurst(counts: ArrayLike, method: str = "local_whittle") -> Estimate:
    """Hurst exponent of a series of counts: 1/2 without long memory, up to 1 with it.

    Args:
        counts: number of packets in each bin; (bin,).
        method: `local_whittle` (at least 128 bins), `wavelet` (about 900), `rescaled_range` or
            `variance_time` (2048).

    Returns:
        The estimate with its 95 % confidence interval. Estimates and intervals may lie below 1/2 or
        above 1, but those of `rescaled_range` and `variance_time` are within 0.02 to 0.99.

    Raises:
        InvalidInput: for an unknown method, or if the series is too short, not finite or constant.

    >>> import numpy as np
    >>> value, low, high = hurst(np.random.default_rng(2).poisson(4.0, 4096))
    >>> low < 0.5 < high
    True
    """
    if method not in METHODS:
        raise InvalidInput("hurst", "method", f"one of {', '.join(METHODS)}", method)
    return METHODS[method](counts)

"""The Hurst exponent by any of four methods, under their names.

1/2 where counts far apart are independent, up to 1 where they have long memory. The default is
the local Whittle estimator: little biased, and it needs the shortest series.

An estimate speaks of the scales that it looks at, and the intervals hold where scaling holds
there. Pareto on/off sources of shape 1.4 have H = 0.8 in the limit only: their spectrum comes near
its power law as frequency to the power 0.4, so that with periods of at least one bin all methods
find about 0.85 to 0.9, and with periods of at least 0.01 bins, about 0.8.

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
"""Estimators of the Hurst exponent by name."""


def hurst(counts: ArrayLike, method: str = "local_whittle") -> Estimate:
    """The Hurst exponent of a series of counts.

    Args:
        counts: packets in each bin; (bin,).
        method: a name in METHODS.

    >>> import numpy as np
    >>> value, low, high = hurst(np.random.default_rng(2).poisson(4.0, 4096))
    >>> low < 0.5 < high
    True
    """
    if method not in METHODS:
        raise InvalidInput("hurst", "method", f"one of {', '.join(METHODS)}", method)
    return METHODS[method](counts)

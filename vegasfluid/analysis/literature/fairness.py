"""Published measures of fairness, for any set of rates.

`jain_index` of a trajectory is in `vegasfluid.metrics`. All measures except the alpha-fair utility
are independent of the unit of the rates.

Sources:
    R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984 (the index). J. Mo and J. Walrand, IEEE/ACM ToN
    8(5), 2000 (alpha-fair utility; not checked against the original). R. Ware, M. Mukerjee,
    S. Seshan and J. Sherry, "Beyond Jain's fairness index: setting the bar for the deployment of
    congestion control algorithms", HotNets 2019 (harm; the text was not at hand, the two formulas
    are those of an implementation of it, heistp/ccafct, harm/harm.go, but for its 0 where a flow
    gains: here that is a negative harm).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.interval_totals import IntervalTotals

__all__ = ["alpha_fair_utility", "harm", "jain_index", "max_min_ratio", "unfairness"]


def rates_of(whose: str, rates: Sequence[float] | np.ndarray, above_zero: bool) -> np.ndarray:
    """Rates as an array; InvalidInput unless they are finite and positive (or not negative)."""
    found = np.asarray(rates, dtype=float)
    if found.ndim != 1 or not found.size:
        raise InvalidInput(whose, "rates", "a row of numbers", rates)
    if not np.all((found > 0) if above_zero else (found >= 0)) or not np.all(np.isfinite(found)):
        raise InvalidInput(whose, "rates", "above 0" if above_zero else "at least 0", rates)
    return found


def alpha_fair_utility(rates: Sequence[float] | np.ndarray, alpha: float) -> float:
    """The sum of x^(1 - a) / (1 - a) over all rates, or of ln x for a = 1.

    a = 0 counts throughput, 1 is proportional fairness, 2 minimises the sum of 1 / x, and large
    ones come to max-min fairness. (This alpha is unrelated to that of Vegas.)

    Args:
        rates: rate of each flow, packets/s, above 0; (flows,).
        alpha: weight of small rates, at least 0.

    Raises:
        InvalidInput: for a rate that is not above 0, or an alpha below 0.

    >>> alpha_fair_utility([1.0, 4.0], 2), alpha_fair_utility([1.0, 1.0], 1)
    (-1.25, 0.0)
    """
    found = rates_of("alpha_fair_utility", rates, above_zero=True)
    if not alpha >= 0:
        raise InvalidInput("alpha_fair_utility", "alpha", "at least 0", alpha)
    if alpha == 1:
        return float(np.sum(np.log(found)))
    return float(np.sum(found ** (1 - alpha)) / (1 - alpha))


def jain_index(rates: Sequence[float] | np.ndarray) -> float:
    """Jain's fairness index: (sum x)^2 / (n sum x^2), from 1/n to 1.

    Args:
        rates: rate of each flow, in any unit, at least 0; (flows,).

    Raises:
        InvalidInput: for a rate below 0.

    >>> jain_index([1.0, 1.0, 0.0, 0.0])
    0.5
    """
    return IntervalTotals(
        1.0, flow_delivered=rates_of("jain_index", rates, above_zero=False)
    ).jain_index


def max_min_ratio(rates: Sequence[float] | np.ndarray) -> float:
    """The largest rate over the smallest; infinite if that is 0, 1 if all are 0.

    Args:
        rates: rate of each flow, in any unit, at least 0; (flows,).

    Raises:
        InvalidInput: for a rate below 0.

    >>> max_min_ratio([2.0, 1.0, 4.0])
    4.0
    """
    found = rates_of("max_min_ratio", rates, above_zero=False)
    most, least = float(found.max()), float(found.min())
    if least == 0:
        return math.inf if most else 1.0
    return most / least


def unfairness(first: float, second: float) -> float:
    """`abs(ln(x_1 / x_2))`: 0 for equal rates, and the same whichever of the two has more.

    Args:
        first: a rate, above 0.
        second: another, in the same unit.

    Raises:
        InvalidInput: for a rate that is not above 0.

    >>> unfairness(2.0, 1.0) == unfairness(1.0, 2.0) == math.log(2)
    True
    """
    return abs(math.log(np.divide(*rates_of("unfairness", [first, second], above_zero=True))))


def harm(solo: float, together: float, better: str = "more") -> float:
    """The fraction of its performance that a flow loses to a competitor; negative if it gains.

    Args:
        solo: its performance alone, in any unit, above 0.
        together: its performance with the competitor, at least 0.
        better: "more" for measures like throughput, (solo - together) / solo; "less" for measures
            like delay, (together - solo) / together.

    Raises:
        InvalidInput: for another name in `better`, or a number out of its range.

    >>> harm(100.0, 40.0), harm(0.02, 0.05, better="less")
    (0.6, 0.6)
    """
    if better not in ("more", "less"):
        raise InvalidInput("harm", "better", "more or less", better)
    if not solo > 0:
        raise InvalidInput("harm", "solo", "above 0", solo)
    if better == "less":
        if not together > 0:
            raise InvalidInput("harm", "together", "above 0", together)
        return (together - solo) / together
    if not together >= 0:
        raise InvalidInput("harm", "together", "at least 0", together)
    return (solo - together) / solo

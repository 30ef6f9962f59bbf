"""Whether a reference is inside the interval of the packet simulator's runs.

For each quantity, m and s are mean and standard deviation of our n runs, m' and s' those of the n'
runs of the reference. The interval is m plus or minus the largest of

- the half width of the 95 % confidence interval of the difference of the two means,
  t sqrt(s^2 / n + s'^2 / n'), with Student's t at Welch's degrees of freedom,
- 10 % of m: a smaller difference changes no decision, and two simulators never agree to the digit,
- 1 packet of a queue, and 0.001 of a loss ratio.

A reference inside the interval is no evidence if the interval is wide: where the half width of the
first kind exceeds 30 % of m, the verdict is "undecided", and more runs are needed. Outside is
outside, however wide the interval is.

Sources:
    B. L. Welch, "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34, 1947. The 10 %, 30 %, 1 packet and 0.001 are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

__all__ = ["SMALLEST_DROP_SHARE", "SMALLEST_QUEUE", "Comparison", "Verdict", "compare", "worst"]

Verdict = Literal["inside", "undecided", "outside"]
"""Position of the reference relative to the interval; the last is the worst."""

CONFIDENCE = 0.95
"""Level of the confidence interval of the difference of the means."""
TOLERANCE = 0.1
"""Difference from our mean, as a fraction of it, that is inside every interval (chosen)."""
WIDEST = 0.3
"""Half width, relative to our mean, above which an interval decides nothing (chosen)."""
SMALLEST_QUEUE = 1.0
"""Difference of mean queues that is inside every interval, packets (chosen)."""
SMALLEST_DROP_SHARE = 1e-3
"""Difference of loss ratios that is inside every interval (chosen)."""


@dataclass(frozen=True)
class Comparison:
    """One quantity in our packet runs and in the runs of a reference.

    Args:
        packets: mean over our packet runs.
        low: lower end of the interval around it, at least 0.
        high: upper end of the interval; infinite if we or the reference have a single run.
        reference: mean over the runs of the reference.
        verdict: whether the reference is inside the interval; undecided if it is, but the interval
            is too wide.
    """

    packets: float
    low: float
    high: float
    reference: float
    verdict: Verdict


def compare(
    packets: Sequence[float], reference: Sequence[float], smallest: float = 0.0
) -> Comparison:
    """Compare the runs of a reference with our packet runs in one quantity.

    Args:
        packets: the quantity in each of our runs.
        reference: the quantity in each run of the reference.
        smallest: difference that is inside every interval, in the unit of the quantity.

    Returns:
        The comparison, as the module describes it. If one mean is infinite or NaN, the interval is
        our mean alone. With a single run of either, the verdict is "undecided".

    >>> compare([9.9, 10.0, 10.1], [10.7, 10.8, 10.9]).verdict
    'inside'
    >>> compare([9.9, 10.0, 10.1], [11.7, 11.8, 11.9]).verdict
    'outside'
    """
    ours, theirs = float(np.mean(packets)), float(np.mean(reference))
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        return Comparison(ours, ours, ours, theirs, "inside" if ours == theirs else "outside")
    half = _half_width(np.asarray(packets, float), np.asarray(reference, float))
    margin = max(half, TOLERANCE * abs(ours), smallest)
    low, high = max(ours - margin, 0.0), ours + margin
    verdict: Verdict = "outside"
    if low <= theirs <= high:
        verdict = "undecided" if half > max(WIDEST * abs(ours), smallest) else "inside"
    return Comparison(ours, low, high, theirs, verdict)


def _half_width(first: np.ndarray, second: np.ndarray) -> float:
    """Half of Welch's 95 % confidence interval of the difference of two means, in their unit.

    It is infinite if `first` or `second` has a single value.
    """
    if min(first.size, second.size) < 2:
        return math.inf
    variances = [values.var(ddof=1) / values.size for values in (first, second)]
    if not sum(variances):
        return 0.0
    degrees = sum(variances) ** 2 / sum(
        variance**2 / (values.size - 1)
        for variance, values in zip(variances, (first, second), strict=True)
    )
    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2) * math.sqrt(sum(variances)))


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst of several verdicts: outside, else undecided, else inside.

    >>> worst(["inside", "undecided"])
    'undecided'
    """
    if "outside" in verdicts:
        return "outside"
    return "undecided" if "undecided" in verdicts else "inside"

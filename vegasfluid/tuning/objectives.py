"""Objectives of a recommendation: a goodput ratio, fairness among all flows, delay or goodput.

Each objective is a loss to be minimised, smooth in the goodputs of flows, with JAX's derivatives;
and a value by which people know it.

Sources:
    Jain's index: R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984; 1 / index - 1 is the squared
    coefficient of variation. Alpha-fair utility: J. Mo and J. Walrand, "Fair end-to-end
    window-based congestion control", IEEE/ACM ToN 8(5), 2000; proportional fairness is 1 there
    (F. Kelly, "Charging and rate control for elastic traffic", 1997), and the worst flow infinity.
    A utility is expressed by the rate that would be as good if all flows had it (A. Atkinson, "On
    the measurement of inequality", 1970). (Titles and definitions as textbooks have them.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid.errors import InvalidInput

__all__ = ["AlphaFair", "JainIndex", "LargestGoodput", "Objective", "Rates", "ShareRatio"]
__all__ += ["SMALLEST_RATIO", "SmallestDelay", "WorstFlow", "is_fairness", "objective_named"]

SMALLEST_RATIO = 1e-12
"""Ratios are clipped to this and its inverse, so that a starved class has a logarithm."""
WORST_FLOW_AVERSIONS = (4.0, 16.0, 64.0)
"""Alphas of the alpha-fair utilities by which the worst flow is approached, one after the other."""


class Rates(NamedTuple):
    """Goodputs that an objective is computed from.

    Args:
        goodput: of a flow of each group, packets/s; (groups,).
        count: flows of each group; (groups,).
        tuned: 1 for groups of the tuned class (1, 2 and so on where several classes are tuned), 0
            for groups that these are compared with, -1 for all others; known numbers, not traced by
            JAX; (groups,).
        fair: goodput of each flow if all had the same and the link was full, packets/s; of several
            links the smallest.
        queueing_delay: mean waiting time of a packet in the queues of the path, s; NaN if it was
            not measured.
    """

    goodput: Any
    count: Any
    tuned: Any
    fair: float
    queueing_delay: float = math.nan

    def mean(self, weight: Any) -> Any:
        """Weighted mean of the goodputs of the groups, packets/s; a scalar.

        Args:
            weight: weight of each group, not all of them 0; (groups,). With the number of flows of
                each group the result is the mean goodput of a flow.
        """
        return (self.goodput * weight).sum() / weight.sum()


class Objective(ABC):
    """What a recommendation optimises."""

    key: str
    """Name of the objective in JSON."""
    unit: str
    """Description in words of what `value` returns."""

    @abstractmethod
    def loss(self, rates: Rates) -> Any:
        """What a search minimises: a function of the goodputs, without unit."""

    @abstractmethod
    def value(self, rates: Rates) -> float:
        """The objective as it is reported, such as Jain's index; `unit` describes the number."""

    @property
    def target(self) -> float | str:
        """The value that is aimed at: a number, or the text `largest` or `smallest`."""
        return "largest"

    @property
    def continuation(self) -> tuple[Objective, ...]:
        """Smooth objectives to optimise one after the other; the last one approximates this one."""
        return (self,)


@dataclass(frozen=True)
class ShareRatio(Objective):
    """Mean goodput of a tuned flow over that of a flow not tuned; of each class, if several are.

    Args:
        ratio: the ratio that is aimed at.
        numerator: class whose flows are compared; None: the tuned ones.
        denominator: class that they are compared with; None: all flows that are not tuned.

    `loss` and `value` use `Rates.tuned` alone, which a recommendation sets for the named classes.

    >>> import numpy as np
    >>> rates = Rates(np.array([6.0, 3.0]), np.array([2.0, 4.0]), np.array([1.0, 0.0]), 4.0)
    >>> ShareRatio(1.0).value(rates), f"{ShareRatio(2.0).loss(rates):.3f}"
    (2.0, '0.000')
    """

    ratio: float = 1.0
    numerator: str | None = None
    denominator: str | None = None
    key = "ratio"
    unit = "goodput of a tuned flow over that of another flow"

    def loss(self, rates: Rates) -> Any:
        """Sum over the tuned classes of the squared log(ratio / target)."""
        return (self.distances(rates) ** 2).sum()

    def distances(self, rates: Rates) -> Any:
        """log(ratio / target) of each tuned class, of mean goodputs per flow; (classes,).

        Ratios are clipped to 1e-12 and 1e12, also where the other flows get nothing. Logarithms and
        derivatives are then finite.
        """
        *means, other = self._means(rates)
        ratios = jnp.stack(means) / jnp.where(other > 0, other, 1.0)
        ratios = jnp.where(other > 0, ratios, 1 / SMALLEST_RATIO)
        clipped = jnp.clip(ratios, SMALLEST_RATIO, 1 / SMALLEST_RATIO)
        return jnp.log(clipped) - math.log(self.ratio)

    def value(self, rates: Rates) -> float:
        """Mean goodput of a tuned flow divided by that of a flow not tuned; no unit.

        If several classes are tuned, the geometric mean of their ratios.
        """
        *means, other = self._means(rates)
        return float(np.exp(np.mean(np.log(np.array([mean / other for mean in means])))))

    def _means(self, rates: Rates) -> list[Any]:
        """Mean goodput per flow of each tuned class, and last that of all flows not tuned."""
        tuned = np.asarray(rates.tuned)
        numbers = (*range(1, int(tuned.max()) + 1), 0)
        members = (np.asarray(tuned == number, float) for number in numbers)
        return [rates.mean(rates.count * weight) for weight in members]

    @property
    def target(self) -> float:
        """The ratio that is aimed at."""
        return self.ratio


@dataclass(frozen=True)
class JainIndex(Objective):
    """Jain's fairness index over all flows.

    >>> import numpy as np
    >>> rates = Rates(np.array([6.0, 3.0]), np.array([2.0, 4.0]), np.array([1.0, 0.0]), 4.0)
    >>> f"{JainIndex().value(rates):.4f}"  # 24^2 / (6 (2 36 + 4 9))
    '0.8889'
    """

    key = "jain_index"
    unit = "Jain's index over all flows"

    def loss(self, rates: Rates) -> Any:
        """Squared coefficient of variation of the goodputs of all flows; 0 if all are equal."""
        mean = rates.mean(rates.count)
        return ((rates.goodput - mean) ** 2 * rates.count).sum() / rates.count.sum() / mean**2

    def value(self, rates: Rates) -> float:
        """Jain's index of the goodputs x of all n flows, (sum x)^2 / (n sum x^2); no unit.

        1 if all are equal, 1/n if one flow has everything.
        """
        return float(1 / (1 + self.loss(rates)))


@dataclass(frozen=True)
class AlphaFair(Objective):
    """Alpha-fair utility, as the rate that would have the same utility if every flow had it.

    Args:
        aversion: to inequality: 0 counts the sum only, 1 is proportional fairness, 2 minimises
            potential delay.

    >>> import numpy as np
    >>> rates = Rates(np.array([6.0, 3.0]), np.array([2.0, 4.0]), np.array([1.0, 0.0]), 4.0)
    >>> f"{AlphaFair(1.0).value(rates):.4f}"  # (6^2 3^4)^(1/6) / 4
    '0.9449'
    >>> f"{AlphaFair(2.0).value(rates):.4f}"  # the harmonic mean, 3.6, over 4
    '0.9000'
    """

    aversion: float = 1.0
    unit = "the rate that is as good if every flow has it, over an equal part of the link"

    def __post_init__(self) -> None:
        if not 0 <= self.aversion < math.inf:
            raise InvalidInput("goal", "alpha-fair", "0 or above, and finite", self.aversion)

    @property
    def key(self) -> str:  # type: ignore[override]
        """The objective's name in JSON: `proportional_fairness` for an aversion of 1, else as in
        `alpha_fairness_2`.
        """
        proportional = self.aversion == 1
        return "proportional_fairness" if proportional else f"alpha_fairness_{self.aversion:g}"

    def loss(self, rates: Rates) -> Any:
        """log(fair rate / equivalent rate) of the goodputs, without unit; 0 if all have `fair`.

        If every flow had the equivalent rate, the utility would be that of the actual goodputs.
        """
        logs, weight = jnp.log(rates.goodput / rates.fair), rates.count / rates.count.sum()
        power = 1 - self.aversion
        if power == 0:
            return -(weight * logs).sum()
        largest = (power * logs).max()
        powers = jnp.exp(power * logs - largest)
        return -(jnp.log((weight * powers).sum()) + largest) / power

    def value(self, rates: Rates) -> float:
        """The equivalent rate divided by the fair rate, `rates.fair`; no unit.

        If every flow had the equivalent rate, the utility would be that of the actual goodputs.
        """
        return math.exp(-float(self.loss(rates)))


@dataclass(frozen=True)
class WorstFlow(Objective):
    """Goodput of the worst flow.

    >>> import numpy as np
    >>> rates = Rates(np.array([6.0, 3.0]), np.array([2.0, 4.0]), np.array([1.0, 0.0]), 4.0)
    >>> WorstFlow().value(rates)
    0.75
    """

    key = "worst_flow"
    unit = "goodput of the worst flow over an equal part of the link"

    def loss(self, rates: Rates) -> Any:
        """log(fair share of the link / goodput of the worst flow)."""
        return -jnp.log(rates.goodput.min() / rates.fair)

    def value(self, rates: Rates) -> float:
        """Smallest goodput of a flow divided by the fair rate (capacity / flows); no unit."""
        return float(rates.goodput.min() / rates.fair)

    @property
    def continuation(self) -> tuple[Objective, ...]:
        """Alpha-fair utilities of aversion 4, 16 and 64, which approach the worst flow's rate."""
        return tuple(AlphaFair(aversion) for aversion in WORST_FLOW_AVERSIONS)


@dataclass(frozen=True)
class SmallestDelay(Objective):
    """Smallest mean queueing delay, which needs a bound on the utilisation to make sense.

    >>> import numpy as np
    >>> SmallestDelay().value(Rates(np.ones(2), np.ones(2), np.zeros(2), 1.0, 0.02))
    0.02
    """

    key = "queueing_delay_s"
    unit = "mean queueing delay, s"

    @property
    def target(self) -> str:
        """The text `smallest`."""
        return "smallest"

    def loss(self, rates: Rates) -> Any:
        """Zero, without unit: this objective does not depend on the goodputs.

        The search minimises the queueing delay by a separate term, log(delay).
        """
        return 0.0 * rates.goodput.sum()

    def value(self, rates: Rates) -> float:
        """Mean waiting time of a packet in the queues of the path, s; NaN if not measured."""
        return float(rates.queueing_delay)


@dataclass(frozen=True)
class LargestGoodput(Objective):
    """Largest goodput of all flows together.

    >>> import numpy as np
    >>> rates = Rates(np.array([6.0, 3.0]), np.array([2.0, 4.0]), np.array([1.0, 0.0]), 5.0)
    >>> LargestGoodput().value(rates)
    0.8
    """

    key = "total_goodput"
    unit = "goodput of all flows over that of a full link"

    def loss(self, rates: Rates) -> Any:
        """log(goodput of a full link / goodput of all flows), without unit."""
        return -jnp.log(rates.mean(rates.count) / rates.fair)

    def value(self, rates: Rates) -> float:
        """Goodput of all flows over that of a full link; no unit."""
        return float(rates.mean(rates.count) / rates.fair)


def is_fairness(objective: Objective) -> bool:
    """Whether an objective is fairness among all flows, or of tuned flows to the other flows.

    It is not for delay, total goodput and the ratio of a named class.

    >>> is_fairness(JainIndex()), is_fairness(SmallestDelay()), is_fairness(ShareRatio(1.0, "a"))
    (True, False, False)
    """
    if isinstance(objective, ShareRatio):
        return objective.numerator is None
    return not isinstance(objective, (SmallestDelay, LargestGoodput))


def objective_named(name: str, ratio: float = 1.0) -> Objective:
    """The objective that a value of the option `--goal` names.

    Args:
        name: `ratio`, `jain`, `proportional`, `worst-flow`, `delay`, `throughput`, `alpha-fair=A`
            with the aversion A, or `ratio=ONE/OTHER` with the names of two classes.
        ratio: target of the goodput ratio, for `ratio` and `ratio=ONE/OTHER` only.

    Raises:
        InvalidInput: for another name, or an aversion that is negative or infinite.

    >>> objective_named("alpha-fair=2")
    AlphaFair(aversion=2.0)
    """
    plain = {
        "ratio": ShareRatio(ratio),
        "jain": JainIndex(),
        "proportional": AlphaFair(1.0),
        "worst-flow": WorstFlow(),
        "delay": SmallestDelay(),
        "throughput": LargestGoodput(),
    }
    if name in plain:
        return plain[name]
    kind, _, argument = name.partition("=")
    if kind == "alpha-fair":
        try:
            return AlphaFair(float(argument))
        except ValueError:
            pass
    one, _, other = argument.partition("/")
    if kind == "ratio" and one and other:
        return ShareRatio(ratio, one, other)
    allowed = f"{', '.join(plain)}, alpha-fair=NUMBER, or ratio=CLASS/CLASS"
    raise InvalidInput("goal", "name", allowed, name)

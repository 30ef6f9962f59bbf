"""What `recommend_robust` found, and how it is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vegasfluid.ranges import Range
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.result import Evaluation, Recommendation
from vegasfluid.tuning.scenarios import Scenario

__all__ = ["FAIR", "RobustRecommendation", "Robustness", "ScenarioResult", "separating"]

FAIR = math.log(1.25)
"""How far from the goal, in log(ratio), the worst network may be: 0.8 to 1.25 times as much."""
MATTERS = 0.5
"""A range separates two networks if it does so by this share of what the foremost does."""
WORDS = {
    "base_rtt_ms": "RTTs",
    "access_delay_ms": "RTTs",
    "delay_ms": "RTTs",
    "count": "numbers of flows",
    "capacity_mbps": "capacities",
    "access_mbps": "access rates",
    "buffer_packets": "buffers",
}
"""What the numbers of a key are together."""


@dataclass(frozen=True)
class ScenarioResult:
    """One network as the simulators see it with some parameters.

    Args:
        scenario: the network.
        fluid_ratio: the fluid model's ratio, with the usual dead zone.
        packets: what was measured.
    """

    scenario: Scenario
    fluid_ratio: float
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """The numbers of the network, and the ratios."""
        return {
            "kind": self.scenario.kind,
            "numbers": dict(self.scenario.numbers),
            "fluid_ratio": self.fluid_ratio,
            "ratio": self.packets.ratio,
            "ratio_ci95": list(self.packets.interval),
            "runs": len(self.packets.runs),
        }

    @property
    def text(self) -> str:
        """The ratio and the numbers in words."""
        return f"{self.packets.ratio:.3g} at {self.scenario.text}"


@dataclass(frozen=True)
class Robustness:
    """How parameters fare over the ranges, and what that costs where the nominal network is right.

    Args:
        goal: the ratio that was asked for.
        ranges: by the names of the numbers, in the units of the names.
        seen: all networks that were looked at, with the recommended parameters.
        most: of these the one where the tuned flows get most.
        least: the one where they get least.
        nominal: with the recommended parameters.
        own: the nominal network with the parameters that are best there alone.
        own_most: where the tuned flows get most with those.
        own_least: where they get least.
        regret: how much farther from the goal than it need be a network is at worst, in log(ratio).
        own_regret: the same with the parameters that are best at the nominal network.
        fluid_regret: of the recommended parameters on the fluid model.
    """

    goal: float
    ranges: Mapping[str, Range]
    seen: tuple[ScenarioResult, ...]
    most: ScenarioResult
    least: ScenarioResult
    nominal: ScenarioResult
    own: Evaluation
    own_most: ScenarioResult
    own_least: ScenarioResult
    regret: float
    own_regret: float
    fluid_regret: float

    def off(self, packets: Measurement) -> float:
        """How far a measured ratio is from the goal, in log(ratio)."""
        return abs(math.log(packets.ratio / self.goal))

    @property
    def worst(self) -> float:
        """How far the worst network is from the goal, in log(ratio)."""
        return max(self.off(self.most.packets), self.off(self.least.packets))

    @property
    def worst_of_own(self) -> float:
        """The same with the parameters that are best at the nominal network."""
        return max(self.off(self.own_most.packets), self.off(self.own_least.packets))

    @property
    def price(self) -> float:
        """How much farther from the goal the nominal network is than it need be, in log(ratio)."""
        return self.off(self.nominal.packets) - self.off(self.own.packets)

    def as_json(self) -> dict[str, Any]:
        """The block `robust` of the command's JSON output."""
        own = self.own.law
        return {
            "ranges": {name: of.parameters() for name, of in self.ranges.items()},
            "scenarios": [seen.as_json() for seen in self.seen],
            "worst": {
                "most": self.most.as_json(),
                "least": self.least.as_json(),
                "factor": math.exp(self.worst),
                "regret_log_ratio": self.regret,
            },
            "nominal": self.nominal.as_json(),
            "nominal_only": {
                "alpha_packets": own.alpha,
                "beta_packets": own.beta,
                **self.own.as_json(),
                "worst": {
                    "most": self.own_most.as_json(),
                    "least": self.own_least.as_json(),
                    "factor": math.exp(self.worst_of_own),
                    "regret_log_ratio": self.own_regret,
                },
            },
            "price": {"log_ratio": self.price, "factor": math.exp(self.price)},
            "fluid_regret_log_ratio": self.fluid_regret,
        }


@dataclass(frozen=True)
class RobustRecommendation(Recommendation):
    """Parameters that hold over ranges of a network's numbers; `after` is at the nominal one.

    Args:
        robust: how they fare over the ranges.
    """

    robust: Robustness

    def as_json(self) -> dict[str, Any]:
        """As of `Recommendation`, and a block `robust`."""
        return super().as_json() | {"robust": self.robust.as_json()}


def separating(
    scenarios: tuple[Scenario, ...], distances: np.ndarray, most: Scenario, least: Scenario
) -> list[str]:
    """The uncertain numbers by which two networks differ most in log(ratio), the foremost first.

    The effect of each number is that of a plane through all networks, by least squares.

    Args:
        scenarios: the networks.
        distances: log(ratio) of each; (networks,).
        most: one of them.
        least: another one.
    """
    names = list(most.shares)
    shares = np.array([[of.shares[name] for name in names] for of in scenarios])
    plane = np.linalg.lstsq(np.column_stack([np.ones(len(shares)), shares]), distances)[0][1:]
    apart = {
        name: effect * (most.shares[name] - least.shares[name])
        for name, effect in zip(names, plane.tolist(), strict=True)
    }
    foremost = max(apart.values())
    found = [name for name in names if apart[name] >= MATTERS * foremost]
    return sorted(found, key=lambda name: -apart[name])


def words_for(names: list[str]) -> str:
    """What uncertain numbers are, such as `RTTs and capacities`.

    >>> words_for(["reno.base_rtt_ms", "vegas.base_rtt_ms", "bottleneck.capacity_mbps"])
    'RTTs and capacities'
    """
    words = dict.fromkeys(WORDS[name.rpartition(".")[2]] for name in names)
    return " and ".join(words)

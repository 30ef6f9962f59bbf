"""What `recommend` found, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.disagreement import RunMeans, compare
from vegasfluid.network import Network
from vegasfluid.packet.seeds import ONE_RUN
from vegasfluid.tuning.constraints import Constraints
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.slow_start import SlowStart
from vegasfluid.tuning.space_mapping import objective_values

__all__ = ["Evaluation", "Recommendation", "red_numbers"]

FLUID_KEYS = (
    "ratio",
    "jain_index",
    "utilisation",
    "queue_packets",
    "queueing_delay_s",
    "drop_share",
)


@dataclass(frozen=True)
class Evaluation:
    """Vegas's parameters, with what both simulators say of them.

    Args:
        law: the parameters.
        fluid: the fluid model's numbers.
        packets: the packet simulator's.
    """

    law: Vegas
    fluid: dict[str, float]
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """Two blocks of numbers, `fluid` and `packets`."""
        low, high = self.packets.interval
        means = self.packets.means()
        packets = {"ratio": means.pop("ratio"), "ratio_ci95": [low, high], **means}
        packets["runs"] = len(self.packets.runs)
        return {"fluid": {key: self.fluid[key] for key in FLUID_KEYS}, "packets": packets}

    def disagreements(self, network: Network, tuned: str) -> list[str]:
        """Where the simulators disagree, a sentence each.

        Args:
            network: with these parameters.
            tuned: the class that has them.
        """
        path = " and ".join(network.path_of(tuned))
        means = self.packets.means()
        by = (
            RunMeans({tuned: of["ratio"]}, {path: of["queue_packets"]})
            for of in (self.fluid, means)
        )
        return compare(network, *by)


@dataclass(frozen=True)
class Recommendation:
    """Recommended parameters for one class of Vegas flows.

    Args:
        network: the network with the recommended parameters.
        tuned: the class they are for.
        goal: what was asked for.
        limits: what was to be kept to.
        queue_tuned: whether RED's numbers were tuned, too.
        reached: whether the packet simulator confirms it.
        reason: if not reached, why; or what else is to know.
        before: the parameters that the network had.
        after: the recommended ones.
        optimum: where the fluid model alone would put alpha.
        settings: for each system, the settings that make its flows behave like this.
        settings_missing: for the others, why there are none.
        start: how the start goes with another gamma, where that was tuned.
        others: the classes that the tuned one is compared with; none: all others.
        seconds: time spent in total, in the fluid model and on packets.
    """

    network: Network
    tuned: str
    goal: Objective
    limits: Constraints
    queue_tuned: bool
    reached: bool
    reason: str
    before: Evaluation
    after: Evaluation
    optimum: FluidOptimum
    settings: dict[str, dict[str, float]]
    settings_missing: dict[str, str]
    start: SlowStart | None
    others: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def comparable(self) -> tuple[Evaluation, ...]:
        """What was judged and differs by this class's parameters only."""
        return (self.after,) if self.queue_tuned or self.others else (self.after, self.before)

    @property
    def warnings(self) -> list[str]:
        """What is allowed in the network but probably not meant, and runs that are all the same."""
        packets = self.after.packets
        same = [ONE_RUN.format(len(packets.runs))] if packets.is_one_run else []
        return [*self.network.warnings(), *same]

    @property
    def disagreements(self) -> list[str]:
        """Where fluid and packets disagree with the recommended and the former parameters."""
        before = self.before.disagreements(self.network, self.tuned)
        return [
            *self.after.disagreements(self.network, self.tuned),
            *(f"With the former parameters: {sentence}" for sentence in before),
        ]

    @property
    def ratio(self) -> float:
        """The ratio that is aimed at; of another goal 1, which theory compares with."""
        return self.goal.ratio if isinstance(self.goal, ShareRatio) else 1.0

    def as_json(self) -> dict[str, Any]:
        """The result as plain numbers and texts, by the names of the command's JSON output."""
        law = self.after.law
        return {
            "tuned": self.tuned,
            "goal": {self.goal.key: self.goal.wanted},
            **self.further_as_json(),
            "reached": self.reached,
            "reason": self.reason or None,
            "assumed": self.network.assumptions(),
            "warnings": self.warnings,
            "disagreements": self.disagreements,
            "recommended": {
                "alpha_packets": law.alpha,
                "beta_packets": law.beta,
                "gamma_packets": law.gamma,
                "dialect": law.dialect,
                **self.queue,
            },
            "before": {
                "alpha_packets": self.before.law.alpha,
                "beta_packets": self.before.law.beta,
                **self.before.as_json(),
            },
            **self.after.as_json(),
            "fluid_alpha_packets": self.optimum.alpha,
            "settings": self.settings,
            "settings_missing": self.settings_missing,
            "seconds": self.seconds,
        }

    def further_as_json(self) -> dict[str, Any]:
        """What is there where more than a ratio was asked for."""
        found: dict[str, Any] = {} if self.start is None else {"start": self.start.as_json()}
        if self.limits.each:
            found["limits"] = {limit.of: limit.bound for limit in self.limits.each}
        if not isinstance(self.goal, ShareRatio):
            found["objective_value"] = {
                "before": self.objective_value(self.before.packets),
                "after": self.objective_value(self.after.packets),
            }
        return found

    @property
    def queue(self) -> dict[str, float]:
        """RED's numbers, where they were tuned."""
        return red_numbers(self.network) if self.queue_tuned else {}

    def objective_value(self, packets: Measurement) -> float:
        """The goal's number, mean over packet runs."""
        return float(np.mean(objective_values(self.goal, packets, self.network, (self.tuned,))))


def red_numbers(network: Network) -> dict[str, float]:
    """What of RED can be tuned, by its names in JSON."""
    law = cast(Red, network.link.aqm)
    return {
        "min_thresh_packets": float(law.min_thresh),
        "max_thresh_packets": float(law.max_thresh),
        "max_drop": float(law.max_drop),
    }

"""Result of tuning any numbers of a network: values, means of both simulators, JSON output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from vegasfluid.disagreement import RunMeans, compare
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import Constraints
from vegasfluid.tuning.measurement import Measurement, warnings_of
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.result import FLUID_KEYS
from vegasfluid.tuning.result_rows import NotebookTable
from vegasfluid.tuning.space_mapping import rates_of_runs

__all__ = ["EvaluatedNetwork", "NumberRecommendation", "TunedNumber"]

VEGAS_KEYS = ("alpha_packets", "beta_packets", "gamma_packets", "dialect")
"""Keys of the JSON output that are null where the first class is not one of Vegas flows."""
NO_SETTINGS = "vegasfluid export writes all numbers of a model"
"""Why `settings` of the JSON output is empty."""
SYSTEMS = ("linux", "freebsd", "ns2", "ns3")
"""Systems whose settings are left to `vegasfluid export`."""


@dataclass(frozen=True)
class TunedNumber:
    """One tuned number of a network, in the unit that its name ends in.

    Args:
        name: such as `bottleneck.min_thresh_packets`.
        low: smallest value that was tried.
        high: largest value that was tried.
        before: value in the network that was given.
        value: recommended value.
        matters: whether packet runs depend on it anywhere from `low` to `high`.
        in_fluid: whether the fluid model depends on it at the given value.
    """

    name: str
    low: float
    high: float
    before: float
    value: float
    matters: bool
    in_fluid: bool

    def as_json(self) -> dict[str, Any]:
        """One entry of `parameters` in the JSON output.

        Returns:
            `before` and `recommended`, values in the unit of the name; `range`, the smallest and
            the largest value; `matters` and `in_fluid_model`, true or false.
        """
        return {
            "before": self.before,
            "recommended": self.value,
            "range": [self.low, self.high],
            "matters": self.matters,
            "in_fluid_model": self.in_fluid,
        }

    @property
    def note(self) -> str:
        """A sentence if the number does not matter or the fluid model lacks it; else empty."""
        if not self.matters:
            return (
                f"{self.name} does not matter: from {self.low:.4g} to {self.high:.4g} no mean of "
                "the packet runs changes by more than 1 % plus its uncertainty. It stays unchanged."
            )
        if not self.in_fluid:
            return (
                f"The fluid model does not depend on {self.name} at {self.before:.4g}: "
                "it was tuned by packet runs alone."
            )
        return ""


@dataclass(frozen=True)
class EvaluatedNetwork:
    """A network, and means of both simulators after the warm-up.

    Args:
        network: the network.
        fluid: means of the fluid run by JSON name, such as `queueing_delay_s`.
        packets: packet runs, one for each seed.
    """

    network: Network
    fluid: dict[str, float]
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """The blocks `fluid` and `packets` of the JSON output: means after the warm-up.

        Returns:
            For each simulator `ratio`, `jain_index`, `utilisation`, `queue_packets`,
            `queueing_delay_s` and `drop_share`; for packets also `ratio_ci95` (two numbers),
            `retransmit_share` and the number of `runs`. Ratios and fluid means that are not finite
            are null.
        """
        packets: dict[str, Any] = dict(self.packets.means())
        packets["ratio_ci95"] = [finite_or_none(bound) for bound in self.packets.interval]
        packets["ratio"] = finite_or_none(packets["ratio"])
        fluid = {key: finite_or_none(self.fluid[key]) for key in FLUID_KEYS}
        return {"fluid": fluid, "packets": packets | {"runs": len(self.packets.runs)}}

    def vegas_json(self, name: str) -> dict[str, Any]:
        """`alpha_packets`, `beta_packets`, `gamma_packets` and `dialect` of class `name`.

        All are null if its flows are not Vegas flows.
        """
        law: Any = self.network.flows[name].law
        if not law.has_dead_band:
            return dict.fromkeys(VEGAS_KEYS)
        return dict(zip(VEGAS_KEYS, (law.alpha, law.beta, law.gamma, law.dialect), strict=True))

    def disagreements(self, lead: str) -> list[str]:
        """Sentences on where fluid model and packet simulator disagree; empty if they agree.

        Goodput ratios differ by over 25 %, mean queues by over 50 %, or `lead` starves in one.

        Args:
            lead: class in the numerator of the ratio, whose path has the queues.
        """
        path = " and ".join(self.network.path_of(lead))
        pair = (
            RunMeans({lead: means["ratio"]}, {path: means["queue_packets"]})
            for means in (self.fluid, self.packets.means())
        )
        return compare(self.network, *pair)


@dataclass(frozen=True)
class NumberRecommendation(NotebookTable):
    """Recommended values of any numbers of a network.

    Args:
        network: with the recommended values.
        tuned: class whose path gives delay and utilisation, and the numerator of the ratio.
        others: classes in the ratio's denominator; empty: all others.
        numbers: the tuned numbers.
        objective: what was asked for.
        constraints: the bounds of the search; also one on the utilisation, where of equally good
            settings the one with the smallest delay is taken.
        reached: whether the packet simulator confirms the objective, within the constraints.
        reason: why it does not; empty if it does.
        before: the network that was given, evaluated.
        after: the recommended one, evaluated.
        seconds: wall time, s, by `total`, `fluid` (model) and `packets` (simulator).
    """

    network: Network
    tuned: str
    others: tuple[str, ...]
    numbers: tuple[TunedNumber, ...]
    objective: Objective
    constraints: Constraints
    reached: bool
    reason: str
    before: EvaluatedNetwork
    after: EvaluatedNetwork
    seconds: dict[str, float]

    @property
    def warnings(self) -> list[str]:
        """Sentences on unusual parts of the network, and on packet runs that are all equal."""
        return warnings_of(self.network, self.after.packets)

    @property
    def disagreements(self) -> list[str]:
        """Sentences on where fluid and packets disagree with the recommended values."""
        return self.after.disagreements(self.tuned)

    @property
    def notes(self) -> list[str]:
        """Sentences on numbers that do not matter, or that the fluid model does not have."""
        return [number.note for number in self.numbers if number.note]

    def objective_value(self, evaluated: EvaluatedNetwork) -> float:
        """Mean over packet runs of the objective's value, such as Jain's index or a delay in s.

        The mean of a ratio is geometric.
        """
        if isinstance(self.objective, ShareRatio):
            return evaluated.packets.ratio
        packets, network = evaluated.packets, evaluated.network
        ones = np.ones(sum(network.counts))
        runs = rates_of_runs(packets, ones, network.fair_share())
        return float(np.mean([self.objective.value(rates) for rates in runs]))

    def as_json(self) -> dict[str, Any]:
        """The JSON output of `recommend` for numbers of a network: plain numbers and texts.

        Returns:
            `tuned` (class), `goal`, `goal_value` (`before` and `after`), `limits` (only with
            constraints), `reached`, `reason`; `parameters`, the tuned numbers by name, `notes` on
            them; `recommended` and `before`, values by name; means after the warm-up in `fluid` and
            `packets`, and those with the given values in `before`; `settings` (empty) and
            `settings_missing` by system; `assumed`, `warnings`, `disagreements`; `seconds` of wall
            time. Units end the keys.
        """
        before = self.before.vegas_json(self.tuned)
        limits = {one.quantity: one.bound for one in self.constraints.each}
        return {
            "tuned": self.tuned,
            "goal": {self.objective.key: self.objective.target},
            **({"limits": limits} if limits else {}),
            "goal_value": {
                "before": self.objective_value(self.before),
                "after": self.objective_value(self.after),
            },
            "reached": self.reached,
            "reason": self.reason or None,
            "assumed": self.network.assumptions(),
            "warnings": self.warnings,
            "disagreements": self.disagreements,
            "notes": self.notes,
            "parameters": {number.name: number.as_json() for number in self.numbers},
            "recommended": self.after.vegas_json(self.tuned)
            | {number.name: number.value for number in self.numbers},
            "before": {
                "alpha_packets": before["alpha_packets"],
                "beta_packets": before["beta_packets"],
                **{number.name: number.before for number in self.numbers},
                **self.before.as_json(),
            },
            **self.after.as_json(),
            "settings": {},
            "settings_missing": dict.fromkeys(SYSTEMS, NO_SETTINGS),
            "seconds": self.seconds,
        }


def finite_or_none(value: float) -> float | None:
    """The number, or None where it is NaN or infinite."""
    return float(value) if math.isfinite(value) else None

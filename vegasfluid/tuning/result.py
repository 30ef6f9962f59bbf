"""Results of `recommend`: parameters, means of both simulators, and the JSON output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.disagreement import RunMeans, compare
from vegasfluid.network import Network
from vegasfluid.ranges import Range
from vegasfluid.tuning.constraints import Constraints
from vegasfluid.tuning.measurement import Measurement, warnings_of
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.result_rows import NotebookTable
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.scenarios import Scenario
from vegasfluid.tuning.slow_start import SlowStart
from vegasfluid.tuning.space_mapping import objective_values

__all__ = ["Evaluation", "JointRecommendation", "Recommendation", "RobustRecommendation"]
__all__ += ["Robustness", "ScenarioResult", "red_numbers"]

FLUID_KEYS = (
    "ratio",
    "jain_index",
    "utilisation",
    "queue_packets",
    "queueing_delay_s",
    "drop_share",
)
"""Numbers of a fluid run in the JSON output."""
CLASS_KEYS = (
    *("reached", "reason", "recommended", "before", "fluid", "packets"),
    *("fluid_alpha_packets", "settings", "settings_missing", "disagreements", "start"),
)
"""Keys of the JSON output that differ between several tuned classes; `start` with gamma only."""


@dataclass(frozen=True)
class Evaluation:
    """Vegas parameters of the tuned class, and means of both simulators with them.

    Args:
        law: the parameters.
        fluid: means of the fluid run after the warm-up by JSON name, such as `queueing_delay_s`.
        packets: packet runs, one for each seed, means after the warm-up.
    """

    law: Vegas
    fluid: dict[str, float]
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """The blocks `fluid` and `packets` of the JSON output: means after the warm-up.

        Returns:
            For each simulator `ratio` (goodput of a tuned flow over another's), `jain_index`,
            `utilisation`, `queue_packets`, `queueing_delay_s`, `drop_share`; for packets also
            `ratio_ci95`, `retransmit_share` and the number of `runs`.
        """
        low, high = self.packets.interval
        means = self.packets.means()
        packets = {"ratio": means.pop("ratio"), "ratio_ci95": [low, high], **means}
        packets["runs"] = len(self.packets.runs)
        return {"fluid": {key: self.fluid[key] for key in FLUID_KEYS}, "packets": packets}

    def disagreements(self, network: Network, tuned: str) -> list[str]:
        """Sentences on where fluid model and packet simulator disagree; empty if they agree.

        Goodput ratios differ by over 25 %, mean queues by over 50 %, or `tuned` starves in one.

        Args:
            network: with these parameters.
            tuned: name of the class that has them.
        """
        path = " and ".join(network.path_of(tuned))
        pair = (
            RunMeans({tuned: numbers["ratio"]}, {path: numbers["queue_packets"]})
            for numbers in (self.fluid, self.packets.means())
        )
        return compare(network, *pair)


@dataclass(frozen=True)
class Recommendation(NotebookTable):
    """Recommended parameters for one class of Vegas flows.

    Args:
        network: the network with the recommended parameters.
        tuned: the class they are for.
        objective: what was asked for.
        constraints: the bounds of the search; with `queue_tuned` also one on the utilisation.
        queue_tuned: whether RED's parameters were tuned, too.
        reached: whether the packet simulator confirms the objective, within the constraints.
        reason: why not, if not reached; otherwise a remark, or empty.
        before: the parameters that were given, evaluated.
        after: the recommended ones, evaluated.
        optimum: the best alpha of the fluid model alone.
        settings: alpha, beta and gamma (packets) with the same equilibrium backlog, by system.
        settings_missing: why there are none, by the name of each other system.
        start: effect of another gamma on slow start; None if gamma was not tuned.
        others: the classes that the tuned one is compared with; empty: all other classes.
        seconds: wall time, s, by `total`, `fluid` (model) and `packets` (simulator).
    """

    network: Network
    tuned: str
    objective: Objective
    constraints: Constraints
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
        """The recommended evaluation, and the given one if only this class's parameters differ."""
        return (self.after,) if self.queue_tuned or self.others else (self.after, self.before)

    @property
    def warnings(self) -> list[str]:
        """Sentences on unusual parts of the network, and on packet runs that are all equal."""
        return warnings_of(self.network, self.after.packets)

    @property
    def disagreements(self) -> list[str]:
        """Sentences on where fluid and packets disagree, with recommended and given parameters."""
        before, after = (
            evaluation.disagreements(self.network, self.tuned)
            for evaluation in (self.before, self.after)
        )
        new = [f"{one[0].lower()}{one[1:]}" for one in before if one not in after]
        return [*after, *(f"With the original parameters, {sentence}" for sentence in new)]

    @property
    def ratio(self) -> float:
        """The target ratio of goodputs; 1 if the objective is another one."""
        return self.objective.ratio if isinstance(self.objective, ShareRatio) else 1.0

    def as_json(self) -> dict[str, Any]:
        """The JSON output of `recommend` for one class: plain numbers and texts.

        Returns:
            `tuned` (class), `goal`, `reached`, `reason`; `recommended` parameters, and the means
            after the warm-up with them in `fluid` and `packets`; `before`, the given parameters and
            their means; `fluid_alpha_packets`, the best alpha of the fluid model; `settings` and
            `settings_missing` by system; `assumed`, `warnings`, `disagreements`; `seconds` of wall
            time. If requested `start`, `limits`, `goal_value`. Units end the keys.
        """
        law = self.after.law
        return {
            "tuned": self.tuned,
            "goal": {self.objective.key: self.objective.target},
            **self._optional_blocks(),
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

    def _optional_blocks(self) -> dict[str, Any]:
        """JSON blocks that not every result has: `start` (slow start), `limits`, `goal_value`."""
        blocks: dict[str, Any] = {} if self.start is None else {"start": self.start.as_json()}
        if self.constraints.each:
            blocks["limits"] = {one.quantity: one.bound for one in self.constraints.each}
        if not isinstance(self.objective, ShareRatio):
            blocks["goal_value"] = {
                "before": self.objective_value(self.before.packets),
                "after": self.objective_value(self.after.packets),
            }
        return blocks

    @property
    def queue(self) -> dict[str, float]:
        """RED's thresholds (packets) and max_drop by JSON name, if they were tuned; else empty."""
        return red_numbers(self.network) if self.queue_tuned else {}

    def objective_value(self, packets: Measurement) -> float:
        """Mean of the objective over the packet runs of a setting; s for a delay, else no unit."""
        values = objective_values(self.objective, packets, self.network, (self.tuned,))
        return float(np.mean(values))


def red_numbers(network: Network) -> dict[str, float]:
    """RED's `min_thresh_packets`, `max_thresh_packets` and `max_drop` of a one-link network."""
    red = cast(Red, network.link.aqm)
    return {
        "min_thresh_packets": float(red.min_thresh),
        "max_thresh_packets": float(red.max_thresh),
        "max_drop": float(red.max_drop),
    }


@dataclass(frozen=True)
class JointRecommendation(NotebookTable):
    """Recommended parameters for several classes of Vegas flows.

    Args:
        parts: a recommendation for each class, by its name. All are of the same network and runs;
            the ratio of each is that of its flows to the flows of classes that are not tuned.
    """

    parts: Mapping[str, Recommendation]

    @property
    def first(self) -> Recommendation:
        """Recommendation for the first class; all classes have its network, runs and objective."""
        return next(iter(self.parts.values()))

    @property
    def network(self) -> Network:
        """The network with all recommended parameters."""
        return self.first.network

    @property
    def reached(self) -> bool:
        """Whether packets confirm the objective for every class."""
        return all(part.reached for part in self.parts.values())

    @property
    def reason(self) -> str:
        """Why the objective is not reached, with the class where there are several reasons."""
        reasons = {part.reason for part in self.parts.values() if part.reason}
        if len(reasons) == 1 and not isinstance(self.first.objective, ShareRatio):
            return reasons.pop()
        pairs = self.parts.items()
        return "; ".join(f"{name}: {part.reason}" for name, part in pairs if part.reason)

    def as_json(self) -> dict[str, Any]:
        """JSON output of the first class, `reached` and `reason` of all, and `classes` by name."""
        documents = {name: part.as_json() for name, part in self.parts.items()}
        classes = {
            name: {key: document[key] for key in CLASS_KEYS if key in document}
            for name, document in documents.items()
        }
        whole = {"reached": self.reached, "reason": self.reason or None}
        return documents[next(iter(documents))] | whole | {"classes": classes}


@dataclass(frozen=True)
class ScenarioResult:
    """Goodput ratios of one scenario with some Vegas parameters.

    Args:
        scenario: the network.
        fluid_ratio: goodput ratio after the warm-up on the fluid model, with the usual dead band.
        packets: packet runs, one for each seed, means after the warm-up.
    """

    scenario: Scenario
    fluid_ratio: float
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """JSON: `kind`, `numbers`, `fluid_ratio`, and of packets `ratio`, `ratio_ci95`, `runs`."""
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
        """Measured ratio and uncertain numbers in words, such as `0.9 at reno.base_rtt_ms 40`."""
        return f"{self.packets.ratio:.3g} at {self.scenario.text}"


@dataclass(frozen=True)
class Robustness:
    """Ratios of robust parameters over ranges, beside those of the nominal network's best.

    Args:
        target_ratio: the ratio that was asked for.
        ranges: ranges of the uncertain numbers by name, in the unit that ends the name.
        scenarios: all measured scenarios, with the recommended parameters.
        highest: the scenario, of those measured with all runs, where the tuned flows get most.
        lowest: the scenario, of those measured with all runs, where the tuned flows get least.
        nominal: the nominal network with the recommended parameters.
        nominal_optimum: the nominal network with the parameters that are best there alone.
        nominal_highest: the scenario where tuned flows get most with the law of `nominal_optimum`.
        nominal_lowest: the scenario where tuned flows get least with the law of `nominal_optimum`.
        regret: worst-case regret, on packets: largest |log(ratio / target)| of a scenario minus the
            least one that any alpha gives there.
        nominal_regret: worst-case regret on packets with the law of `nominal_optimum`.
        fluid_regret: worst-case regret of the recommended parameters on the fluid model.
    """

    target_ratio: float
    ranges: Mapping[str, Range]
    scenarios: tuple[ScenarioResult, ...]
    highest: ScenarioResult
    lowest: ScenarioResult
    nominal: ScenarioResult
    nominal_optimum: Evaluation
    nominal_highest: ScenarioResult
    nominal_lowest: ScenarioResult
    regret: float
    nominal_regret: float
    fluid_regret: float

    def distance(self, packets: Measurement) -> float:
        """Distance of packet runs' goodput ratio from the target: |log(ratio / target)|."""
        return abs(math.log(packets.ratio / self.target_ratio))

    @property
    def worst(self) -> float:
        """Largest |log(ratio / target)| in `highest` and `lowest`, with recommended parameters."""
        return max(self.distance(self.highest.packets), self.distance(self.lowest.packets))

    @property
    def nominal_worst(self) -> float:
        """Largest |log(ratio / target)| in `nominal_highest` and `nominal_lowest`."""
        extremes = (self.nominal_highest, self.nominal_lowest)
        return max(self.distance(result.packets) for result in extremes)

    @property
    def price(self) -> float:
        """|log(ratio / target)| at the nominal network, robust minus nominal parameters."""
        return self.distance(self.nominal.packets) - self.distance(self.nominal_optimum.packets)

    def as_json(self) -> dict[str, Any]:
        """The block `robust` of the JSON output: ratios by scenario, worst cases and regrets.

        Returns:
            `ranges`, `scenarios`, `worst`, `nominal`, `nominal_only` (with the parameters best at
            the nominal network), `price` and `fluid_regret_log_ratio`; `factor` is exp(|log(ratio /
            target)|).
        """
        law = self.nominal_optimum.law
        return {
            "ranges": {name: given.parameters() for name, given in self.ranges.items()},
            "scenarios": [result.as_json() for result in self.scenarios],
            "worst": {
                "highest": self.highest.as_json(),
                "lowest": self.lowest.as_json(),
                "factor": math.exp(self.worst),
                "regret_log_ratio": self.regret,
            },
            "nominal": self.nominal.as_json(),
            "nominal_only": {
                "alpha_packets": law.alpha,
                "beta_packets": law.beta,
                **self.nominal_optimum.as_json(),
                "worst": {
                    "highest": self.nominal_highest.as_json(),
                    "lowest": self.nominal_lowest.as_json(),
                    "factor": math.exp(self.nominal_worst),
                    "regret_log_ratio": self.nominal_regret,
                },
            },
            "price": {"log_ratio": self.price, "factor": math.exp(self.price)},
            "fluid_regret_log_ratio": self.fluid_regret,
        }


@dataclass(frozen=True)
class RobustRecommendation(Recommendation):
    """Parameters for uncertain numbers; `before` and `after` are at the nominal network."""

    robust: Robustness
    """Ratios over the ranges of the uncertain numbers."""

    def as_json(self) -> dict[str, Any]:
        """The JSON output of a `Recommendation`, and a block `robust`."""
        return super().as_json() | {"robust": self.robust.as_json()}

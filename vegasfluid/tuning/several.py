"""Several classes of Vegas flows at once: each gets its share beside the flows that none tunes.

All alphas (and RED's numbers) are found together, on the fluid model and then on packets
(`pursuit`); last, one class after the other has the correction of a single one, until none moves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Unpack

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.optimise import ended, search_together
from vegasfluid.tuning.parameters import tuned_parameters
from vegasfluid.tuning.recommend import (
    as_busy,
    concluded,
    make_evaluator,
    tunable_class,
    vegas_classes,
)
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.slow_start import SlowStart, tune_gamma_of

__all__ = ["JointRecommendation", "recommend_several"]

Before = dict[str, dict[str, float]]
"""The fluid's numbers for each class with the parameters that were given."""


@dataclass(frozen=True)
class JointRecommendation:
    """Recommended parameters for several classes of Vegas flows.

    Args:
        parts: each class's own, by its name. All are of the same network and the same runs; the
            ratio of each is that of its flows to the flows of classes that are not tuned.
    """

    parts: Mapping[str, Recommendation]

    @property
    def first(self) -> Recommendation:
        """What is the same for all can be read off any of them."""
        return next(iter(self.parts.values()))

    @property
    def network(self) -> Network:
        """The network with all recommended parameters."""
        return self.first.network

    @property
    def reached(self) -> bool:
        """Whether every class is there."""
        return all(part.reached for part in self.parts.values())

    @property
    def reason(self) -> str:
        """If not, why; of which class."""
        reasons = {part.reason for part in self.parts.values() if part.reason}
        if len(reasons) == 1 and not isinstance(self.first.goal, ShareRatio):
            return reasons.pop()
        return "; ".join(f"{name}: {of.reason}" for name, of in self.parts.items() if of.reason)

    def as_json(self) -> dict[str, Any]:
        """The first class's result by the usual names, and each class's own below `classes`."""
        own = ("reached", "reason", "recommended", "before", "fluid", "packets")
        own += ("fluid_alpha_packets", "settings", "settings_missing")
        documents = {name: part.as_json() for name, part in self.parts.items()}
        classes = {name: {key: of[key] for key in own} for name, of in documents.items()}
        whole = {"reached": self.reached, "reason": self.reason or None}
        return documents[next(iter(documents))] | whole | {"classes": classes}


def recommend_several(
    network: Network,
    tune: Sequence[str] = (),
    *,
    ratio: float = 1.0,
    goal: Objective | None = None,
    limits: Constraints = NO_CONSTRAINTS,
    tune_queue: bool = False,
    tune_gamma: bool = False,
    **trial: Unpack[RunSettings],
) -> JointRecommendation:
    """Find the parameters of several Vegas classes at once.

    Args:
        network: classes of Vegas flows and at least one class that is not tuned.
        tune: the classes to tune; none: all Vegas classes.
        ratio: goodput of a flow of each tuned class over that of a flow of the classes that are
            not tuned.
        goal: another goal than this ratio.
        limits: what must be kept to, whatever the goal.
        tune_queue: whether RED's numbers are tuned, too, as `recommend` does it.
        tune_gamma: whether gamma is tuned, too, for one class after the other.
        trial: how long and how often each setting is run, see `RunSettings`.

    Returns:
        The parameters of each class, and what both simulators say of them.

    Raises:
        InvalidInput, SolveFailed: as `recommend`.
    """
    begin = time.perf_counter()
    goal = ShareRatio(ratio) if goal is None else goal
    aimed = goal.ratio if isinstance(goal, ShareRatio) else 1.0
    names = tuple(dict.fromkeys(tune)) or tuple(vegas_classes(network))
    jobs = sharing(
        [make_evaluator(network, tunable_class(network, of), aimed, trial) for of in names]
    )
    tuned_parameters(network, {job.tuned: job.zone for job in jobs}, tune_queue)
    before, limits = look(jobs, limits, tune_queue)
    searched = search_together(jobs, goal, limits, tune_queue)
    found = ended(jobs, goal, limits, searched)
    network, starts = found[0].network, dict[str, SlowStart]()
    for job in jobs if tune_gamma else []:
        network, starts[job.tuned] = tune_gamma_of(job, network)
    parts = {
        job.tuned: concluded(
            job, of._replace(network=network), before[job.tuned], goal, limits, tune_queue,
            starts.get(job.tuned),
        )
        for job, of in zip(jobs, found, strict=True)
    }  # fmt: skip
    jobs[0].seconds["total"] = time.perf_counter() - begin
    return JointRecommendation(parts)


def sharing(made: Sequence[Evaluator]) -> list[Evaluator]:
    """The jobs, comparing with what none tunes, and knowing what was measured and how long it took.

    Raises:
        InvalidInput: where there are none, or all classes are tuned.
    """
    if not made:
        allowed = "vegas for one class at least, to have one to tune"
        raise InvalidInput("recommend", "the law of classes", allowed, "none")
    lead, names = made[0], [job.tuned for job in made]
    others = tuple(name for name in lead.network.flows if name not in names)
    if not others:
        allowed = "some of the classes, so that there is another to compare with"
        raise InvalidInput("recommend", "tune", allowed, ", ".join(names))
    same = {"others": others, "measured": lead.measured, "seconds": lead.seconds, "ran": lead.ran}
    return [replace(job, **same) for job in made]


def look(
    jobs: Sequence[Evaluator], limits: Constraints, tune_queue: bool
) -> tuple[Before, Constraints]:
    """What is there, by both simulators, and what follows from it for the search."""
    network = jobs[0].network
    with ThreadPoolExecutor(1) as aside:  # one engine compiles while the other runs
        packets = aside.submit(jobs[0].evaluate_packets, network)
        before = {job.tuned: job.evaluate_fluid(network) for job in jobs}
        for job in jobs:
            job.widen_zone(before[job.tuned]["queueing_delay_s"])
        return before, as_busy(limits, packets.result()) if tune_queue else limits

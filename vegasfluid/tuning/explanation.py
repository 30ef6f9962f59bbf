"""Why a recommendation is what it is, and what other parameters would have done.

The reasons are theory's (`reasons`); the rules of the literature (`heuristics`) and the defaults
are judged by the packet simulator, for every network.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Unpack

from vegasfluid.analysis.closed_forms import fair_backlog
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Network
from vegasfluid.tuning.measurement import Measurement, measure
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.rules_of_thumb import RULES, rules_of_thumb
from vegasfluid.tuning.settings import RunSettings, checked
from vegasfluid.tuning.theory import EquilibriumTheory, reasons

__all__ = ["Explanation", "MeasuredSetting", "explain"]

NO_RED, NO_QUEUE = "the queue law is not RED", "there is no single queue"
SHOWN = ("jain_index", "utilisation", "queue_packets", "queueing_delay_s", "drop_share")


@dataclass(frozen=True)
class MeasuredSetting:
    """Parameters, and what the packet simulator says of them.

    Args:
        law: the parameters.
        packets: the packet simulator's numbers.
    """

    law: Vegas
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """Numbers by the names of the command's output."""
        means = self.packets.means()
        return {
            "alpha_packets": self.law.alpha,
            "beta_packets": self.law.beta,
            "ratio": means["ratio"],
            "ratio_ci95": list(self.packets.interval),
            **{name: means[name] for name in SHOWN},
            "runs": len(self.packets.runs),
        }


@dataclass(frozen=True)
class Explanation:
    """Why alpha is what it is, and what else there was.

    Args:
        reasons: theory's; None where it is silent.
        silent: why it is; empty where it is not.
        recommended: the recommended parameters.
        heuristics: what the rules of the literature say, by their names (`heuristics.RULES`).
        defaults: the defaults of the dialect.
        drop_tail_backlog: with which one Vegas flow has half of a drop-tail link beside one Reno
            flow, packets (`analysis.closed_forms.fair_backlog`); None for other networks.
    """

    reasons: EquilibriumTheory | None
    silent: str
    recommended: MeasuredSetting
    heuristics: dict[str, MeasuredSetting]
    defaults: MeasuredSetting
    drop_tail_backlog: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and texts, the block "explanation" of the command's output."""
        return {
            **theory_as_json(self.reasons),
            "theory_missing": self.silent or None,
            "drop_tail_fair_backlog_packets": self.drop_tail_backlog,
            "heuristics": {name: of.as_json() for name, of in self.heuristics.items()},
            "heuristics_missing": {
                name: NO_RED if self.heuristics else NO_QUEUE
                for name in RULES
                if name not in self.heuristics
            },
            "defaults": self.defaults.as_json(),
        }


def theory_as_json(of: EquilibriumTheory | None) -> dict[str, Any]:
    """The keys that theory has; null where it is silent."""
    verdict = None if of is None else of.stability
    sat = None if of is None else of.saturation
    return {
        "regime": of and of.regime,
        "rest_alpha_packets": of and of.alpha,
        "rest_ratio": of and of.ratio,
        "goal_at_rest_missing": (of and of.missed) or None,
        "climbing_share": of and of.climbing,
        "window_per_alpha": of and of.grip,
        "ratio_per_alpha": of and of.slope,
        "terms_packets": of and of.terms,
        "sensitivities": of and of.sensitivities,
        "saturation_alpha_packets": sat,
        "saturation_over_alpha": sat / of.alpha if of and sat else None,
        "largest_ratio": of and of.largest_ratio,
        "stable": verdict and verdict.stable,
        "gain_margin": verdict and verdict.gain_margin,
        "delay_margin_s": verdict and verdict.delay_margin,
        "stability_missing": (of and of.untold) or None,
    }


def explain(found: Recommendation, **trial: Unpack[RunSettings]) -> Explanation:
    """Say why a recommendation is what it is, and what other parameters would have done.

    Args:
        found: the recommendation.
        trial: how long and how often each rule is run, see `RunSettings`.

    Raises:
        InvalidInput: for times that make no sense, or too few runs.
    """
    until, warmup, seeds, report = checked(trial, "explain")
    network, tuned = found.network, found.tuned
    known = {of.law: MeasuredSetting(of.law, of.packets) for of in found.comparable}

    def tried(law: Vegas) -> MeasuredSetting:
        if law not in known:
            report(f"explain: alpha {law.alpha:.4g}, beta {law.beta:.4g} on packets")
            changed = network.with_law(tuned, law)
            span = {"until": until, "warmup": warmup}
            measured = measure(changed, tuned, seeds, **span, others=found.others)
            known[law] = MeasuredSetting(law, measured)
        return known[law]

    own = found.after.law
    defaults = replace(own, alpha=None, beta=None)
    with ThreadPoolExecutor(1) as aside:  # equations are compiled while packets run
        theory = aside.submit(attempt, found)
        heuristics = {of: tried(law) for of, law in rules_of_thumb(network, tuned).items()}
        default = tried(defaults)
        report("explain: theory")
        why, silent = theory.result()
    return Explanation(
        why, silent, known[own], heuristics, default, drop_tail_backlog(network, tuned)
    )


def attempt(found: Recommendation) -> tuple[EquilibriumTheory | None, str]:
    """The reasons, or why there are none."""
    try:
        return reasons(found), ""
    except (InvalidInput, SolveFailed) as refused:
        return None, str(refused)


def drop_tail_backlog(network: Network, tuned: str) -> float | None:
    """The fair backlog of one Vegas beside one Reno flow at a full buffer, for such a network."""
    others = [flows for name, flows in network.flows.items() if name != tuned]
    pair = network.flows[tuned].count == 1 and [flows.count for flows in others] == [1]
    reno = all(isinstance(flows.law, Reno) for flows in others)
    if not (pair and reno) or network.two_way or len(network.links) > 1:
        return None
    link = network.link
    if not isinstance(link.aqm, DropTail):
        return None
    return fair_backlog(float(link.buffer), float(link.capacity), network.mean_base_rtt(tuned))

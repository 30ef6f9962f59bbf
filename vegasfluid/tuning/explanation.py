"""Why a recommendation is what it is, and what other parameters would have done.

The reasons are those of the equilibrium (`theory`); the rules of thumb of the literature and the
default parameters are measured on packets, for every network.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Unpack

from vegasfluid.analysis.closed_forms import fair_backlog
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Network
from vegasfluid.tuning.measurement import Measurement, measure
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.rules_of_thumb import RULES, rules_of_thumb
from vegasfluid.tuning.settings import RunSettings, resolve_settings
from vegasfluid.tuning.theory import EquilibriumTheory, explain_by_equilibrium

__all__ = ["Explanation", "MeasuredSetting", "explain"]

NO_RED = "the queue discipline is not RED"
"""Why a rule of thumb is missing on one link."""
NO_QUEUE = "there is no single queue"
"""Why all rules of thumb are missing over several links."""
REPORTED = ("jain_index", "utilisation", "queue_packets", "queueing_delay_s", "drop_share")
"""Numbers of a measured setting in the JSON output, besides the ratio."""


@dataclass(frozen=True)
class MeasuredSetting:
    """Vegas parameters of the tuned class, and the packet runs with them.

    Args:
        law: Vegas with alpha, beta and gamma, packets.
        packets: packet runs, one for each seed, means after the warm-up.
    """

    law: Vegas
    packets: Measurement

    def as_json(self) -> dict[str, Any]:
        """The setting for JSON: `alpha_packets`, `beta_packets`, and means over the packet runs.

        The means are the goodput ratio (`ratio`, with its 95 % interval), Jain's index,
        utilisation, queue (packets), queueing delay (s) and the fraction of packets dropped
        (`drop_share`); `runs` is the number of runs.
        """
        means = self.packets.means()
        return {
            "alpha_packets": self.law.alpha,
            "beta_packets": self.law.beta,
            "ratio": means["ratio"],
            "ratio_ci95": list(self.packets.interval),
            **{name: means[name] for name in REPORTED},
            "runs": len(self.packets.runs),
        }


@dataclass(frozen=True)
class Explanation:
    """Why alpha is what it is, and what other parameters would have done.

    Args:
        theory: reasons from the equilibrium; None where there is none.
        theory_missing: why there is none; empty where there is one.
        recommended: packet runs with the recommended parameters.
        rules: packet runs with the parameters of each rule of thumb that applies, by its name in
            `rules_of_thumb.RULES`.
        defaults: packet runs with the default parameters of the dialect.
        drop_tail_backlog: backlog, packets, with which a Vegas flow has half of a drop-tail link
            that it shares with a Reno flow (`analysis.closed_forms.fair_backlog`); None for other
            networks.
    """

    theory: EquilibriumTheory | None
    theory_missing: str
    recommended: MeasuredSetting
    rules: dict[str, MeasuredSetting]
    defaults: MeasuredSetting
    drop_tail_backlog: float | None

    def as_json(self) -> dict[str, Any]:
        """Block `explanation` of the JSON output: theory, and packet runs with other parameters.

        Returns:
            Regime, alpha, ratio and stability in equilibrium by the keys of `theory_as_json`, all
            null without theory; `theory_missing`, the reason for that, or null;
            `drop_tail_fair_backlog_packets` (null for other networks); `rules_of_thumb` and
            `defaults`, packet runs with the parameters of each rule by its name, and with those of
            the dialect; `rules_of_thumb_missing`, the reason by the name of a rule without runs.
        """
        return {
            **theory_as_json(self.theory),
            "theory_missing": self.theory_missing or None,
            "drop_tail_fair_backlog_packets": self.drop_tail_backlog,
            "rules_of_thumb": {name: setting.as_json() for name, setting in self.rules.items()},
            "rules_of_thumb_missing": {
                name: NO_RED if self.rules else NO_QUEUE for name in RULES if name not in self.rules
            },
            "defaults": self.defaults.as_json(),
        }


def theory_as_json(theory: EquilibriumTheory | None) -> dict[str, Any]:
    """JSON values of the equilibrium theory of alpha; all are null where there is no theory.

    Args:
        theory: the reasons from the equilibrium, or None.

    Returns:
        `regime`; `equilibrium_alpha_packets`, `equilibrium_ratio` and
        `equilibrium_alpha_missing` (why no alpha reaches the target, or null);
        `recovering_fraction`, `window_elasticity` and `ratio_elasticity`; `terms_packets` (by name)
        and `elasticities` (by quantity) of alpha; `saturation_alpha_packets`,
        `saturation_over_alpha` and `largest_ratio`; `stable`, `gain_margin`, `delay_margin_s` and
        `stability_missing` (why the stability is unknown, or null).
    """
    stability = theory and theory.stability
    saturation = theory and theory.saturation_alpha
    return {
        "regime": theory and theory.regime,
        "equilibrium_alpha_packets": theory and theory.alpha,
        "equilibrium_ratio": theory and theory.ratio,
        "equilibrium_alpha_missing": (theory and theory.target_missed) or None,
        "recovering_fraction": theory and theory.recovering_fraction,
        "window_elasticity": theory and theory.window_elasticity,
        "ratio_elasticity": theory and theory.ratio_elasticity,
        "terms_packets": theory and theory.terms,
        "elasticities": theory and theory.elasticities,
        "saturation_alpha_packets": saturation,
        "saturation_over_alpha": saturation / theory.alpha if theory and saturation else None,
        "largest_ratio": theory and theory.largest_ratio,
        "stable": stability and stability.stable,
        "gain_margin": stability and stability.gain_margin,
        "delay_margin_s": stability and stability.delay_margin,
        "stability_missing": (theory and theory.stability_missing) or None,
    }


def explain(recommendation: Recommendation, **settings: Unpack[RunSettings]) -> Explanation:
    """Explain a recommended alpha by the equilibrium, and measure other parameters beside it.

    Args:
        recommendation: result of `recommend` for one class.
        settings: `until` and `warmup` (s), `runs`, `seed` and `report` of the packet runs with each
            other setting, see `RunSettings`.

    Returns:
        Theory of the equilibrium (or why there is none), and packet runs with the recommended
        parameters, those of each rule of thumb, and the dialect's defaults.

    Raises:
        InvalidInput: for inconsistent times, or fewer than two runs.
    """
    until, warmup, seeds, report = resolve_settings(settings, "explain")
    network, tuned = recommendation.network, recommendation.tuned
    known = {one.law: MeasuredSetting(one.law, one.packets) for one in recommendation.comparable}

    def measured(law: Vegas) -> MeasuredSetting:
        """Packet runs of the recommended network with `law` for the tuned class; cached."""
        if law not in known:
            report(f"explain: packet runs with alpha {law.alpha:.4g}, beta {law.beta:.4g}")
            changed = network.with_law(tuned, law)
            times = {"until": until, "warmup": warmup}
            packets = measure(changed, tuned, seeds, **times, others=recommendation.others)
            known[law] = MeasuredSetting(law, packets)
        return known[law]

    recommended = recommendation.after.law
    with ThreadPoolExecutor(1) as background:  # equations are compiled while packets run
        theory = background.submit(explain_or_reason, recommendation)
        rules = {name: measured(law) for name, law in rules_of_thumb(network, tuned).items()}
        defaults = measured(replace(recommended, alpha=None, beta=None))
        report("explain: theory")
        equilibrium, missing = theory.result()
    backlog = drop_tail_backlog(network, tuned)
    return Explanation(equilibrium, missing, known[recommended], rules, defaults, backlog)


def explain_or_reason(recommendation: Recommendation) -> tuple[EquilibriumTheory | None, str]:
    """The theory of the equilibrium and an empty text, or None and why there is none."""
    try:
        return explain_by_equilibrium(recommendation), ""
    except (InvalidInput, SolveFailed) as error:
        return None, str(error)


def drop_tail_backlog(network: Network, tuned: str) -> float | None:
    """Backlog (packets) with which one Vegas flow gets as much of a link as one Reno flow.

    A closed form of buffer, capacity and the Vegas class's mean base RTT. None unless the network
    is one one-way drop-tail link with exactly these two flows (`tuned` is the Vegas class).
    """
    others = [flows for name, flows in network.flows.items() if name != tuned]
    pair = network.flows[tuned].count == 1 and [flows.count for flows in others] == [1]
    reno = all(isinstance(flows.law, Reno) for flows in others)
    if not (pair and reno) or network.two_way or len(network.links) > 1:
        return None
    link = network.link
    if not link.aqm.shares_full_buffer:
        return None
    return fair_backlog(float(link.buffer), float(link.capacity), network.mean_base_rtt(tuned))

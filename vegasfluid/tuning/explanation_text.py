"""Why a recommended alpha has its value, in sentences, for the terminal and for `explore`."""

from __future__ import annotations

import math

from vegasfluid.tuning.explanation import Explanation
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.rules_of_thumb import RULES
from vegasfluid.tuning.theory import EquilibriumTheory

__all__ = ["measured_lines", "term_rows", "theory_lines"]

TERMS = {
    "red_min": "RED_min per flow",
    "queue_above_red_min": "queue above RED_min, per flow",
    "target": "queue at the target, per flow",
    "queue_above_target": "queue above the target, per flow",
    "buffer": "full buffer per flow",
    "queue_above_buffer": "queue above the buffer, per flow",
    "estimate": "offset of Vegas's own estimate",
    "own_losses": "compensation for its own losses",
    "packets": "packet simulation minus theory",
}
"""Terms whose sum is alpha, with their names in the table."""
RULE_OF_TERM = {"red_min": " (rule RED_min / N)", "buffer": " (rule buffer / N)"}
"""Terms that are a rule of thumb by themselves if all flows get equal shares."""
OPTIONAL_TERMS = ("estimate", "queue_above_buffer", "queue_above_target")
"""Terms that are zero in most networks, and then not printed."""
PARAMETERS = {
    "flows": "flows",
    "capacity": "capacity",
    "base_rtt": "base RTT",
    "min_thresh": "RED_min",
    "max_thresh": "RED_max",
    "max_drop": "max_drop",
    "target": "target delay",
    "q_ref": "reference queue",
    "threshold": "threshold",
    "buffer": "buffer",
}
"""Names of the network's quantities in the sentence on elasticities; others have their own name."""
NEGLIGIBLE = 0.01
"""Smaller elasticities (per cent for 1 %) are listed without values, and smaller optional terms of
alpha (packets) are left out."""
LARGE_DIFFERENCE = 0.1
"""Difference between packets and theory, as a fraction of alpha, that is explained."""


def term_rows(result: Recommendation, why: EquilibriumTheory) -> list[tuple[str, float]]:
    """Terms whose sum is the recommended alpha: their names and sizes, packets.

    The terms in `OPTIONAL_TERMS` are left out where they are below 0.01 packets.
    """
    return [
        (label(result, why, name), packets)
        for name, packets in why.terms.items()
        if name not in OPTIONAL_TERMS or abs(packets) >= NEGLIGIBLE
    ]


def label(result: Recommendation, why: EquilibriumTheory, name: str) -> str:
    """Label of term `name` of alpha in the table, with the rule of thumb that it is, if any.

    A rule is only named where the target ratio is 1 and an alpha reaches it in equilibrium.
    """
    is_rule = result.ratio == 1 and not why.target_missed and name in RULE_OF_TERM
    return f"{TERMS[name]}{RULE_OF_TERM[name]}" if is_rule else TERMS[name]


def theory_lines(result: Recommendation, why: Explanation) -> list[str]:
    """Sentences on the equilibrium: alpha, regime, saturation, elasticities, stability.

    Without theory, one sentence gives the reason instead. For one Vegas and one Reno flow at a
    drop-tail queue, another sentence gives the backlog with which they share the link evenly.
    """
    theory = why.theory
    if theory is None:
        lines = [f"Theory does not apply here: {why.theory_missing}"]
    else:
        lines = [
            alpha_line(result, theory),
            regime_line(theory),
            saturation_line(result, theory),
            *([elasticities_line(theory)] if theory.elasticities else []),
            stability_line(theory),
        ]
    if why.drop_tail_backlog is not None:
        lines.append(
            f"In the sawtooth theory, one Vegas and one Reno flow share a full buffer evenly if "
            f"Vegas keeps {why.drop_tail_backlog:.4g} packets in it and loses none."
        )
    return lines


def measured_lines(result: Recommendation, why: Explanation) -> list[str]:
    """Sentences on the packet runs of the best rule of thumb, and of the default parameters."""
    return [best_rule_line(result, why), defaults_line(result, why)]


def alpha_line(result: Recommendation, why: EquilibriumTheory) -> str:
    """Sentence on the alpha (packets) at which the equilibrium has the target ratio."""
    if why.target_missed:
        return (
            f"The equilibrium model has no alpha for this goal: {why.target_missed}. The lines "
            f"below use the recommended alpha, which gives {why.ratio:.4g} there."
        )
    line = f"The equilibrium model predicts the target ratio at alpha = {why.alpha:.6g}."
    if abs(why.terms["packets"]) < LARGE_DIFFERENCE * why.alpha:
        return line
    return (
        f"{line} Packet simulation gives a different alpha, because the model ignores "
        f"oscillations, timeouts, bursts of losses, and base RTTs that are measured too high."
    )


def regime_line(why: EquilibriumTheory) -> str:
    """Sentences on what limits the windows: alpha or losses, and how much alpha changes them."""
    meaning = {
        "below saturation": "alpha limits the windows",
        "loss-dominated": "losses limit the windows more than alpha does",
        "plateau": "losses limit the windows, and alpha has almost no effect",
    }[why.regime]
    line = (
        f"Regime: {why.regime} ({meaning}). "
        f"A 1 % increase in alpha raises cwnd by {why.window_elasticity:.2f} %"
    )
    return (
        f"{line}."
        if why.ratio_elasticity is None
        else f"{line} and the ratio by {why.ratio_elasticity:.2f} %."
    )


def saturation_line(result: Recommendation, why: EquilibriumTheory) -> str:
    """Sentence on the alpha (packets) beyond which only losses limit the windows."""
    if why.saturation_alpha is None:
        return f"Flows of {result.tuned} have no losses, so alpha never saturates."
    largest = (
        "" if why.largest_ratio is None else f" The ratio cannot exceed {why.largest_ratio:.3g}."
    )
    factor = why.saturation_alpha / why.alpha
    distance = f"{factor:.2f} times this alpha" if factor > 1 else "below this alpha"
    return (
        f"Flows of {result.tuned} recover from losses in {100 * why.recovering_fraction:.3g} % of "
        f"their round trips. Beyond alpha = {why.saturation_alpha:.4g}, {distance}, only losses "
        f"limit their windows.{largest}"
    )


def elasticities_line(why: EquilibriumTheory) -> str:
    """Sentence on the change of alpha in per cent for 1 % more of each network parameter."""
    large = {name: x for name, x in why.elasticities.items() if abs(x) >= NEGLIGIBLE}
    small = [PARAMETERS.get(name, name) for name in why.elasticities if name not in large]
    order = sorted(large, key=lambda name: -abs(large[name]))
    changes = ", ".join(f"{PARAMETERS.get(name, name)} {large[name]:+.2f} %" for name in order)
    others = f"; less than {NEGLIGIBLE} %: {', '.join(small)}" if small else ""
    return f"Change of this alpha for 1 % more of each parameter: {changes}{others}."


def stability_line(why: EquilibriumTheory) -> str:
    """Sentence on whether the equilibrium is stable, its gain margin and delay margin (ms)."""
    stability = why.stability
    if stability is None:
        return f"The stability of the equilibrium is unknown: {why.stability_missing.rstrip('.')}."
    gain = stability.gain_margin
    if stability.stable:
        delay = stability.delay_margin
        margins = [] if gain is None else [f"gain margin {gain:.3g}"]
        margins += [] if delay is None else [f"delay margin {delay * 1e3:.3g} ms"]
        return f"The equilibrium is stable{': ' if margins else ''}{', '.join(margins)}."
    if gain is None or stability.hopf_frequency is None:
        return "The equilibrium is unstable: windows and queue oscillate."
    period = 2 * math.pi / stability.hopf_frequency
    return (
        f"The equilibrium is unstable: the queue oscillates. The gain margin is {gain:.2g}; with a "
        f"gain {1 / gain:.3g} times lower, at the stability boundary, the period is {period:.3g} s."
    )


def best_rule_line(result: Recommendation, why: Explanation) -> str:
    """Sentence on the rule of thumb whose measured ratio is closest to the target."""
    if not why.rules:
        return "No rule of thumb from the literature applies to this network."

    def distance(name: str) -> float:
        """|log(ratio / target)| that packet runs measure with rule `name`."""
        return abs(math.log(why.rules[name].packets.ratio / result.ratio))

    best = min(why.rules, key=distance)
    missing = [RULES[name] for name in RULES if name not in why.rules]
    without = f" ({', '.join(missing)} needs RED)" if missing else ""
    return (
        f"Among the rules of Weigle and Feng, {RULES[best]} is closest to the goal "
        f"{result.ratio:g}: ratio {why.rules[best].packets.ratio:.3f}{without}."
    )


def defaults_line(result: Recommendation, why: Explanation) -> str:
    """Sentence on a tuned flow's goodput ratio, and Jain's index, with default parameters."""
    law, means = why.defaults.law, why.defaults.packets.means()
    jain = why.recommended.packets.means()["jain_index"]
    return (
        f"With the defaults (alpha {law.alpha:g}, beta {law.beta:g}) a {result.tuned} flow gets "
        f"{means['ratio']:.3g} times the goodput of another flow. The Jain index is then "
        f"{means['jain_index']:.3f} instead of {jain:.3f}."
    )

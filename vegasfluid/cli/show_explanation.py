"""`vegasfluid recommend --explain`: why alpha has its value, in sentences and two tables."""

from __future__ import annotations

import math
from typing import Any

from vegasfluid.cli.output import console, table
from vegasfluid.tuning import Recommendation
from vegasfluid.tuning.explanation import Explanation, MeasuredSetting
from vegasfluid.tuning.rules_of_thumb import RULES
from vegasfluid.tuning.theory import EquilibriumTheory

__all__ = ["show_explanation"]

TERMS = {
    "red_min": "RED_min per flow",
    "queue_above_red_min": "queue above RED_min, per flow",
    "target": "queue at the target delay, per flow",
    "queue_above_target": "queue above the target delay, per flow",
    "buffer": "full buffer per flow",
    "queue_above_buffer": "queue above the buffer, per flow",
    "estimate": "offset of Vegas's own estimate",
    "own_losses": "compensation for its own losses",
    "packets": "difference between packets and theory",
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
    "buffer": "buffer",
}
"""Parameters of the sensitivities, with their names in the sentence."""
NEGLIGIBLE = 0.01
"""Sensitivities below this, in per cent, have no digits; smaller optional terms are left out."""
LARGE_DIFFERENCE = 0.1
"""Difference between packets and theory, as a fraction of alpha, that is worth a sentence."""


def show_explanation(result: Recommendation, why: Explanation) -> None:
    """Print why a recommended alpha is what it is, and what other settings measure."""
    out = console()
    out.print(f"\nWhy alpha = {result.after.law.alpha:.6g}\n", style="bold")
    if why.theory is None:
        out.print(f"Theory does not apply here: {why.theory_missing}")
    else:
        out.print(terms_table(result, why.theory))
        out.print()
        for line in theory_lines(result, why.theory):
            out.print(line)
    if why.drop_tail_backlog is not None:
        out.print(
            f"In the sawtooth theory, one Vegas and one Reno flow share a full buffer evenly if "
            f"Vegas keeps {why.drop_tail_backlog:.4g} packets in it and loses none."
        )
    out.print("\nPacket simulation of this and other rules:\n")
    out.print(rules_table(why))
    out.print(f"\n{best_rule_line(result, why)}")
    out.print(defaults_line(result, why))


def terms_table(result: Recommendation, why: EquilibriumTheory) -> Any:
    """Table of the terms whose sum is the recommended alpha, in packets."""
    rows = table("alpha is the sum of", "packets")
    for name, packets in why.terms.items():
        if name not in OPTIONAL_TERMS or abs(packets) >= NEGLIGIBLE:
            rows.add_row(label(result, why, name), f"{packets:+.2f}")
    rows.add_row("alpha", f"{result.after.law.alpha:.6g}")
    return rows


def label(result: Recommendation, why: EquilibriumTheory, name: str) -> str:
    """Label of term `name` of alpha in the table, with the rule of thumb that it is, if any."""
    is_rule = result.ratio == 1 and not why.target_missed and name in RULE_OF_TERM
    return f"{TERMS[name]}{RULE_OF_TERM[name]}" if is_rule else TERMS[name]


def theory_lines(result: Recommendation, why: EquilibriumTheory) -> list[str]:
    """Sentences on the equilibrium: alpha, regime, saturation, elasticities, stability."""
    lines = [alpha_line(result, why), regime_line(why), saturation_line(result, why)]
    if why.elasticities:
        lines.append(elasticities_line(why))
    return [*lines, stability_line(why)]


def alpha_line(result: Recommendation, why: EquilibriumTheory) -> str:
    """Sentence on the alpha (packets) at which the equilibrium has the target ratio."""
    if why.target_missed:
        return (
            f"The equilibrium model has no alpha for this goal: {why.target_missed}. The lines "
            f"below are for the recommended alpha, where its ratio is {why.ratio:.3g}."
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
        f"Regime: {why.regime}, {meaning}. "
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
    largest = "" if why.largest_ratio is None else f" The largest ratio is {why.largest_ratio:.3g}."
    factor = why.saturation_alpha / why.alpha
    distance = f"{factor:.2f} times this alpha" if factor > 1 else "below this alpha"
    return (
        f"Flows of {result.tuned} recover from losses in {100 * why.recovering_fraction:.3g} % of "
        f"their round trips. Alpha saturates at {why.saturation_alpha:.4g}, {distance}.{largest}"
    )


def elasticities_line(why: EquilibriumTheory) -> str:
    """Sentence on the change of alpha in per cent for 1 % more of each network parameter."""
    large = {name: x for name, x in why.elasticities.items() if abs(x) >= NEGLIGIBLE}
    small = [PARAMETERS[name] for name in why.elasticities if name not in large]
    order = sorted(large, key=lambda name: -abs(large[name]))
    changes = ", ".join(f"{PARAMETERS[name]} {large[name]:+.2f} %" for name in order)
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


def rules_table(why: Explanation) -> Any:
    """Table of packet runs with the recommended, rule-of-thumb and default parameters.

    Columns: alpha, beta (packets), goodput ratio and interval, Jain index, queueing delay (ms).
    """
    rows = table("rule", "alpha", "beta", "ratio", "95 % interval", "Jain", "delay, ms")
    rows.add_row("recommended", *measured_cells(why.recommended))
    for name, tried in why.rules.items():
        rows.add_row(RULES[name], *measured_cells(tried))
    rows.add_row("defaults", *measured_cells(why.defaults))
    return rows


def measured_cells(tried: MeasuredSetting) -> tuple[str, ...]:
    """Table cells of one setting's packet runs.

    Alpha, beta (packets), ratio, its 95 % interval, Jain index, queueing delay (ms).
    """
    means, (low, high) = tried.packets.means(), tried.packets.interval
    return (
        f"{tried.law.alpha:.6g}",
        f"{tried.law.beta:.6g}",
        f"{means['ratio']:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{means['jain_index']:.3f}",
        f"{means['queueing_delay_s'] * 1e3:.1f}",
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

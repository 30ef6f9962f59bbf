"""`vegasfluid recommend --explain`: why alpha is what it is, in sentences and two tables."""

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
    "red_min": "a flow's part of RED_min",
    "queue_above_red_min": "its part of the queue above RED_min",
    "buffer": "a flow's part of a full buffer",
    "queue_above_buffer": "its part of the queue above that",
    "estimate": "what its estimate counts besides",
    "own_losses": "to make up for its own losses",
    "packets": "what packets add to theory",
}
OVER_N = {"red_min": ", RED_min / N", "buffer": ", buffer / N"}
SKIPPED = ("estimate", "queue_above_buffer")
"""Terms that most networks do not have."""
NUMBERS = {
    "flows": "flows",
    "capacity": "capacity",
    "base_rtt": "base RTT",
    "min_thresh": "RED_min",
    "max_thresh": "RED_max",
    "max_drop": "max_drop",
    "buffer": "buffer",
}
LEAST = 0.01
"""A sensitivity below this, per cent, is not told in digits; nor a term that most do not have."""
MUCH = 0.1
"""Of alpha: packets that add more are worth a word."""


def show_explanation(found: Recommendation, why: Explanation) -> None:
    """The explanation in words and tables."""
    out = console()
    out.print(f"\nWhy alpha = {found.after.law.alpha:.6g}\n", style="bold")
    if why.theory is None:
        out.print(f"Theory is silent here: {why.theory_missing}")
    else:
        out.print(terms_table(found, why.theory))
        out.print()
        for line in theory_lines(found, why.theory):
            out.print(line)
    if why.drop_tail_backlog is not None:
        out.print(
            f"One Vegas and one Reno flow at a full buffer share it evenly where Vegas holds "
            f"{why.drop_tail_backlog:.4g} packets (theory of the sawtooth, Vegas without losses)."
        )
    out.print("\nOn packets, beside other rules:\n")
    out.print(tried_table(why))
    out.print(f"\n{rules_line(found, why)}")
    out.print(defaults_line(found, why))


def terms_table(found: Recommendation, why: EquilibriumTheory) -> Any:
    """What alpha is the sum of."""
    rows = table("alpha is made of", "packets")
    for name, packets in why.terms.items():
        if name not in SKIPPED or abs(packets) >= LEAST:
            rows.add_row(label(found, why, name), f"{packets:+.2f}")
    rows.add_row("alpha", f"{found.after.law.alpha:.6g}")
    return rows


def label(found: Recommendation, why: EquilibriumTheory, name: str) -> str:
    """A term in words; an equal part is the rule of thumb."""
    equal = found.ratio == 1 and not why.target_missed and name in ("red_min", "buffer")
    return f"{TERMS[name]}{OVER_N[name]}" if equal else TERMS[name]


def theory_lines(found: Recommendation, why: EquilibriumTheory) -> list[str]:
    """What rest says, a sentence or two a line."""
    lines = [place_line(found, why), regime_line(why), saturation_line(found, why)]
    if why.elasticities:
        lines.append(sensitivities_line(why))
    return [*lines, stability_line(why)]


def place_line(found: Recommendation, why: EquilibriumTheory) -> str:
    """For which alpha all this is told."""
    if not why.target_missed:
        line = f"Theory (rest, without packets) has the goal at alpha = {why.alpha:.6g}."
        if abs(why.terms["packets"]) < MUCH * why.alpha:
            return line
        return (
            f"{line} Packets are far from that: swings of the queue, timeouts, bursts of losses "
            f"and base RTTs taken at the start are not in it."
        )
    return (
        f"Theory (rest, without packets): {why.target_missed}. With the recommended alpha the "
        f"ratio of {found.tuned} is {why.ratio:.3g}, and of that all this is told."
    )


def regime_line(why: EquilibriumTheory) -> str:
    """The regime, and how it is known."""
    what = {
        "below saturation": "alpha holds the windows",
        "loss-dominated": "losses hold the windows more than alpha does",
        "plateau": "losses hold the windows, and alpha hardly moves them",
    }[why.regime]
    line = (
        f"Regime: {why.regime}, {what}. "
        f"Of 1 % more alpha {why.window_elasticity:.2f} % reaches the window"
    )
    return (
        f"{line}."
        if why.ratio_elasticity is None
        else f"{line}, and the ratio rises by {why.ratio_elasticity:.2f} %."
    )


def saturation_line(found: Recommendation, why: EquilibriumTheory) -> str:
    """How far it is to where only losses hold the windows."""
    if why.saturation_alpha is None:
        return f"Flows of {found.tuned} lose nothing, so there is no saturation."
    most = "" if why.largest_ratio is None else f", with a ratio of {why.largest_ratio:.3g} at most"
    factor = why.saturation_alpha / why.alpha
    far = f"{factor:.2f} times as much" if factor > 1 else "and this alpha is above"
    return (
        f"Flows of {found.tuned} climb back after losses in "
        f"{100 * why.recovering_fraction:.3g} % of their round trips; "
        f"saturation is at alpha = {why.saturation_alpha:.4g}, {far}{most}."
    )


def sensitivities_line(why: EquilibriumTheory) -> str:
    """What moves the fair alpha."""
    large = {name: of for name, of in why.elasticities.items() if abs(of) >= LEAST}
    small = [NUMBERS[name] for name in why.elasticities if name not in large]
    order = sorted(large, key=lambda name: -abs(large[name]))
    told = [f"{NUMBERS[name]} {large[name]:+.2f} %" for name in order]
    rest = f"; below {LEAST} %: {', '.join(small)}" if small else ""
    return f"With 1 % more of each, alpha for this ratio changes by: {', '.join(told)}{rest}."


def stability_line(why: EquilibriumTheory) -> str:
    """Whether rest lasts, and by what margin."""
    verdict = why.stability
    if verdict is None:
        return f"Stability is not told: {why.stability_missing.rstrip('.')}."
    gain = verdict.gain_margin
    if verdict.stable:
        delay = verdict.delay_margin
        words = [] if gain is None else [f"the queue's signals may be {gain:.3g} times as strong"]
        words += [] if delay is None else [f"come {delay * 1e3:.3g} ms later"]
        return f"Rest is stable{': ' if words else ''}{', or '.join(words)}."
    if gain is None or verdict.hopf_frequency is None:
        return "Rest is unstable: windows and queue swing around it."
    period = 2 * math.pi / verdict.hopf_frequency
    return (
        f"Rest is unstable: the queue swings around it (gain margin {gain:.2g}; at the boundary, "
        f"with signals {1 / gain:.3g} times weaker, every {period:.3g} s)."
    )


def tried_table(why: Explanation) -> Any:
    """The rules and the defaults beside the recommendation."""
    rows = table("rule", "alpha", "beta", "ratio", "95 % interval", "Jain", "delay, ms")
    listed = {"recommended": why.recommended}
    listed |= {RULES[name]: of for name, of in why.rules.items()}
    for name, of in {**listed, "defaults": why.defaults}.items():
        rows.add_row(name, *numbers_of(of))
    return rows


def numbers_of(of: MeasuredSetting) -> tuple[str, ...]:
    """A row of the table."""
    means, (low, high) = of.packets.means(), of.packets.interval
    return (
        f"{of.law.alpha:.6g}",
        f"{of.law.beta:.6g}",
        f"{means['ratio']:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{means['jain_index']:.3f}",
        f"{means['queueing_delay_s'] * 1e3:.1f}",
    )


def rules_line(found: Recommendation, why: Explanation) -> str:
    """Which rule comes nearest."""
    if not why.rules:
        return "No rule of the literature speaks of this network."

    def distance(of: MeasuredSetting) -> float:
        return abs(math.log(of.packets.ratio / found.ratio))

    best = min(why.rules, key=lambda name: distance(why.rules[name]))
    ratio = why.rules[best].packets.ratio
    missing = [RULES[name] for name in RULES if name not in why.rules]
    without = f" (without RED there is no {', '.join(missing)})" if missing else ""
    return (
        f"Of Weigle and Feng's rules {RULES[best]} comes nearest to the goal, {found.ratio:g}: "
        f"ratio {ratio:.3f}{without}."
    )


def defaults_line(found: Recommendation, why: Explanation) -> str:
    """What the defaults cost."""
    law, means = why.defaults.law, why.defaults.packets.means()
    jain = why.recommended.packets.means()["jain_index"]
    return (
        f"With the defaults (alpha {law.alpha:g}, beta {law.beta:g}) a flow of {found.tuned} gets "
        f"{means['ratio']:.3g} times another's goodput, and the Jain index is "
        f"{means['jain_index']:.3f} instead of {jain:.3f}."
    )

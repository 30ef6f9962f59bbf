"""Reasons for large differences in the table of formulas."""

from __future__ import annotations

from benchmarks.formulas.cases import Row

__all__ = ["remarks_on"]

TIMEOUTS = (
    "Mathis' formula neglects timeouts and recovery time; Padhye's formula on the same network "
    "is close."
)
WHOLE = (
    "About one packet in twelve, not examined further: Linux counts in whole packets, the drift "
    "does not."
)
FALSE_BASE = (
    "Slow start overshoots on this network and leaves Vegas with a wrong base RTT ([fluid "
    "models](../use/fluid.md))."
)
ONE_FLOW = (
    "At a small buffer the fluid spreads a loss over a round trip or more, and its windows grow "
    "as the mean of many flows; the period of one CUBIC flow behind drop-tail is off, too "
    "([fluid models](../use/fluid.md))."
)
TROUGH = (
    "The measured value is the mean of the queue's minima. They are below the queue at the "
    "halving, probably because of loss recovery, which was not examined further."
)
SETTLES = (
    "The fluid does not converge to the equilibrium: the network oscillates, or Vegas and Reno "
    "oscillate together behind a full buffer, and the mean is different."
)
SMALL = (
    "The fluid has mean windows; with a few packets, or a small buffer, individual packets matter."
)
ANSWERS = "In the packet simulator Vegas responds to losses, which this formula neglects."
FOURTH = (
    "Proportional to the fourth power of a ratio of windows, each of which is off by some 3-7 %."
)
ROUNDED = "Alpha is a whole number in files, and the ratio is given for it."

REMARKS: dict[tuple[str, str], str] = {
    ("mathis.drops", "packets"): TIMEOUTS,
    ("mathis.drops", "fluid"): TIMEOUTS,
    ("mathis.drops", "solver"): TIMEOUTS,
    ("fair_alpha_with_losses_linux", "packets"): WHOLE,
    ("vegas_alpha_linux", "packets"): WHOLE,
    ("fair_alpha_with_losses.network4", "packets"): FALSE_BASE,
    ("fair_alpha_lossless_over_red.network4", "packets"): FALSE_BASE,
    ("fair_alpha_with_losses.network2", "solver"): ROUNDED,
    ("fair_alpha_with_losses.network3", "solver"): ROUNDED,
    ("fair_alpha_with_losses.network4", "solver"): ROUNDED,
    ("queue_after_halving", "packets"): TROUGH,
    ("cubic_crossover.iid", "packets"): FOURTH,
    ("vegas_small_alpha", "packets"): SMALL,
    ("vegas_share_of_small_buffer", "packets"): SMALL,
    ("fair_alpha_lossless", "packets"): ANSWERS,
    ("fair_alpha_lossless_over_red", "packets"): ANSWERS,
    ("fair_alpha_lossless_over_red.network2", "packets"): ANSWERS,
    ("fair_alpha_lossless_over_red.network3", "packets"): ANSWERS,
}
"""Remarks by row and engine."""
FLUID = {"recovery_time": ONE_FLOW, "fair_backlog": SETTLES, "vegas_share": SETTLES}
"""Remarks on large differences of the fluid model, by the start of the row's name."""
FLUID |= {"queue_after_halving": SETTLES, "fair_alpha_with_losses.network": SETTLES}
FLUID |= {"red_queue.network2": SETTLES}


def remarks_on(row: Row, engine: str) -> list[str]:
    """Return the remarks on an engine's difference in a row."""
    name = row.relation.name
    found = [REMARKS[name, engine]] if (name, engine) in REMARKS else []
    if engine == "fluid" and abs(row.comparisons[engine].difference) > 0.01:
        found += [text for start, text in FLUID.items() if name.startswith(start)]
    return found

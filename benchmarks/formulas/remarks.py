"""Why some differences in the table of formulas are large."""

from __future__ import annotations

from benchmarks.formulas.cases import Row

__all__ = ["remarks_on"]

TIMEOUTS = (
    "Mathis counts no timeouts and no time for repairs; Padhye's law on the same network is near."
)
WHOLE = (
    "About a packet of twelve, and not examined further: Linux's rule counts in whole packets, "
    "which the drift does not."
)
FALSE_BASE = (
    "The slow starts of this network overshoot and leave Vegas a false base RTT "
    "([fluid models](../use/fluid.md))."
)
ONE_FLOW = (
    "The fluid's loss at a small buffer is spread over a round trip and more, and windows grow in "
    "the mean of flows; one CUBIC flow behind drop-tail misses its period, too "
    "([fluid models](../use/fluid.md))."
)
TROUGH = (
    "Measured is the mean of the queue's troughs. They lie lower than the queue at the halving: "
    "repair is taken to be the cause, which was not examined further."
)
SETTLES = (
    "The fluid does not rest where the drift does: at this place the network oscillates, or Vegas "
    "and Reno swing together behind a full buffer, and the mean is another."
)
SMALL = "The fluid has mean windows; of a few packets, or a small buffer, packets are not alike."
ANSWERS = "Packets' Vegas answers losses, which this formula leaves out."
FOURTH = "It goes with the fourth power of a ratio of windows, of which each is some 3-7 % off."
ROUNDED = "Alpha is a whole number in files, and the ratio is told for it."

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
FLUID = {"recovery_time": ONE_FLOW, "fair_backlog": SETTLES, "vegas_share": SETTLES}
FLUID |= {"queue_after_halving": SETTLES, "fair_alpha_with_losses.network": SETTLES}
FLUID |= {"red_queue.network2": SETTLES}


def remarks_on(row: Row, engine: str) -> list[str]:
    """What is to be said of one engine's difference in a row."""
    name = row.relation.name
    found = [REMARKS[name, engine]] if (name, engine) in REMARKS else []
    if engine == "fluid" and abs(row.found[engine].difference) > 0.01:
        found += [text for start, text in FLUID.items() if name.startswith(start)]
    return found

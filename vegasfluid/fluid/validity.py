"""Where the fluid models do not hold: what a run shows of it, with the number that says so.

The bounds are where the differences to the packet simulator begin to grow in
`python -m benchmarks.design`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vegasfluid.fluid.accuracy import TOLERANCE
from vegasfluid.interval_totals import interpolation_position
from vegasfluid.trajectory import Recording, class_means

__all__ = ["FEW_FLOWS", "FEW_PACKETS", "validity_warnings"]

FEW_PACKETS = 5.0
"""Packets of window, below which whole packets and timeouts decide."""
MANY_TIMEOUTS = 0.05
"""Timeouts for each lost packet, above which silence decides."""
FEW_FLOWS = 10
"""Flows at a link, below which each loss is felt by all of them, and a mean is nobody's."""
SWING = 0.25
"""Standard deviation of a queue over its mean, above which the flows are in step: more in the
model than in fact. (A drop-tail queue fills and empties on packets, too.)"""
UNEVEN = 1.25
"""How many times as often a full buffer drops the packets of one class as those of another, above
which goodputs depend on which windows grow just then. (Of 51 random drop-tail networks with
several classes 9 are below: in the median their ratios of goodputs are 9 % off. Of the 42 above 27
are off by more than a quarter.)"""
NOTICEABLE = 1e-6
"""Fraction of packets dropped at a full buffer that counts."""


def validity_warnings(run: Recording, warmup: float, tolerance: float = TOLERANCE) -> list[str]:
    """Why a run of a fluid model may be far from packets.

    Args:
        run: of a fluid model.
        warmup: time that is left out, s.
        tolerance: of the run's error.

    Returns:
        One line for each reason, with the number that triggers it; none where all is well.
    """
    first, _ = interpolation_position(run.times, warmup)
    late = slice(first, None)
    return [*of_steps(run, tolerance), *of_classes(run, late), *of_links(run, late)]


def of_steps(run: Recording, tolerance: float) -> Iterator[str]:
    """Steps that are too long."""
    if run.error is not None and max(run.error) > tolerance:
        goodput, queue, drops = (f"{100 * part:.2g} %" for part in run.error)
        yield (
            f"the tolerance of {100 * tolerance:.2g} % is not met: for the solver's steps goodput "
            f"may be off by {goodput}, queues by {queue} and drops by {drops}."
        )


def of_classes(run: Recording, late: slice) -> Iterator[str]:
    """Small windows, and timeouts."""
    counts = run.network.counts
    cwnd = class_means(counts, run.flows["cwnd"][late]).mean(axis=0)
    gained = {
        name: np.diff(class_means(counts, run.flows[name][[late.start, -1]]), axis=0)[0]
        for name in ("timeouts", "dropped")
    }
    for number, (name, flows) in enumerate(run.network.flows.items()):
        if not flows.law.rules.reliable:
            continue
        if cwnd[number] < FEW_PACKETS:
            yield (
                f"{name}: the mean window is {cwnd[number]:.1f} packets; below {FEW_PACKETS:g}, "
                "whole packets and timeouts decide."
            )
        share = gained["timeouts"][number] / max(gained["dropped"][number], 1e-12)
        if gained["dropped"][number] > 0 and share > MANY_TIMEOUTS:
            yield (
                f"{name}: {share:.0%} of its losses end in a timeout; above {MANY_TIMEOUTS:.0%}, "
                "silence decides."
            )
        if any(link.jitter and link.jitter_reorders for link in run.network.links_of(name)):
            yield f"{name}: packets overtake each other; losses that are none are not modelled."


def of_links(run: Recording, late: slice) -> Iterator[str]:
    """A handful of flows, uneven losses at a full buffer, and flows in step."""
    lost = run.links["lost"][-1] - run.links["lost"][late.start]
    came = run.links["admitted"][-1] - run.links["admitted"][late.start]
    for number, (name, link) in enumerate(run.network.links.items()):
        flows = run.network.flow_count(name)
        if flows < FEW_FLOWS:
            yield f"{name}: {flows} flows; below {FEW_FLOWS}, each loss is felt by all of them."
        if not link.aqm.drops_by_chance:
            if lost[number] > NOTICEABLE * came[number]:
                yield from uneven_losses(run, late, name)
            continue
        queue = run.links["queue"][late, number]
        swing = float(np.std(queue) / max(float(np.mean(queue)), 1.0))
        if swing > SWING:
            yield (
                f"{name}: the queue oscillates by {swing:.0%} of its mean; above {SWING:.0%}, the "
                "flows are in step more than they would be."
            )


def uneven_losses(run: Recording, late: slice, link: str) -> Iterator[str]:
    """Classes of which a full buffer drops more of the packets than of another's."""
    ends = [late.start, -1]
    dropped, sent = (
        np.diff(class_means(run.network.counts, run.flows[of][ends]), axis=0)[0]
        for of in ("dropped", "sent")
    )
    fraction = dropped / np.maximum(sent, 1e-12)
    names, classes = list(run.network.flows), list(run.network.flows.values())
    responsive = [number for number in crossing(run, link) if classes[number].law.rules.reliable]
    most = max(responsive, key=lambda number: fraction[number], default=0)
    least = min(responsive, key=lambda number: fraction[number], default=0)
    if fraction[most] > UNEVEN * fraction[least]:
        yield (
            f"{link}: the full buffer drops {fraction[most]:.2%} of the packets of {names[most]} "
            f"and {fraction[least]:.2%} of those of {names[least]}, whose windows grow less; on "
            "packets chance also decides which packet is dropped, and the model leaves that out."
        )


def crossing(run: Recording, link: str) -> list[int]:
    """The numbers of the classes that cross a link."""
    return [
        number for number, name in enumerate(run.network.flows) if link in run.network.path_of(name)
    ]

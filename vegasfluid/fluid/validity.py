"""Validity of the fluid models: warnings about a run, each with the number that triggers it.

Beyond the bounds, the differences to the packet simulator grow in `python -m benchmarks.design`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vegasfluid.fluid.accuracy import TOLERANCE
from vegasfluid.fluid.flow_groups import flow_starts
from vegasfluid.metric_formulas import interpolation_position
from vegasfluid.trajectory import Recording, class_means

__all__ = ["FEW_FLOWS", "FEW_PACKETS", "validity_warnings"]

FEW_PACKETS = 5.0
"""Mean window, packets, below which whole packets and timeouts make the model inaccurate."""
MANY_TIMEOUTS = 0.05
"""Timeouts per lost packet above which the time in timeouts makes the model inaccurate."""
FEW_FLOWS = 10
"""Flows at a link below which a mean over flows is inaccurate, as each loss affects all of them."""
LARGEST_OSCILLATION = 0.25
"""Standard deviation of a queue over its mean above which flows are synchronised, in the model more
than in packet runs. (It does not apply to drop-tail queues, which oscillate in packet runs too.)"""
UNEVEN = 1.25
"""Ratio of two classes' drop fractions at a full buffer above which their goodputs depend on which
windows grow at that time. (Of 51 random drop-tail networks with several classes 9 are below: the
median error of their goodput ratios is 9 %. Of the 42 above, 27 are off by more than a quarter.)"""
LATE_STARTS = 1.25
"""Ratio of the mean windows of flows of one class with equal base RTTs above which their goodput
depends on the order in which they start. (Of 24 random networks whose flows start within a second
8 are above: the error of their goodput ratio is 16 % for one and more than 50 % for the others.)"""
NOTICEABLE = 1e-6
"""Fraction of packets dropped at a full buffer above which its drops are compared (chosen)."""


def validity_warnings(run: Recording, warmup: float, tolerance: float = TOLERANCE) -> list[str]:
    """Reasons why a fluid run may differ from packet runs.

    Args:
        run: recording of a fluid run.
        warmup: time excluded from means, s.
        tolerance: largest relative error of the run that needs no warning.

    Returns:
        One line for each reason, with the number that triggers it; an empty list without any.
    """
    first, _ = interpolation_position(run.times, warmup)
    late = slice(first, None)
    return [
        *step_warnings(run, tolerance),
        *class_warnings(run, late),
        *start_warnings(run, late),
        *link_warnings(run, late),
    ]


def step_warnings(run: Recording, tolerance: float) -> Iterator[str]:
    """One line if the run's estimated relative error exceeds the tolerance, with its numbers."""
    if run.error is not None and max(run.error) > tolerance:
        goodput, queue, drops = (f"{100 * part:.2g} %" for part in run.error)
        yield (
            f"the tolerance of {100 * tolerance:.2g} % is not met: due to the solver's steps, "
            f"goodput may be off by {goodput}, queues by {queue} and drops by {drops}."
        )


def class_warnings(run: Recording, late: slice) -> Iterator[str]:
    """Lines about classes with small windows, many timeouts, or reordering.

    A class has a line for a mean window below `FEW_PACKETS`, for more than `MANY_TIMEOUTS` timeouts
    per lost packet, and for jitter that reorders its packets. Windows and counts are those of the
    samples `late`, after the warm-up. Unresponsive classes have none.
    """
    counts = run.network.counts
    cwnd = class_means(counts, run.flows["cwnd"][late]).mean(axis=0)
    increase = {
        name: np.diff(class_means(counts, run.flows[name][[late.start, -1]]), axis=0)[0]
        for name in ("timeouts", "dropped")
    }
    for number, (name, flows) in enumerate(run.network.flows.items()):
        if not flows.law.rules.reliable:
            continue
        if cwnd[number] < FEW_PACKETS:
            yield (
                f"{name}: the mean window is {cwnd[number]:.1f} packets. Below {FEW_PACKETS:g} "
                "packets the model is inaccurate: it does not round windows to whole packets, and "
                "many losses end in timeouts."
            )
        fraction = increase["timeouts"][number] / max(increase["dropped"][number], 1e-12)
        if increase["dropped"][number] > 0 and fraction > MANY_TIMEOUTS:
            yield (
                f"{name}: {100 * fraction:.2g}% of its losses end in a timeout; above "
                f"{MANY_TIMEOUTS:.0%}, the model is inaccurate."
            )
        if any(link.jitter and link.jitter_reorders for link in run.network.links_of(name)):
            yield (
                f"{name}: jitter reorders its packets; the model leaves out retransmissions that "
                "reordering causes."
            )


def start_warnings(run: Recording, late: slice) -> Iterator[str]:
    """Lines about classes in which flows of equal base RTT have unequal windows after the warm-up.

    A class has a line if its senders estimate the base RTT and these windows differ by a factor
    above `LATE_STARTS`: flows that start while there is a queue measure part of its delay as base
    RTT. The windows are means over the samples `late` that follow the last start.
    """
    first = 0
    for name, flows in run.network.flows.items():
        members = slice(first, first + flows.count)
        first += flows.count
        started = int(np.searchsorted(run.times, max(flow_starts(flows))))
        begin = max(late.start, started)
        if not flows.law.learns_base_rtt or begin >= len(run.times):
            continue
        cwnd = run.flows["cwnd"][begin:, members].mean(axis=0)
        rtts = np.array([float(rtt) for rtt in run.network.base_rtts(name)])
        equal = [cwnd[rtts == rtt] for rtt in np.unique(rtts)]
        ratio = max(float(windows.max() / windows.min()) for windows in equal)
        if ratio > LATE_STARTS:
            yield (
                f"{name}: the windows of its flows differ by a factor of {ratio:.3g}. Flows that "
                "start later take part of the queueing delay for base RTT; in packet runs it is "
                "random which flows do."
            )


def link_warnings(run: Recording, late: slice) -> Iterator[str]:
    """Yield warnings about links: few flows, unequal losses at a full buffer, oscillating queues.

    A link has few flows if it has fewer than `FEW_FLOWS`. Losses are compared on links where only
    a full buffer that all flows share drops packets; they are unequal if they differ by more than
    the factor `UNEVEN`. On other links a queue oscillates if its standard deviation exceeds
    `LARGEST_OSCILLATION` times its mean (or 1 packet, if the mean is smaller).

    Args:
        run: the run.
        late: the samples after the warm-up, of which losses and queues are taken.
    """
    lost = run.links["lost"][-1] - run.links["lost"][late.start]
    admitted = run.links["admitted"][-1] - run.links["admitted"][late.start]
    for number, (name, link) in enumerate(run.network.links.items()):
        flows = run.network.flow_count(name)
        if flows < FEW_FLOWS:
            yield (
                f"{name}: only {flows} flow{'s' * (flows != 1)}; with fewer than {FEW_FLOWS}, "
                "single losses matter, but the model has only averages."
            )
        if link.aqm.shares_full_buffer:
            if lost[number] > NOTICEABLE * admitted[number]:
                yield from uneven_losses(run, late, name)
            continue
        queue = run.links["queue"][late, number]
        oscillation = float(np.std(queue) / max(float(np.mean(queue)), 1.0))
        if oscillation > LARGEST_OSCILLATION:
            yield (
                f"{name}: the queue oscillates by {oscillation:.0%} of its mean; above "
                f"{LARGEST_OSCILLATION:.0%}, the model synchronises the flows more than packet "
                "runs do."
            )


def uneven_losses(run: Recording, late: slice, link: str) -> Iterator[str]:
    """Yield a warning if one class loses more than `UNEVEN` times the fraction of another.

    Only classes that cross the full buffer of `link` and respond to loss are compared. The
    fractions are of all packets sent in the samples `late`, over all links.
    """
    ends = [late.start, -1]
    dropped, sent = (
        np.diff(class_means(run.network.counts, run.flows[name][ends]), axis=0)[0]
        for name in ("dropped", "sent")
    )
    fraction = dropped / np.maximum(sent, 1e-12)
    names, classes = list(run.network.flows), list(run.network.flows.values())
    responsive = [number for number in crossing(run, link) if classes[number].law.rules.reliable]
    most = max(responsive, key=lambda number: fraction[number], default=0)
    least = min(responsive, key=lambda number: fraction[number], default=0)
    if fraction[most] > UNEVEN * fraction[least]:
        yield (
            f"{link}: the full buffer drops {fraction[most]:.2%} of the packets of {names[most]} "
            f"and {fraction[least]:.2%} of those of {names[least]}, whose windows grow more "
            "slowly. In packet runs, chance also decides which packet is dropped; the model "
            "ignores this."
        )


def crossing(run: Recording, link: str) -> list[int]:
    """Indices of the classes whose path contains the link named `link`."""
    return [
        number for number, name in enumerate(run.network.flows) if link in run.network.path_of(name)
    ]

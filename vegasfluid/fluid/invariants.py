"""Invariants of every fluid run, checked after the run.

States are finite and in their domains. Counters never decrease. No link sends more than its
capacity. Packets sent are delivered, dropped or in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import SolveFailed
from vegasfluid.trajectory import Recording, capacities, link_names

__all__ = ["BALANCE", "LINK_COUNTERS", "Violation", "check_invariants", "violations"]

LINK_COUNTERS = ("admitted", "lost", "waited", "work")
"""Arrays of links that never decrease."""
ROUNDING = 1e-6
"""Largest excess of a state over its domain, relative (chosen: rounding errors)."""
BALANCE = 0.01
"""Largest imbalance of packet counters relative to packets sent, for any tolerance (chosen)."""


class Violation(NamedTuple):
    """A violated invariant.

    Args:
        time: time of the first sample that violates it, s.
        whose: name of the class or link.
        what: the violation in words.
    """

    time: float
    whose: str
    what: str

    def __str__(self) -> str:
        return f"{self.whose}: {self.what}, first at t = {self.time:g} s"


def check_invariants(run: Recording, classes: Sequence[str] | None = None) -> Recording:
    """Return the run if it violates no invariant.

    Args:
        run: recording of a fluid run.
        classes: class of each column of its flows; None: there is a column for each flow.

    Raises:
        SolveFailed: with the earliest violation: its time, its class or link, and what it is.
    """
    earliest = min(violations(run, classes=classes), default=None)
    if earliest is not None:
        raise SolveFailed(f"the fluid model failed: {earliest}.")
    return run


def violations(
    run: Recording, balance: float = BALANCE, classes: Sequence[str] | None = None
) -> list[Violation]:
    """All violations of invariants in a fluid run.

    Args:
        run: recording of a fluid run.
        balance: largest imbalance of packet counters, relative to packets sent.
        classes: class of each column of its flows; None: there is a column for each flow.

    Returns:
        One violation for each invariant and each class or link that violates it.
    """
    if classes is None:
        classes = [name for name, group in run.network.flows.items() for _ in range(group.count)]
    flows = list(classes)
    links = link_names(run.network, run.links["work"].shape[1])
    with np.errstate(invalid="ignore"):  # values that are not finite are reported as such
        faults = [
            *not_finite(run, flows, links),
            *outside_domain(run, flows, links),
            *decreasing_counters(run, flows, links),
            *excess_service(run, links, balance),
            *vanished_packets(run, flows, balance),
        ]
    return list(dict.fromkeys(faults))


def first_times(
    run: Recording, wrong: np.ndarray, names: list[str], what: str
) -> Iterator[Violation]:
    """First violation in each column of `wrong` (time, column) that has any.

    Args:
        run: recording of a fluid run, which gives the times.
        wrong: whether the invariant is violated; its last row is the run's last sample, and it may
            have fewer rows than the run has samples.
        names: class or link of each column.
        what: the violation in words.
    """
    if not wrong.any():
        return
    for column in np.flatnonzero(wrong.any(axis=0)):
        time = run.times[-wrong.shape[0] :][np.argmax(wrong[:, column])]
        yield Violation(float(time), names[column], what)


def not_finite(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """Violations by states of flows and links that are nan or infinite, with their names."""
    for names, arrays in ((flows, run.flows), (links, run.links)):
        for name, values in arrays.items():
            yield from first_times(run, ~np.isfinite(values), names, f"{name} is not finite")


def outside_domain(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """Violations by windows below a packet, and by queues below 0 or above the buffer.

    The work in each queue and its average are checked, up to rounding. Where each flow has a queue,
    they may exceed the buffer by a packet for each flow.
    """
    small = run.flows["cwnd"] < 1 - ROUNDING
    yield from first_times(run, small, flows, "the window is below a packet")
    buffers = [
        float(link.buffer) + (run.network.flow_count(name) if link.aqm.flow_queues else 0)
        for name, link in run.network.links.items()
    ]
    largest = np.resize(buffers, len(links)) * (1 + ROUNDING)
    for name, meaning in (("backlog", "the queue"), ("avg_queue", "the average queue")):
        values = run.links[name]
        yield from first_times(run, values < 0, links, f"{meaning} is below 0")
        yield from first_times(run, values > largest, links, f"{meaning} is above the buffer")


def decreasing_counters(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """Violations by counters of flows and links that decrease by more than 1e-6 packets."""
    for names, arrays, counters in (
        (flows, run.flows, ("delivered", "dropped", "sent", "timeouts")),
        (links, run.links, LINK_COUNTERS),
    ):
        for name in counters:
            decreases = np.diff(arrays[name], axis=0) < -ROUNDING
            yield from first_times(run, decreases, names, f"{name} decreases")


def excess_service(run: Recording, links: list[str], balance: float) -> Iterator[Violation]:
    """Violations by links that sent more since the start than their capacity allows.

    `balance` is the allowed excess, as a fraction; one packet more is allowed.
    """
    largest = run.times[:, np.newaxis] * capacities(run.network, len(links))
    excess = run.links["work"] - run.links["backlog"] > largest * (1 + balance) + 1
    yield from first_times(run, excess, links, "it sent more than its capacity")


def vanished_packets(run: Recording, flows: list[str], balance: float) -> Iterator[Violation]:
    """Violations by flows whose packets sent are not those delivered, dropped or in flight.

    In flight may be at most what all links together send in the flow's longest RTT. One packet more
    is allowed, and the fraction `balance` of the packets sent.
    """
    sent = run.flows["sent"]
    in_flight = sent - run.flows["delivered"] - run.flows["dropped"]
    created = in_flight < -1 - balance * sent
    yield from first_times(run, created, flows, "more packets are delivered or dropped than sent")
    rtt = run.flows["rtt"].max(axis=0)
    largest = capacities(run.network, len(run.network.links)).sum() * rtt + 1
    lost = in_flight > largest + balance * sent
    yield from first_times(run, lost, flows, "packets sent are neither delivered nor dropped")

"""What must hold in every run of a fluid model, whatever the network.

States are finite numbers in their domains; counters never run back; a link sends no more than its
capacity, and what a flow sent was delivered, dropped, or is under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import SolveFailed
from vegasfluid.trajectory import Recording, capacities, link_names

__all__ = ["BALANCE", "Violation", "check_invariants", "violations"]

ROUNDING = 1e-6
"""By which part of itself a state may be beyond its domain."""
BALANCE = 0.01
"""By which part of them the counters of packets may be apart, in a run of any tolerance."""


class Violation(NamedTuple):
    """Something that cannot be.

    Args:
        time: of the first sample that shows it, s.
        whose: the class or the link.
        what: in words.
    """

    time: float
    whose: str
    what: str

    def __str__(self) -> str:
        return f"{self.whose}: {self.what}, first at t = {self.time:g} s"


def check_invariants(run: Recording) -> Recording:
    """The run, if nothing in it is impossible.

    Raises:
        SolveFailed: with the time, the class or link, and the state, of what came first.
    """
    found = min(violations(run), default=None)
    if found is not None:
        raise SolveFailed(f"the fluid model went wrong: {found}.")
    return run


def violations(run: Recording, balance: float = BALANCE) -> list[Violation]:
    """Everything in a run of a fluid model that cannot be.

    Args:
        run: of a fluid model.
        balance: by which part of them counters of packets may be apart.

    Returns:
        One for each state and each class or link.
    """
    of_flows = [name for name, flows in run.network.flows.items() for _ in range(flows.count)]
    of_links = link_names(run.network, run.links["work"].shape[1])
    with np.errstate(invalid="ignore"):  # what is not finite is one of the faults
        faults = [
            *not_finite(run, of_flows, of_links),
            *outside_domain(run, of_flows, of_links),
            *decreasing_counters(run, of_flows, of_links),
            *excess_service(run, of_links, balance),
            *vanished_packets(run, of_flows, balance),
        ]
    return list(dict.fromkeys(faults))


def first_times(
    run: Recording, wrong: np.ndarray, names: list[str], what: str
) -> Iterator[Violation]:
    """When it is first wrong, for each column of (time, column) that is ever wrong."""
    for column in np.flatnonzero(wrong.any(axis=0)):
        time = run.times[-wrong.shape[0] :][np.argmax(wrong[:, column])]
        yield Violation(float(time), names[column], what)


def not_finite(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """States that are no numbers."""
    for names, arrays in ((flows, run.flows), (links, run.links)):
        for name, values in arrays.items():
            yield from first_times(run, ~np.isfinite(values), names, f"{name} is not finite")


def outside_domain(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """Windows below a packet, and queues below 0 or above the buffer."""
    small = run.flows["cwnd"] < 1 - ROUNDING
    yield from first_times(run, small, flows, "the window is below a packet")
    buffers = [float(link.buffer) for link in run.network.links.values()]
    room = np.resize(buffers, len(links)) * (1 + ROUNDING)
    for name, meaning in (("backlog", "the queue"), ("avg_queue", "the average queue")):
        values = run.links[name]
        yield from first_times(run, values < 0, links, f"{meaning} is below 0")
        yield from first_times(run, values > room, links, f"{meaning} is above the buffer")


def decreasing_counters(run: Recording, flows: list[str], links: list[str]) -> Iterator[Violation]:
    """Counters that run back."""
    for names, arrays, counters in (
        (flows, run.flows, ("delivered", "dropped", "sent", "timeouts")),
        (links, run.links, ("admitted", "lost", "waited", "work")),
    ):
        for name in counters:
            back = np.diff(arrays[name], axis=0) < -ROUNDING
            yield from first_times(run, back, names, f"{name} counts back")


def excess_service(run: Recording, links: list[str], balance: float) -> Iterator[Violation]:
    """Links that sent more than they can."""
    able = run.times[:, np.newaxis] * capacities(run.network, len(links))
    sent = run.links["work"] - run.links["backlog"]
    yield from first_times(run, sent > able * (1 + balance) + 1, links, "it sent more than it can")


def vanished_packets(run: Recording, flows: list[str], balance: float) -> Iterator[Violation]:
    """Classes whose packets are made or vanish on the way."""
    of = run.flows
    way = of["sent"] - of["delivered"] - of["dropped"]
    yield from first_times(
        run, way < -1 - balance * of["sent"], flows, "more arrives or is dropped than was sent"
    )
    held = capacities(run.network, len(run.network.links)).sum() * of["rtt"].max(axis=0) + 1
    yield from first_times(
        run, way > held + balance * of["sent"], flows, "packets vanish on the way"
    )

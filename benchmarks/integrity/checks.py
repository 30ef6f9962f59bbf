"""What no run of the fluid may show: standing still, states outside their domain, packets made or
lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vegasfluid.network import Network
from vegasfluid.trajectory import Recording, class_means

__all__ = ["faults", "frozen", "outside", "unconserved"]

LATE = 0.75
"""A class is looked at from this part of the run on."""
STANDS = 1e-9
"""Growth of a window, as a part of it, that is none."""
ROUNDING, BALANCE = 1e-6, 1e-3
"""By which part a state may be beyond its domain, and the counters of packets apart."""


def faults(run: Recording) -> list[str]:
    """What is wrong with a run of the fluid, a line each."""
    return [*outside(run), *unconserved(run), *frozen(run)]


def frozen(run: Recording) -> Iterator[str]:
    """Classes that answer losses only, lose and see nothing for a quarter of the run, and do not
    grow though nothing limits them.
    """
    late = int(LATE * (run.times.size - 1))
    marked = run.links["marked"][-1] - run.links["marked"][late] if "marked" in run.links else 0.0
    of = {name: class_means(run.network.counts, run.flows[name]) for name in ("cwnd", "dropped")}
    for number, (name, flows) in enumerate(run.network.flows.items()):
        if flows.law.name.startswith("vegas") or not flows.law.rules.reliable:
            continue
        begin, end = of["cwnd"][[late, -1], number]
        lost = of["dropped"][-1, number] - of["dropped"][late, number]
        limited = end >= flows.max_window * (1 - ROUNDING)
        if lost <= 0 and not np.any(marked) and not limited and end <= begin * (1 + STANDS):
            yield f"{name} stands still at {end:.6g} packets and loses nothing"


def outside(run: Recording) -> Iterator[str]:
    """States that are no numbers, or that make no sense."""
    for name, values in {**run.flows, **run.links}.items():
        if not np.all(np.isfinite(values)):
            yield f"{name} is not finite"
    buffers = columns(run.network, "buffer", run.links["queue"].shape[1])
    for name in ("queue", "avg_queue"):
        values = run.links[name]
        if np.any(values < 0) or np.any(values > buffers * (1 + ROUNDING)):
            yield f"{name} is outside its buffer"
    if np.any(run.flows["cwnd"] < 1 - ROUNDING):
        yield "a window is below a packet"
    for name in ("delivered", "dropped", "sent", "timeouts"):
        if np.any(np.diff(run.flows[name], axis=0) < -ROUNDING):
            yield f"{name} counts backwards"


def unconserved(run: Recording) -> Iterator[str]:
    """Packets that come from nowhere or are gone: a link sends no more than its capacity, and what
    a class sent is delivered, dropped, or under way.
    """
    capacity = columns(run.network, "capacity", run.links["work"].shape[1])
    able = capacity * run.times[-1]
    sent = run.links["work"][-1] - run.links["backlog"][-1]
    for number in np.flatnonzero(sent > able * (1 + BALANCE)):
        yield f"link {number} sent {sent[number] / able[number] - 1:.2%} more than it can"
    way = run.flows["sent"] - run.flows["delivered"] - run.flows["dropped"]
    held = capacity.sum() * run.flows["rtt"].max(axis=0) + 1
    if np.any(way < -BALANCE * (1 + run.flows["sent"])) or np.any(way > held):
        yield "packets sent are not those delivered, dropped and under way"


def columns(network: Network, name: str, number: int) -> np.ndarray:
    """A number of each link, and of its other direction."""
    return np.resize([float(getattr(link, name)) for link in network.links.values()], number)

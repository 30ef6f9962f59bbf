"""Simulate a network packet by packet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from vegasfluid.errors import SolveFailed
from vegasfluid.network import Network
from vegasfluid.packet import engine
from vegasfluid.packet.compiler import compiled
from vegasfluid.packet.records import (
    FLOW_SAMPLE,
    LINK_SAMPLE,
    PICOSECONDS,
    Journal,
    make_rings,
    picoseconds,
)
from vegasfluid.packet.setup import Start, prepare
from vegasfluid.times import DEFAULT_SAMPLES, check_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["record_packets", "simulate_packets"]

FEWEST_SLOTS = 256
MOST_SLOTS = 2**22


def first_slots(network: Network) -> int:
    """A guess at the slots that a flow's rings need: four times its share of the path."""
    packets = network.bandwidth_delay() + network.link.buffer
    return 1 << max(int(4 * packets / sum(network.counts)), FEWEST_SLOTS - 1).bit_length()


def sample_times(until: float, warmup: float, samples: int) -> np.ndarray:
    """Evenly spaced times from 0 to `until`, and the end of the warm-up; (time,) s."""
    return np.unique(np.append(np.linspace(0.0, until, samples), warmup))


def execute(
    network: Network, start: Callable[[], Start], times: np.ndarray, kernel: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Run the engine, with larger rings each time that they do not suffice.

    Returns:
        Samples of the flows, (time, flow), and of the link, (time,).
    """
    ticks = np.array([picoseconds(time) for time in times])
    slots = first_slots(network)
    while slots <= MOST_SLOTS:
        begin = start()
        number = begin.flows.shape[0]
        journal = Journal(
            ticks,
            np.zeros((len(times), number), FLOW_SAMPLE).view(np.recarray),
            np.zeros(len(times), LINK_SAMPLE).view(np.recarray),
        )
        outcome = kernel(
            begin.flows.view(np.recarray),
            begin.link.view(np.recarray)[0],
            make_rings(number, slots),
            begin.generator,
            journal,
            np.arange(number),
        )
        if outcome == engine.COMPLETED:
            return journal.flows, journal.link
        slots *= 2
    raise SolveFailed(f"a flow had more than {MOST_SLOTS} packets in flight; set max_window.")


def record(network: Network, times: np.ndarray, flows: np.ndarray, link: np.ndarray) -> Recording:
    """The samples of a run as plain arrays in seconds and packets."""
    counted = ("cwnd", "delivered", "sent", "dropped", "retransmitted", "timeouts")
    of_flows = {name: flows[name].astype(float) for name in counted}
    of_flows["rtt"] = flows["rtt"] / PICOSECONDS
    links = {
        "queue": link["queue"].astype(float),
        "avg_queue": link["avg_queue"],
        "admitted": link["admitted"].astype(float),
        "lost": (link["early"] + link["full"]).astype(float),
        "waited": link["waited"] / PICOSECONDS,
    }
    columns = {name: values[:, np.newaxis] for name, values in links.items()}
    return Recording(network, times, of_flows, columns)


def record_packets(network: Network, times: np.ndarray, seed: int) -> Recording:
    """Simulate every packet of a network, and note what is so at the given times, s."""
    begin = prepare(network, seed)
    kernel = compiled([law.rules for law in begin.laws], network.link.aqm.rule)
    return record(network, times, *execute(network, begin.copy, times, kernel))


def simulate_packets(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    seed: int = 1,
    samples: int = DEFAULT_SAMPLES,
) -> xr.Dataset:
    """Simulate every packet of a network.

    Args:
        network: one link that every flow crosses, data one way.
        until: simulated time, s.
        warmup: time that the metrics leave out, s; a quarter of the run where it is None.
        seed: random start times and queue coins; the same seed gives the same bytes.
        samples: number of evenly spaced sample times.

    Returns:
        A trajectory (see `vegasfluid.trajectory`).

    Raises:
        InvalidInput: where the times make no sense.
        NotServed: where the network has something that this simulator does not serve yet.
        SolveFailed: where a flow has too many packets in flight to hold.

    >>> from vegasfluid import Flows, Link, Reno, metrics
    >>> network = Network(Link(1000.0, 50), {"reno": Flows(1, Reno(), base_rtt=0.04)})
    >>> run = simulate_packets(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    warmup = check_times(until, warmup, samples)
    recording = record_packets(network, sample_times(until, warmup, samples), seed)
    attributes = {"engine": "packets", "seed": seed, "warmup": warmup}
    return make_trajectory(*recording, attributes)

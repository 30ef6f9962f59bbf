"""Simulate a network packet by packet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Network, require_network
from vegasfluid.packet import engine
from vegasfluid.packet.compiler import compiled
from vegasfluid.packet.memory import Simulation, table_of
from vegasfluid.packet.records import PICOSECONDS, picoseconds
from vegasfluid.packet.rules import Rules, layout
from vegasfluid.packet.setup import Start, prepare
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times, sample_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["record_packets", "simulate_packets"]

FEWEST_SLOTS = 256
MOST_BYTES = 4 * 2**30
"""Memory that a run may take."""

Kernel = Callable[[Simulation], int]


def first_slots(network: Network) -> int:
    """A guess at the slots that a flow's rings need: four times its share of the path."""
    packets = network.bandwidth_delay() + max(link.buffer for link in network.links.values())
    return 1 << max(int(4 * packets / sum(network.counts)), FEWEST_SLOTS - 1).bit_length()


def places_for(network: Network, rules: Rules) -> int:
    """Places that the longest queue needs, a power of two."""
    if not rules.features.TWO_WAY:
        return 1
    smallest = min(1.0, network.ack_bytes / network.packet_bytes)
    longest = max(
        link.buffer / (smallest if link.aqm.counts_bytes else 1.0)
        for link in network.links.values()
    )
    return 1 << int(longest + 2).bit_length()


def shapes(
    begin: Start, slots: int, places: int, samples: int, bins: int
) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that a run works on."""
    flows, stages = begin.stages.shape
    links = len(begin.links)
    return {
        "flows": (flows,),
        "fresh": (flows,),
        "stages": (flows, stages),
        "links": (links,),
        "packets": (flows, stages, slots),
        "slots": (flows, slots),
        "places": (links, places),
        "changes": begin.changes.shape,
        "times": (samples,),
        "flow_samples": (samples, flows),
        "link_samples": (samples, links),
        "bins": (bins, links),
        "heap": (flows,),
    }


def lay_out(
    begin: Start, shape: dict[str, tuple[int, ...]], ticks: np.ndarray, cause: str = ""
) -> Simulation:
    """The arrays that a run works on.

    Args:
        begin: what the run begins with.
        shape: of each array.
        ticks: (time,) sample times, ps.
        cause: whose windows need so much.

    Raises:
        SolveFailed: where they take more than MOST_BYTES of memory.
    """
    types = layout(begin.rules)
    needed = sum(types[name].itemsize * math.prod(of) for name, of in shape.items())
    if needed > MOST_BYTES:
        raise SolveFailed(
            f"the run would take {needed / 2**30:.1f} GiB of memory, more than "
            f"{MOST_BYTES / 2**30:g} GiB; set max_window{cause}, or take fewer samples."
        )
    sim = Simulation(**{name: np.zeros(of, types[name]) for name, of in shape.items()})
    for name in ("flows", "stages", "links", "changes"):
        getattr(sim, name)[...] = getattr(begin, name)
    sim.fresh[...] = begin.flows
    sim.times["at"], sim.heap["flow"] = ticks, np.arange(len(sim.heap))
    return Simulation(*(array.view(np.recarray) for array in sim))


def execute(
    network: Network,
    begin: Start,
    times: np.ndarray,
    kernel: Kernel,
    bin_width: float | None = None,
) -> Simulation:
    """Run the engine, with larger rings each time that they do not suffice.

    Args:
        network: what to simulate.
        begin: what the run begins with; it is not changed.
        times: (time,) sample times, s.
        kernel: the engine, compiled or not; takes a `Simulation`.
        bin_width: of the bins in which arrivals are counted, s; None: no bins.

    Returns:
        What the run worked on, as it was left.

    Raises:
        SolveFailed: where it would take more than MOST_BYTES of memory.
    """
    ticks = np.array([picoseconds(time) for time in times])
    bins = 0
    if bin_width is not None:
        begin.links["bin_width"] = picoseconds(bin_width)
        bins = int(ticks[-1] // picoseconds(bin_width)) + 1
    slots, places = first_slots(network), places_for(network, begin.rules)
    cause = ""
    while True:
        sim = lay_out(begin, shapes(begin, slots, places, len(ticks), bins), ticks, cause)
        if kernel(sim) == engine.COMPLETED:
            return sim
        group = int(sim.flows["group"][np.argmax(sim.flows["full"])])
        cause = f" of {list(network.flows)[group]}, which has {slots} packets in flight"
        slots *= 2


def machine(begin: Start) -> Kernel:
    """The engine as machine code, for what a run begins with."""
    kernel = compiled(begin.rules)
    return lambda sim: kernel(table_of(sim))


def names_in(samples: np.ndarray) -> tuple[str, ...]:
    """The names of what was noted."""
    return samples.dtype.names or ()


def record(network: Network, times: np.ndarray, sim: Simulation) -> Recording:
    """The samples of a run as plain arrays in seconds and packets."""
    flows, links = sim.flow_samples, sim.link_samples
    of_flows = {name: flows[name].astype(float) for name in names_in(flows)}
    of_flows["rtt"] /= PICOSECONDS
    of_links = {name: links[name].astype(float) for name in names_in(links)}
    of_links["waited"] /= PICOSECONDS
    of_links["lost"] = of_links["early"] + of_links["forced"] + of_links["full"]
    return Recording(network, times, of_flows, of_links)


def record_packets(network: Network, times: np.ndarray, seed: int) -> Recording:
    """Simulate every packet of a network, and note what is so at the given times, s."""
    begin = prepare(network, seed)
    return record(network, times, execute(network, begin, times, machine(begin)))


def simulate_packets(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    seed: int = 1,
    samples: int = DEFAULT_SAMPLES,
    bin_width: float | None = None,
) -> xr.Dataset:
    """Simulate every packet of a network.

    Args:
        network: links, and the classes of flows over them.
        until: simulated time, s.
        warmup: time that the metrics leave out, s; a quarter of the run where it is None.
        seed: random start times, queue coins and flows' dice; the same seed gives the same bytes.
        samples: number of evenly spaced sample times.
        bin_width: count the data packets that arrive at each queue in bins of so many seconds,
            for `metrics.cov` and `metrics.hurst`; None: do not.

    Returns:
        A trajectory (see `vegasfluid.trajectory`).

    Raises:
        InvalidInput: where the times make no sense.
        SolveFailed: where the run would take too much memory.

    >>> from vegasfluid import Flows, Link, Reno, metrics
    >>> network = Network(Link(1000.0, 50), {"reno": Flows(1, Reno(), base_rtt=0.04)})
    >>> run = simulate_packets(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    require_network("simulate_packets", network)
    warmup = check_times(until, warmup, samples)
    if bin_width is not None and not 1e-9 <= bin_width <= until:
        raise InvalidInput("simulate", "bin_width", f"from 1e-09 to {until:g}", bin_width)
    times = sample_times(until, warmup, samples)
    begin = prepare(network, seed, counted=bin_width is not None)
    sim = execute(network, begin, times, machine(begin), bin_width)
    attributes: dict[str, object] = {"engine": "packets", "seed": seed, "warmup": warmup}
    if assumed := network.assumptions():
        attributes["assumed"] = "\n".join(assumed)
    recording = record(network, times, sim)
    return make_trajectory(recording, attributes, bins=sim.bins["count"], bin_width=bin_width)

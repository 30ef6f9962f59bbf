"""Simulation of a network packet by packet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from vegasfluid.clock import PICOSECONDS, picoseconds
from vegasfluid.errors import InvalidInput
from vegasfluid.memory import reserved
from vegasfluid.network import Network, require_network
from vegasfluid.packet import engine, ring_memory
from vegasfluid.packet.clock_range import check_run, largest_event_count
from vegasfluid.packet.initial_state import InitialState, initial_state
from vegasfluid.packet.jit import Kernel, compiled
from vegasfluid.packet.rules import Rules, layout
from vegasfluid.packet.state import Simulation
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times, sample_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["record_packets", "simulate_packets"]

MIN_SLOTS = 256
"""Smallest number of slots of a flow's rings; chosen: runs with fewer must often be repeated."""

FIRST_WINDOWS = 2
"""Largest number of slots of a flow's rings at first, relative to the largest window (chosen)."""


def initial_slot_count(network: Network) -> int:
    """First guess at the number of packets that each flow's rings must hold, a power of two.

    It is the power of two above four times (bandwidth-delay product + largest buffer) / number of
    flows, or above twice the largest window if that is smaller; at least 256.
    """
    packets = network.bandwidth_delay() + max(link.buffer for link in network.links.values())
    window = max(flows.max_window for flows in network.flows.values())
    guess = int(min(4 * packets / sum(network.counts), FIRST_WINDOWS * window))
    return 1 << max(guess, MIN_SLOTS - 1).bit_length()


def waiting_slot_count(network: Network, rules: Rules) -> int:
    """Number of packets that the ring of each queue must hold, a power of two.

    It is the largest buffer, in ACKs where it is measured in bytes; 1 where no ring is needed.
    """
    if not rules.features.TWO_WAY:
        return 1
    smallest = min(1.0, *(network.ack_size(name) for name in network.flows))
    longest = max(
        link.buffer / (smallest if link.aqm.counts_bytes else 1.0)
        for link in network.resolved().links.values()
    )
    return 1 << int(longest + 2).bit_length()


def shapes(
    initial: InitialState, slots: int, waiting: int, samples: int, bins: int
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a run, by array name.

    Args:
        initial: the initial state.
        slots: number of slots of each flow's rings.
        waiting: number of packets that each queue's ring can hold.
        samples: number of sample times.
        bins: number of arrival bins.
    """
    flows, hops = initial.hops.shape
    links = len(initial.links)
    return {
        "flows": (flows,),
        "initial": (flows,),
        "hops": (flows, hops),
        "links": (links,),
        "packets": (flows, hops, slots),
        "slots": (flows, slots),
        "waiting": (links, waiting),
        "changes": initial.changes.shape,
        "times": (samples,),
        "flow_samples": (samples, flows),
        "link_samples": (samples, links),
        "bins": (bins, links),
        "queues": initial.queues.shape,
        "heap": (flows + (links if initial.rules.features.FLOW_QUEUES else 0),),
    }


def needed_bytes(rules: Rules, shape: dict[str, tuple[int, ...]], packets: float) -> float:
    """Upper bound on the memory of a packet run, bytes: its arrays, and its samples as floats.

    Args:
        rules: the rules in use, which determine the record types.
        shape: shapes of the arrays, by name.
        packets: upper bound on the packets that all flows send; slots of large rings that no packet
            uses take no memory.
    """
    types, samples = layout(rules), ("flow_samples", "link_samples")
    total = sum(types[name].itemsize * math.prod(shape[name]) for name in samples)
    for name, lengths in shape.items():
        item = types[name].itemsize
        rings = name in ring_memory.RINGS
        total += (
            ring_memory.used_bytes(lengths, item, packets) if rings else item * math.prod(lengths)
        )
    return float(total)


def allocate(
    initial: InitialState, shape: dict[str, tuple[int, ...]], ticks: np.ndarray
) -> Simulation:
    """Arrays of a run, with the initial state copied into them.

    Args:
        initial: the initial state.
        shape: shapes of the arrays, by name.
        ticks: sample times, ps; (time,).
    """
    types = layout(initial.rules)
    sim = Simulation(
        **{
            name: (ring_memory.zeros if name in ring_memory.RINGS else np.zeros)(
                lengths, types[name]
            )
            for name, lengths in shape.items()
        }
    )
    for name in ("flows", "hops", "links", "queues", "changes"):
        getattr(sim, name)[...] = getattr(initial, name)
    sim.initial[...] = initial.flows
    sim.times["at"] = ticks
    flows = len(sim.flows)
    sim.heap["flow"] = [*range(flows), *(-1 - link for link in range(len(sim.heap) - flows))]
    return Simulation(*(array.view(np.recarray) for array in sim))


@contextmanager
def executed(
    network: Network,
    initial: InitialState,
    times: np.ndarray,
    kernel: Kernel,
    bin_width: float | None = None,
) -> Iterator[Simulation]:
    """Run the engine, again with larger rings if a flow has more packets in flight than they hold.

    A context, in which the run's memory is reserved. Copy what is needed from the state, and leave
    the context soon: other runs may wait for the memory.

    Args:
        network: what to simulate.
        initial: the initial state; it is not changed, except for the width of its bins.
        times: sample times, s; (time,).
        kernel: the engine, compiled or interpreted.
        bin_width: width of the bins in which arrivals are counted, s; None: no bins.

    Yields:
        The state at the end of the run, with all samples; its times are in ps.

    Raises:
        TooLarge: for a run that needs more memory than runs may use.
    """
    ticks = np.array([picoseconds(time) for time in times])
    bins = 0
    if bin_width is not None:
        initial.links["bin_width"] = picoseconds(bin_width)
        bins = int(ticks[-1] // picoseconds(bin_width)) + 1
    slots, waiting = initial_slot_count(network), waiting_slot_count(network, initial.rules)
    packets = largest_event_count(network, float(times[-1]))
    cause, remedy = "", "take fewer flows, samples or smaller buffers"
    while True:
        shape = shapes(initial, slots, waiting, len(ticks), bins)
        needed = needed_bytes(initial.rules, shape, packets)
        with reserved(needed, "the packet run", f"set max_window{cause}, or {remedy}"):
            sim = allocate(initial, shape, ticks)
            if kernel(sim) == engine.COMPLETED:
                yield sim
                return
            index = int(sim.flows["flow_class"][np.argmax(sim.flows["full"])])
            del sim  # before its memory counts as free
        cause = f" of {list(network.flows)[index]}, which has {slots} packets in flight"
        slots *= 2


def names_in(samples: np.ndarray) -> tuple[str, ...]:
    """Names of the fields of an array of records, in order."""
    return samples.dtype.names or ()


def recording_of(network: Network, times: np.ndarray, sim: Simulation) -> Recording:
    """Samples of a run as float arrays (time, flow) and (time, link), in s and packets.

    Args:
        network: the simulated network.
        times: sample times, s; (time,).
        sim: the state at the end of the run, with all samples.
    """
    flows, links = sim.flow_samples, sim.link_samples
    flow_samples = {name: flows[name].astype(float) for name in names_in(flows)}
    flow_samples["rtt"] /= PICOSECONDS
    link_samples = {name: links[name].astype(float) for name in names_in(links)}
    for name in ("waited", "lost_waited"):
        link_samples[name] /= PICOSECONDS
    link_samples["lost"] = link_samples["early"] + link_samples["forced"] + link_samples["full"]
    return Recording(
        network, times, flow_samples, link_samples, capacity=PICOSECONDS / sim.links["service"]
    )


def record_packets(network: Network, times: np.ndarray, seed: int) -> Recording:
    """Simulate every packet of a network, and return plain arrays without labels.

    Args:
        network: links and the classes of flows that share them.
        times: increasing sample times, s; the run ends at the last one; (time,).
        seed: seed of all random numbers, a whole number from 0 on; equal seeds give equal runs.

    Returns:
        Arrays (time, flow) and (time, link) by names of the variables of a trajectory.

    Raises:
        InvalidInput: for an invalid seed.
        TooLarge: for a run that needs too much memory or time, or times beyond its clock.
    """
    check_run(network, float(times[-1]))
    initial = initial_state(network, seed)
    with executed(network, initial, times, compiled(initial.rules)) as sim:
        return recording_of(network, times, sim)


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
        network: links and the classes of flows that share them.
        until: simulated time, s.
        warmup: time at the start that the metrics leave out, s; None: a quarter of the run.
        seed: seed of all random numbers, a whole number from 0 on; equal seeds give equal runs.
        samples: number of evenly spaced sample times.
        bin_width: width of bins in which the data packets that arrive at each queue are counted, s,
            from 1e-9 to `until`, for `metrics.cov` and `metrics.hurst`; None: no bins.

    Returns:
        A trajectory, an `xarray.Dataset` with windows, RTTs and counters over (time, flow_class),
        queues over (time, link), and more (see `vegasfluid.trajectory`).

    Raises:
        InvalidInput: for a time, seed, bin width or number of samples that is out of range.
        TooLarge: for a run that needs too much memory or time, or times beyond its clock.

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
    check_run(network, until)
    times = sample_times(until, warmup, samples)
    initial = initial_state(network, seed, counted=bin_width is not None)
    attributes: dict[str, object] = {"engine": "packets", "seed": seed, "warmup": warmup}
    if assumed := network.assumptions():
        attributes["assumed"] = "\n".join(assumed)
    with executed(network, initial, times, compiled(initial.rules), bin_width) as sim:
        recording, bins = recording_of(network, times, sim), sim.bins["count"].copy()
    return make_trajectory(recording, attributes, bins=bins, bin_width=bin_width)

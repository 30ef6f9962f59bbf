"""Operating points of flows, which the translation of Vegas parameters needs: means of a run."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint
from vegasfluid.model import Model
from vegasfluid.network import Flows, UniformStart
from vegasfluid.packet import record_packets
from vegasfluid.packet.clock_range import largest_event_count
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.trajectory import Recording, class_means

__all__ = ["engine_of_points", "operating_points"]

MOST_PACKETS = 2e8
"""Largest bound on the packets of a run that is simulated by packets (chosen: about a minute)."""


def operating_points(
    model: Model, classes: Collection[str] | None = None, seed: int = 1
) -> dict[str, OperatingPoint]:
    """Mean RTT over base RTT, window and drop probability of classes, from one run.

    The translation of Vegas parameters needs them. The run is one of the packet simulator; if it
    could have more than 2e8 packets, one of the fluid model, whose time does not depend on their
    number. Means are over the flows of a class, after the warm-up (a quarter of the run where the
    model has none or 0 s) and after the class's last start; drops are counted after the warm-up.

    Args:
        model: the network, its duration and warm-up.
        classes: names of the classes to report, of which unknown ones are ignored; None: all.
        seed: seed of a packet run.

    Returns:
        By class: `rtt_over_base` (a pure number, at least 1), `cwnd` (packets), `drop_prob` (the
        fraction of packets dropped along the class's path), and `from_fluid`.

    Raises:
        InvalidInput: for a class whose last flow may start only after the end.
        TooLarge: where the run would take too much memory or time.

    >>> import vegasfluid as vf
    >>> link = vf.Link(1000.0, 200, vf.Red(min_thresh=50, max_thresh=150))
    >>> network = vf.Network(link, {"reno": vf.Flows(10, vf.Reno(), base_rtt=0.05)})
    >>> point = operating_points(vf.Model(network, duration=40, warmup=20))["reno"]
    >>> 1.5 < point.rtt_over_base < 2.5, 8 < point.cwnd < 13, 0.001 < point.drop_prob < 0.1
    (True, True, True)
    """
    network = model.network
    from_fluid = engine_of_points(model) == "fluid"
    run = fluid_run(model) if from_fluid else packet_run(model, seed)
    counts, names = network.counts, list(network.flows)
    warmup = model.warmup or model.duration / 4
    totals = run.totals_after(warmup)
    rtts, windows = (class_means(counts, run.flows[key]) for key in ("rtt", "cwnd"))
    points = {}
    for index, name in enumerate(names):
        if classes is not None and name not in classes:
            continue
        start = last_start(network.flows[name])
        averaged = run.times >= max(warmup, start)
        if not averaged.any():
            allowed = f"below the simulated time ({model.duration:g} s)"
            raise InvalidInput(f"flows.{name}", "start", allowed, start)
        rtt, cwnd = (float(values[averaged, index].mean()) for values in (rtts, windows))
        drop_prob = float(totals.over_path(network.queue_indices(name)[0]).drop_share)
        rtt_over_base = rtt / network.mean_base_rtt(name)
        points[name] = OperatingPoint(max(rtt_over_base, 1.0), cwnd, drop_prob, from_fluid)
    return points


def engine_of_points(model: Model) -> str:
    """Engine of the run for operating points: `packets`, or `fluid` above 2e8 possible packets."""
    events = largest_event_count(model.network, model.duration)
    return "packets" if events <= MOST_PACKETS else "fluid"


def packet_run(model: Model, seed: int) -> Recording:
    """Run of the packet simulator over a model's duration."""
    times = np.linspace(0.0, model.duration, DEFAULT_SAMPLES)
    return record_packets(model.network, times, seed)


def fluid_run(model: Model) -> Recording:
    """Run of the fluid model over a model's duration."""
    from vegasfluid.fluid import record_fluid

    return record_fluid(model.network, model.duration, DEFAULT_SAMPLES)


def last_start(flows: Flows) -> float:
    """Latest time at which a flow of a class may start, s."""
    return (
        flows.start.spread if isinstance(flows.start, UniformStart) else float(np.max(flows.start))
    )

"""Operating points of flows, measured on packets: what translating Vegas parameters needs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint
from vegasfluid.model import Model
from vegasfluid.network import Flows, UniformStart
from vegasfluid.packet import record_packets
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.trajectory import class_means

__all__ = ["operating_points"]


def operating_points(
    model: Model, classes: Collection[str] | None = None, seed: int = 1
) -> dict[str, OperatingPoint]:
    """Mean RTT over base RTT, window and drop probability of classes, from a packet run.

    The run and its means are what the translation of Vegas parameters needs. Means are over the
    flows of a class, after the warm-up (a quarter of the run where the model has none) and after
    the class's last start.

    Args:
        model: the network, its duration and warm-up.
        classes: names of the classes to report; None: all.
        seed: seed of the run.

    Returns:
        By class: `rtt_over_base` (a pure number, at least 1), `cwnd` (packets) and `drop_prob`
        (the fraction of packets dropped along the class's path).

    Raises:
        InvalidInput: for a class that starts after the end.
        TooLarge: where the run would take too much memory or time.

    >>> import vegasfluid as vf
    >>> link = vf.Link(1000.0, 200, vf.Red(min_thresh=50, max_thresh=150))
    >>> network = vf.Network(link, {"reno": vf.Flows(10, vf.Reno(), base_rtt=0.05)})
    >>> point = operating_points(vf.Model(network, duration=40, warmup=20))["reno"]
    >>> 1.5 < point.rtt_over_base < 2.5, 8 < point.cwnd < 13, 0.001 < point.drop_prob < 0.1
    (True, True, True)
    """
    network = model.network
    run = record_packets(network, np.linspace(0.0, model.duration, DEFAULT_SAMPLES), seed)
    counts, names = network.counts, list(network.flows)
    warmup = model.warmup or model.duration / 4
    drop_share = dict(zip(network.links, run.totals_after(warmup).drop_share, strict=False))
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
        path = network.flows[name].path or tuple(network.links)
        delivered = float(np.prod([1 - drop_share[link] for link in path]))
        rtt_over_base = rtt / network.mean_base_rtt(name)
        points[name] = OperatingPoint(max(rtt_over_base, 1.0), cwnd, 1 - delivered)
    return points


def last_start(flows: Flows) -> float:
    """Latest time at which a flow of a class may start, s."""
    return (
        flows.start.spread if isinstance(flows.start, UniformStart) else float(np.max(flows.start))
    )

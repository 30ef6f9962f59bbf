"""Where the flows of a network are, by the fluid model: what translating a Vegas needs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from vegasfluid.export import OperatingPoint
from vegasfluid.fluid import record_fluid
from vegasfluid.model import Model
from vegasfluid.times import DEFAULT_SAMPLES
from vegasfluid.trajectory import class_means

__all__ = ["operating_points"]


def operating_points(
    model: Model, classes: Collection[str] | None = None
) -> dict[str, OperatingPoint]:
    """The round-trip times, windows and drop shares of classes, by a run of the fluid model.

    A run and not an equilibrium: it is there for every network, and what the flows meet
    between the warm-up and the end is what they shall meet in the other system. Windows and
    round-trip times are means over that time, in which all flows of the class have started.

    Args:
        model: the network, its duration and warm-up.
        classes: which; None: all.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.

    >>> import vegasfluid as vf
    >>> link = vf.Link(1000.0, 200, vf.Red(min_thresh=50, max_thresh=150))
    >>> network = vf.Network(link, {"reno": vf.Flows(10, vf.Reno(), base_rtt=0.05)})
    >>> point = operating_points(vf.Model(network, duration=40, warmup=20))["reno"]
    >>> 1.5 < point.rtt_over_base < 2.5, 8 < point.cwnd < 13, 0.001 < point.drop_prob < 0.1
    (True, True, True)
    """
    network = model.network
    run = record_fluid(network, model.duration, DEFAULT_SAMPLES)
    counts, names = network.counts, list(network.flows)
    after = run.times >= model.warmup
    drop_share = dict(zip(network.links, run.growth(model.warmup).drop_share, strict=False))
    rtt, cwnd = (class_means(counts, run.flows[key])[after].mean(0) for key in ("rtt", "cwnd"))
    found = {}
    for number, name in enumerate(names):
        if classes is not None and name not in classes:
            continue
        crossed = network.flows[name].path or tuple(network.links)
        kept = float(np.prod([1 - drop_share[link] for link in crossed]))
        stretch = float(rtt[number]) / network.mean_base_rtt(name)
        found[name] = OperatingPoint(max(stretch, 1.0), float(cwnd[number]), 1 - kept)
    return found

"""One congestion control alone: utilisation, window, queue and period against theory and packets.

    python -m benchmarks.solo [--json] [--full]

Each figure is a relative difference of the fluid model, from theory (`.theory`) or from the packet
simulator (`.packets`). `--full` adds the density model and runs twice as long.

- One Reno or one CUBIC flow behind drop-tail, with buffers of 0.2, 0.5 and 1 times the
  bandwidth-delay product: a sawtooth. Losses are synchronised, because there is only one flow.
- Many Reno flows with RED: the root of k_RED L (q - min) (C T + q)^2 = c^2 N^2.
- Many CUBIC flows with RED: W = a (R / p)^(3/4), in the cubic and in the Reno-friendly region.
- Vegas with a long buffer: N windows of C T / N + alpha to beta packets, without losses.

Sources:
    Reno's saw-tooth: T. Lakshman and U. Madhow, IEEE/ACM ToN 5(3), 1997 (not checked against the
    original; derived anew). CUBIC's: RFC 9438, sections 4.2 and 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
import xarray as xr

from benchmarks.harness import Figures, root, run
from vegasfluid import metrics
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import FluidOptions, simulate_density, simulate_fluid
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.packet import simulate_packets

__all__ = ["Tooth", "cubic_tooth", "measure", "reno_over_red", "reno_tooth", "tooth"]

Engine = Callable[[Network, float], xr.Dataset]

CAPACITY, RTT = 1000.0, 0.1
"""Packets/s and seconds, of the saw-tooth."""
BUFFERS = (0.2, 0.5, 1.0)
"""In bandwidth-delay products."""
IID, BALANCE = 1.3098, FluidOptions("iid", recovery=False, timeouts=False, whole_packets=False)
"""Reno's W sqrt(p) with independent losses, and options without any other effect of losses."""
POOJARY_SHARMA = 1.300
"""CUBIC's W (p / R)^(3/4) with independent losses and a cut of 0.3 (S. Poojary and V. Sharma,
Queueing Systems, 2019; abstract read)."""
TEETH = (0.05, 0.05, 0.1)
"""Wanted of a saw-tooth: utilisation, window, period."""
FALL = 0.9
"""A window that falls to less than this within a few round trips had a loss."""


class Tooth(NamedTuple):
    """A saw-tooth.

    Args:
        utilisation: of the link.
        cwnd: mean window, packets.
        period: s.
    """

    utilisation: float
    cwnd: float
    period: float


def reno_tooth(buffer: float) -> Tooth:
    """One Reno flow; windows from half of C T + B upwards, a packet a round trip.

    The loss is found a round trip after it, and another one is taken by its repair.
    """
    pipe = CAPACITY * RTT
    top, part = pipe + buffer, buffer / pipe
    window = np.linspace(top / 2, top, 10_001)
    rtt = np.maximum(RTT, window / CAPACITY)
    period = float(np.trapezoid(rtt, window))
    whole = period + top / CAPACITY + RTT
    utilisation = 0.75 * (1 + part) ** 2 / (1 + part + part**2)
    return Tooth(utilisation, float(np.trapezoid(window * rtt, window)) / period, whole)


def cubic_tooth(buffer: float, law: Cubic) -> Tooth:
    """One CUBIC flow; from beta times C T + B along the cubic to the same again, in K."""
    pipe = CAPACITY * RTT
    top = pipe + buffer
    plateau = math.cbrt(top * (1 - float(law.beta)) / float(law.C))
    time = np.linspace(0, plateau, 10_001)
    window = top + float(law.C) * (time - plateau) ** 3
    sent = np.minimum(window / np.maximum(RTT, window / CAPACITY), CAPACITY)
    used, cwnd = (float(np.trapezoid(item, time)) / plateau for item in (sent / CAPACITY, window))
    return Tooth(used, cwnd, plateau)


def tooth(data: xr.Dataset, warmup: float) -> Tooth:
    """The saw-tooth of a run of one flow."""
    time, cwnd = data["time"].values, data["cwnd"].values[:, 0]
    late = time > warmup
    time, cwnd = time[late], cwnd[late]
    begins = begins_of(time, cwnd)
    period = float(np.diff(begins).mean()) if len(begins) > 2 else math.nan
    utilisation = float(metrics.utilisation(data, warmup)[0])
    return Tooth(utilisation, float(cwnd.mean()), period)


def begins_of(time: np.ndarray, cwnd: np.ndarray) -> np.ndarray:
    """When a window begins to fall, s."""
    ahead = max(int(5 * RTT / (time[1] - time[0])), 1)
    falling = cwnd[ahead:] < FALL * cwnd[:-ahead]
    return time[:-ahead][1:][falling[1:] & ~falling[:-1]]


def reno_over_red(network: Network) -> tuple[float, float]:
    """Queue and window, packets, of many Reno flows that lose packets independently."""
    link, flows = network.link, network.flows["reno"]
    law, in_flight = link.aqm, link.capacity * network.base_rtts("reno")[0]
    assert isinstance(law, Red)
    spacing, slope = 2 / 3, float(law.max_drop) / float(law.max_thresh - law.min_thresh)

    def excess(queue: float) -> float:
        cwnd = (in_flight + queue) / flows.count
        return spacing * slope * (queue - law.min_thresh) - IID**2 / cwnd**2

    queue = root(excess, float(law.min_thresh), float(law.max_thresh))
    return queue, (in_flight + queue) / flows.count


RENO = Network(
    Link(8000.0, 2000, Red(200, 800, max_drop=0.02, weight=5e-4)),
    {
        "reno": Flows(
            40, Reno(recovery="sack"), base_rtt=0.1, start=UniformStart(1.0), initial_ssthresh=12
        )
    },
)
CUBIC = Network(
    Link(20_000.0, 12_000, Red(400, 4000, max_drop=0.01, weight=1e-4)),
    {
        "cubic": Flows(
            20,
            Cubic(friendly=False, fast_convergence=False),
            base_rtt=0.1,
            start=UniformStart(1.0),
            initial_ssthresh=60,
        )
    },
)
FRIENDLY = Network(
    Link(4000.0, 2000, Red(50, 400, max_drop=0.1, weight=5e-4)),
    {"cubic": Flows(20, Cubic(), base_rtt=0.02, start=UniformStart(1.0), initial_ssthresh=5)},
)
VEGAS = Network(
    Link(2000.0, 1000, DropTail()),
    {
        "vegas": Flows(
            10,
            Vegas(8, 10, dialect="linux"),
            host="textbook",
            base_rtt=0.1,
            start=UniformStart(1.0),
            initial_ssthresh=16,
        )
    },
)


class Means(NamedTuple):
    """Means of a run of one class.

    Args:
        utilisation: of the link.
        queue: packets.
        cwnd: packets.
        drops: share of the packets.
        rtt: s.
    """

    utilisation: float
    queue: float
    cwnd: float
    drops: float
    rtt: float


def means_of(data: xr.Dataset, warmup: float) -> Means:
    """The means of a run."""
    link = (metrics.utilisation, metrics.mean_queue, metrics.drop_share)
    utilisation, queue, drops = (float(item(data, warmup)[0]) for item in link)
    cwnd, rtt = (float(metrics.time_mean(data, name, warmup).mean()) for name in ("cwnd", "rtt"))
    return Means(utilisation, queue, cwnd, drops, rtt)


def add_teeth(figures: Figures, until: float) -> None:
    """One flow behind drop-tail."""
    laws: dict[str, CongestionControl] = {"reno": Reno(recovery="sack"), "cubic": Cubic()}
    for name, law in laws.items():
        for part in BUFFERS:
            buffer = round(part * CAPACITY * RTT)
            flows = {name: Flows(1, law, base_rtt=RTT, initial_ssthresh=CAPACITY * RTT / 2)}
            of_packets = Network(Link(CAPACITY, buffer, DropTail()), flows)
            of_fluid = Network(Link(CAPACITY, buffer, DropTail(losses="synchronised")), flows)
            samples = round(until / 0.05) + 1
            warmup = until / 4
            fluid = tooth(simulate_fluid(of_fluid, until, samples=samples), warmup)
            packets = tooth(simulate_packets(of_packets, until, samples=samples), warmup)
            theory = cubic_tooth(buffer, law) if isinstance(law, Cubic) else reno_tooth(buffer)
            for against, item in (("theory", theory), ("packets", packets)):
                add_differences(figures, f"{name}.tooth_{part:g}", fluid, item, against)


def add_differences(figures: Figures, name: str, found: Tooth, wanted: Tooth, against: str) -> None:
    """Relative differences of a saw-tooth's means and period."""
    for key, at_most in zip(Tooth._fields, TEETH, strict=True):
        difference = abs(getattr(found, key) / getattr(wanted, key) - 1)
        figures.add(f"solo.{name}.{key}.{against}", difference, at_most=at_most)


def add_reno(figures: Figures, engines: dict[str, Engine], until: float) -> None:
    """Many Reno flows under RED: the plain balance against its root, the models against packets."""
    queue, cwnd = reno_over_red(RENO)
    plain = means_of(simulate_fluid(RENO, until, options=BALANCE), until / 4)
    figures.add("solo.reno.red.queue.theory", abs(plain.queue / queue - 1), at_most=0.01)
    figures.add("solo.reno.red.cwnd.theory", abs(plain.cwnd / cwnd - 1), at_most=0.01)
    add_rests(figures, "reno.red", RENO, engines, until, 0.05)


def add_cubic(figures: Figures, engines: dict[str, Engine], until: float) -> None:
    """Many CUBIC flows under RED: W = 1.300 (R / p)^(3/4), and in the Reno-friendly region."""
    plain = means_of(simulate_fluid(CUBIC, until, options=BALANCE), until / 4)
    wanted = POOJARY_SHARMA * (plain.rtt / plain.drops) ** 0.75
    figures.add("solo.cubic.red.cwnd.theory", abs(plain.cwnd / wanted - 1), at_most=0.02)
    add_rests(figures, "cubic.red", CUBIC, engines, until, 0.05)
    add_rests(figures, "cubic.friendly", FRIENDLY, engines, until, 0.05)


def add_vegas(figures: Figures, engines: dict[str, Engine], until: float) -> None:
    """Vegas alone: N alpha to N (beta + 1) packets wait, as Linux counts them; none is lost.

    The target is wide because the equilibrium in this band depends on the initial condition.
    """
    in_flight = VEGAS.link.capacity * VEGAS.base_rtts("vegas")[0]
    flows, law = VEGAS.flows["vegas"], cast(Vegas, VEGAS.flows["vegas"].law)
    means = means_of(simulate_fluid(VEGAS, until), until / 4)
    own = (means.cwnd - in_flight / flows.count) * means.rtt / VEGAS.base_rtts("vegas")[0]
    low, high = cast(float, law.alpha), cast(float, law.beta)
    figures.add("solo.vegas.backlog", own, at_least=low, at_most=high + 1)
    add_rests(figures, "vegas.droptail", VEGAS, engines, until, 0.1)


def add_rests(
    figures: Figures,
    name: str,
    network: Network,
    engines: dict[str, Engine],
    until: float,
    at_most: float,
) -> None:
    """Add differences of the models from the packet simulator; loss ratios have no target."""
    packets = means_of(simulate_packets(network, until), until / 4)
    for engine, simulate in engines.items():
        found = means_of(simulate(network, until), until / 4)
        for key in ("utilisation", "queue", "cwnd", "rtt"):
            difference = abs(getattr(found, key) / getattr(packets, key) - 1)
            figures.add(f"solo.{name}.{key}.{engine}", difference, at_most=at_most)
        if packets.drops > 0:
            figures.add(f"solo.{name}.drops.{engine}", abs(found.drops / packets.drops - 1))


def measure(full: bool) -> Figures:
    """Measure every congestion control; with `full` also the density model."""
    keep_compiled_equations()
    figures = Figures()
    engines: dict[str, Engine] = {"fluid": simulate_fluid}
    if full:
        engines["density"] = simulate_density
    until = 400.0 if full else 200.0
    add_teeth(figures, until)
    for add in (add_reno, add_cubic, add_vegas):
        add(figures, engines, until)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

"""Formulas of networks that oscillate behind drop-tail, and of flows that join one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.signal import find_peaks

from benchmarks.formulas.cases import (
    MODELS,
    WITHOUT_SOLVER,
    Block,
    Relation,
    View,
    Views,
    fluid_runs,
    of_group,
    view_of,
)
from vegasfluid import modelfile
from vegasfluid.analysis import Equilibrium
from vegasfluid.analysis.closed_forms import (
    Formula,
    fair_backlog,
    fair_backlog_of_large_buffer,
    fair_backlog_of_small_buffer,
    last_over_first,
    persistent_queue,
    queue_after_halving,
    queue_per_alpha,
    rate_with_false_base,
    reno_utilisation,
    vegas_share,
    vegas_share_of_large_buffer,
    vegas_share_of_small_buffer,
)
from vegasfluid.analysis.equilibria.equilibrium import (
    after_events,
    equilibrium_model,
    estimate,
    finite_quantities,
)
from vegasfluid.analysis.literature import recovery_time
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import FluidOptions
from vegasfluid.network import Flows, Link, Network
from vegasfluid.trajectory import Recording

__all__ = ["sawtooth_blocks"]

SAMPLES = 4001
"""Samples of a fluid run."""
PROMINENT = 0.3
"""Smallest prominence of a peak, as a fraction of the whole range."""


def sawtooth_view(run: Recording, warmup: float) -> View:
    """Return a view with periods and minima."""
    view, late = view_of(run, warmup), run.times >= warmup
    names = list(run.network.links)
    for number, (name, group) in enumerate(view.items()):
        cwnd = run.flows["cwnd"][late][:, number].astype(float)
        peaks = peaks_of(cwnd)
        law = name.partition(".")[0]
        link = (run.network.flows[law].path or names)[0]
        queue = run.links["queue"][late][:, names.index(link)].astype(float)
        view[name] = group._replace(
            period=float(np.diff(run.times[late][peaks]).mean()) if len(peaks) > 2 else math.nan,
            lowest=float(queue[peaks_of(-queue)].mean()) if queue.any() else 0.0,
        )
    return view


def peaks_of(values: np.ndarray) -> np.ndarray:
    """Return the indices of the large peaks."""
    return find_peaks(values, prominence=PROMINENT * np.ptp(values))[0]


# ---- one flow at each buffer ---------------------------------------------------------------------

CAPACITY = 2000.0
"""Capacity of the links, packets/s."""
RTT = 0.1
"""Base round-trip time, s."""
FILLINGS = (0.2, 0.5, 1.0)
"""Buffers relative to the bandwidth-delay product."""
SMALL = 10
"""Buffer that hardly changes the round-trip time, packets."""


def single_flows(losses: str) -> Network:
    """Return one flow at each of several links."""
    laws: dict[str, CongestionControl] = {
        "back_reno": Reno(recovery="sack"),
        "back_cubic": Cubic(friendly=False, fast_convergence=False),
        "back_cubic_friendly": Cubic(fast_convergence=False),
        "back_scalable": Scalable(),
        "back_highspeed": HighSpeed(),
    }
    buffers = dict.fromkeys(laws, float(SMALL))
    pipe = CAPACITY * (RTT + sending())
    for number, filling in enumerate(FILLINGS):
        laws[f"reno_{number}"] = Reno(recovery="sack")
        buffers[f"reno_{number}"] = round(filling * pipe)
    links = {
        name: Link(CAPACITY, buffer, DropTail(losses=losses)) for name, buffer in buffers.items()
    }
    flows = {
        name: Flows(1, law, base_rtt=RTT, path=(name,), initial_ssthresh=pipe / 2)
        for name, law in laws.items()
    }
    return Network(links, flows)


def sending() -> float:
    """Return the sending time of a packet and its ACK, s."""
    return (1 + 40 / 1500) / CAPACITY


def single_block() -> Block:
    """Return the utilisation of one Reno flow, and the times in which windows recover."""
    packets = single_flows("overflow")
    pipe = CAPACITY * packets.base_rtts("back_reno")[0]
    relations = []
    for number, filling in enumerate(FILLINGS):
        name = f"reno_{number}"
        buffer = packets.links[name].buffer / pipe
        relations.append(
            Relation(
                f"reno_utilisation.{filling:g}",
                reno_utilisation(),
                f"one Reno flow, a buffer of {filling:g} C T",
                lambda _, b=buffer: reno_utilisation()(filling=min(b, 1.0)),
                of_group("one", name, lambda group: group.utilisation),
                WITHOUT_SOLVER,
            )
        )
    for name in ("reno", "cubic", "cubic_friendly", "scalable", "highspeed"):
        law = packets.flows[f"back_{name}"].law
        recovery = recovery_time(law, pipe + SMALL, pipe / CAPACITY)
        relations.append(
            Relation(
                f"recovery_time.{name}",
                None,
                f"one {name} flow of {pipe + SMALL:.0f} packets at a small buffer: from peak to "
                "peak, less two round trips (loss detection and recovery), s",
                lambda _, s=recovery.seconds: s,
                of_group("one", f"back_{name}", lambda group: group.period - 2 * group.rtt),
                WITHOUT_SOLVER,
                plain="W / 2 round trips"
                if name == "reno"
                else "time of growth from after the loss to the old window",
            )
        )
    return Block(
        "single",
        {"one": single_flows("synchronised")},
        relations,
        until=400.0,
        options=FluidOptions(),
        packets={"one": packets},
        packets_until=400.0,
        flow=partial(fluid_runs, samples=SAMPLES),
        look=sawtooth_view,
    )


# ---- Vegas beside Reno behind drop-tail ----------------------------------------------------------


def beside_reno(capacity: float, base_rtt: float, buffer: int, backlog: float) -> Network:
    """Return one Reno flow and one Vegas flow with a given backlog (packets)."""
    tuned = Vegas(backlog - 0.5, backlog + 0.5)
    laws: dict[str, CongestionControl] = {"reno": Reno(recovery="sack"), "vegas": tuned}
    flows = {
        name: Flows(1, law, base_rtt=base_rtt, initial_ssthresh=20, send_overhead=0.0)
        for name, law in laws.items()
    }
    return Network(Link(capacity, buffer), flows)


SIZES = {"even": (1000.0, 0.1, 100), "large": (1000.0, 0.005, 400), "small": (4000.0, 0.1, 40)}
"""Capacity (packets/s), base RTT (s) and buffer (packets), by name."""


def even_link() -> dict[str, float]:
    """Return the parameters of the link whose buffer is its bandwidth-delay product."""
    capacity, base_rtt, buffer = SIZES["even"]
    network = beside_reno(capacity, base_rtt, buffer, buffer / 3)
    base = network.base_rtts("reno")[0]
    return {"capacity": capacity, "base_rtt": base, "buffer": float(buffer)}


def backlogs_of_vegas() -> dict[str, float]:
    """Return the backlog of Vegas by network, packets: fair, or with a suffix another one."""
    return {
        "even": fair_backlog(**even_link()),
        "even.third": 100 / 3,
        "large": fair_backlog_of_large_buffer()(buffer=400.0),
        "large.third": 400 / 3,
        "small": fair_backlog_of_small_buffer()(buffer=40.0),
        "small.half": 20.0,
    }


def share_row(
    key: str, formula: Formula | None, network: str, backlog: float, prediction: float, **more: Any
) -> Relation:
    """Return the relation of a formula's value for Vegas's share in a network."""
    size = SIZES[network.partition(".")[0]]
    words = f"one Reno and one Vegas flow, C T = {size[0] * size[1]:.0f}, B = {size[2]}"
    words += f", d = {backlog:.1f}"
    measurement = more.pop("measurement", share_of(network))
    return Relation(key, formula, words, lambda _: prediction, measurement, WITHOUT_SOLVER, **more)


def shares(backlogs: dict[str, float]) -> list[Relation]:
    """Return the relations of Vegas's share with a full buffer."""
    halving, share = queue_after_halving(), vegas_share()
    even = even_link() | {"backlog": backlogs["even.third"]}
    lowest = halving(**even)
    fair_small, fair_large = fair_backlog_of_small_buffer(), fair_backlog_of_large_buffer()
    large, small = vegas_share_of_large_buffer(), vegas_share_of_small_buffer()
    no_fluid, no_target = {"free": ("fluid",)}, {"free": WITHOUT_SOLVER}
    at_third = {
        "measurement": of_group("even.third", "reno", lambda group: group.lowest),
        **no_fluid,
    }
    plain = {"plain": "s_v(d, q_low(d)) = 1/2", **no_fluid}

    def row(
        key: str, formula: Formula | None, network: str, prediction: float, more: Any
    ) -> Relation:
        return share_row(key, formula, network, backlogs[network], prediction, **more)

    return [
        row("queue_after_halving", halving, "even.third", lowest, at_third),
        row("vegas_share", share, "even.third", share(**even, lowest=lowest), no_fluid),
        row("fair_backlog", None, "even", 0.5, plain),
        row("vegas_share_of_large_buffer", large, "large.third", 0.4, no_fluid),
        row("fair_backlog_of_large_buffer", fair_large, "large", 0.5, no_fluid),
        row("vegas_share_of_small_buffer", small, "small.half", 0.625, no_target),
        row("fair_backlog_of_small_buffer", fair_small, "small", 0.5, no_target),
    ]


def share_block() -> Block:
    """Return the block of Vegas's share with a full buffer."""
    backlogs = backlogs_of_vegas()
    networks = {
        key: beside_reno(*SIZES[key.partition(".")[0]], backlog)
        for key, backlog in backlogs.items()
    }
    return Block(
        "share",
        networks,
        shares(backlogs),
        until=100.0,
        packets_until=800.0,
        flow=partial(fluid_runs, samples=SAMPLES),
        look=sawtooth_view,
    )


def share_of(network: str) -> Callable[[Views], float]:
    """Return a function of views: Vegas's share of the delivered packets."""

    def share(views: Views) -> float:
        reno, vegas = (views[network][name].rate for name in ("reno", "vegas"))
        return vegas / (reno + vegas)

    return share


# ---- persistent congestion -----------------------------------------------------------------------

JOINING = 6
"""Number of flows."""
APART = 150.0
"""Time between the starts of two flows, s."""
BACKLOG = 20.5
"""Equilibrium backlog of a flow with alpha = 20 in the dialect `brakmo`, packets."""
PIPE = 4000.0
"""Capacity of the link, packets/s."""


def joining() -> Network:
    """Return Vegas flows that join one by one, each when the others are at equilibrium."""
    law = Vegas(BACKLOG - 0.5, BACKLOG + 0.5)
    rtts = tuple(0.1 + 0.002 * number for number in range(JOINING))
    starts = tuple(APART * number for number in range(JOINING))
    flows = Flows(JOINING, law, base_rtt=rtts, start=starts, initial_ssthresh=2, send_overhead=0.0)
    return Network(Link(PIPE, 2000), {"vegas": flows})


def with_false_bases(network: Network, options: FluidOptions) -> Equilibrium:
    """Return the equilibrium where each flow's base RTT includes the queue at its start."""
    network = after_events(network)
    model = equilibrium_model(network, options)
    queues = [0.0, *(BACKLOG * queue_per_alpha(number) for number in range(1, JOINING))]
    groups = model.parameters.groups
    false = groups.base_rtt + jnp.array(queues) / network.link.capacity
    groups = groups._replace(base_rtt_override=false)
    model = replace(model, parameters=model.parameters._replace(groups=groups))
    low = estimate(model)
    return Equilibrium(network, options, finite_quantities(model, low.unknowns, low), low)


def persistent_block() -> Block:
    """Return the block of flows with false base RTTs."""
    first, last = "vegas", f"vegas.{JOINING - 1}"
    queue, rate = persistent_queue(), rate_with_false_base()
    before, now = (
        queue(alpha=BACKLOG, queue_per_alpha=queue_per_alpha(number))
        for number in (JOINING - 1, JOINING)
    )
    where = f"{JOINING} Vegas flows (brakmo) that join {APART:g} s apart"
    relations = [
        Relation(
            "persistent_queue",
            queue,
            where,
            lambda _: now,
            of_group("one", first, lambda group: group.queue),
        ),
        Relation(
            "rate_with_false_base",
            rate,
            f"{where}: the last one",
            lambda _: rate(capacity=PIPE, queue=now, alpha=BACKLOG, false_queue=before),
            of_group("one", last, lambda group: group.rate),
        ),
        Relation(
            "last_over_first",
            None,
            f"{where}: ratio of rates",
            lambda _: last_over_first(JOINING),
            lambda views: views["one"][last].rate / views["one"][first].rate,
            plain="x_n / x_1 = u_n / (u_n - u_(n-1))",
        ),
    ]
    return Block(
        "persistent",
        {"one": joining()},
        relations,
        until=1200.0,
        packets_until=1200.0,
        packets_after=0.75,
        solve=with_false_bases,
    )


def papers_joining() -> Block:
    """Return La, Walrand and Anantharam's ten connections, which join before equilibrium."""
    network = modelfile.load(MODELS / "la_walrand_anantharam_persistent.toml").network
    queue = persistent_queue()
    length = queue(alpha=2.0, queue_per_alpha=queue_per_alpha(10))
    words = "La, Walrand and Anantharam's ten connections (ns2, alpha = 1, beta = 3), 60 to 140 s; "
    words += "the formula with 2"
    relations = [
        Relation(
            "persistent_queue.paper",
            queue,
            words,
            lambda _: length,
            of_group("one", "vegas", lambda group: group.queue),
            WITHOUT_SOLVER,
            WITHOUT_SOLVER,
        )
    ]
    return Block(
        "joining",
        {"one": network},
        relations,
        until=140.0,
        packets_until=140.0,
        packets_after=60 / 140,
    )


def sawtooth_blocks() -> list[Block]:
    """Return all blocks of this module."""
    return [single_block(), share_block(), persistent_block(), papers_joining()]

"""Formulas of what does not rest: saw-teeth behind drop-tail, and flows that join one by one."""

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
    MOVES,
    Block,
    Relation,
    View,
    Views,
    at,
    flowed,
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

__all__ = ["teeth_blocks"]

SAMPLES = 4001
PROMINENT = 0.3
"""A peak stands out by so much of the whole range."""


def toothed(run: Recording, warmup: float) -> View:
    """A view with periods and troughs."""
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
    """Where the large peaks are."""
    return find_peaks(values, prominence=PROMINENT * np.ptp(values))[0]


# ---- one flow at each buffer ---------------------------------------------------------------------

CAPACITY, RTT = 2000.0, 0.1
"""Packets/s and seconds."""
FILLINGS = (0.2, 0.5, 1.0)
"""Buffers over what the path holds."""
SMALL = 10
"""Packets; a buffer that hardly changes the round-trip time."""


def single_flows(losses: str) -> Network:
    """One flow at each of several links."""
    laws: dict[str, CongestionControl] = {
        "back_reno": Reno(recovery="sack"),
        "back_cubic": Cubic(friendly=False, fast_convergence=False),
        "back_cubic_friendly": Cubic(fast_convergence=False),
        "back_scalable": Scalable(),
        "back_highspeed": HighSpeed(),
    }
    buffers = dict.fromkeys(laws, float(SMALL))
    held = CAPACITY * (RTT + sending())
    for number, filling in enumerate(FILLINGS):
        laws[f"reno_{number}"] = Reno(recovery="sack")
        buffers[f"reno_{number}"] = round(filling * held)
    links = {
        name: Link(CAPACITY, buffer, DropTail(losses=losses)) for name, buffer in buffers.items()
    }
    flows = {
        name: Flows(1, law, base_rtt=RTT, path=(name,), initial_ssthresh=held / 2)
        for name, law in laws.items()
    }
    return Network(links, flows)


def sending() -> float:
    """The time to put a packet and its ACK on the link, s."""
    return (1 + 40 / 1500) / CAPACITY


def single_block() -> Block:
    """How much of a link one Reno flow uses, and how long windows take to come back."""
    packets = single_flows("overflow")
    held = CAPACITY * packets.base_rtts("back_reno")[0]
    found = []
    for number, filling in enumerate(FILLINGS):
        name = f"reno_{number}"
        part = packets.links[name].buffer / held
        found.append(
            Relation(
                f"reno_utilisation.{filling:g}",
                reno_utilisation(),
                f"one Reno flow, a buffer of {filling:g} C T",
                lambda _, b=part: reno_utilisation()(filling=min(b, 1.0)),
                at("one", name, lambda of: of.utilisation),
                MOVES,
            )
        )
    for name in ("reno", "cubic", "cubic_friendly", "scalable", "highspeed"):
        law = packets.flows[f"back_{name}"].law
        there = recovery_time(law, held + SMALL, held / CAPACITY)
        found.append(
            Relation(
                f"recovery_time.{name}",
                None,
                f"one {name} flow of {held + SMALL:.0f} packets at a small buffer: from peak to "
                "peak, less two round trips (loss detection and recovery), s",
                lambda _, s=there.seconds: s,
                at("one", f"back_{name}", lambda of: of.period - 2 * of.rtt),
                MOVES,
                plain="W / 2 round trips"
                if name == "reno"
                else "time of growth from after the loss to the old window",
            )
        )
    return Block(
        "single",
        {"one": single_flows("synchronised")},
        found,
        until=400.0,
        options=FluidOptions(),
        packets={"one": packets},
        packets_until=400.0,
        flow=partial(flowed, samples=SAMPLES),
        look=toothed,
    )


# ---- Vegas beside Reno behind drop-tail ----------------------------------------------------------


def beside_reno(capacity: float, base_rtt: float, buffer: int, backlog: float) -> Network:
    """One Reno and one Vegas flow, which keeps a backlog."""
    tuned = Vegas(backlog - 0.5, backlog + 0.5)
    laws: dict[str, CongestionControl] = {"reno": Reno(recovery="sack"), "vegas": tuned}
    flows = {
        name: Flows(1, law, base_rtt=base_rtt, initial_ssthresh=20, send_overhead=0.0)
        for name, law in laws.items()
    }
    return Network(Link(capacity, buffer), flows)


SIZES = {"even": (1000.0, 0.1, 100), "large": (1000.0, 0.005, 400), "small": (4000.0, 0.1, 40)}
"""Capacity in packets/s, base RTT in s, and buffer in packets, by name."""


def even_link() -> dict[str, float]:
    """What formulas take of the link whose buffer is its bandwidth-delay product."""
    capacity, base_rtt, buffer = SIZES["even"]
    network = beside_reno(capacity, base_rtt, buffer, buffer / 3)
    base = network.base_rtts("reno")[0]
    return {"capacity": capacity, "base_rtt": base, "buffer": float(buffer)}


def backlogs_of_vegas() -> dict[str, float]:
    """The backlog that Vegas keeps, packets, by the network: a size, and where it is not fair."""
    return {
        "even": fair_backlog(**even_link()),
        "even.third": 100 / 3,
        "large": fair_backlog_of_large_buffer()(buffer=400.0),
        "large.third": 400 / 3,
        "small": fair_backlog_of_small_buffer()(buffer=40.0),
        "small.half": 20.0,
    }


def share_row(
    key: str, formula: Formula | None, network: str, backlog: float, says: float, **more: Any
) -> Relation:
    """What a formula says of Vegas's share in a network, beside what the engines have."""
    size = SIZES[network.partition(".")[0]]
    words = f"one Reno and one Vegas flow, C T = {size[0] * size[1]:.0f}, B = {size[2]}"
    words += f", d = {backlog:.1f}"
    has = more.pop("has", share_of(network))
    return Relation(key, formula, words, lambda _: says, has, MOVES, **more)


def shares(backlogs: dict[str, float]) -> list[Relation]:
    """What the formulas of the share say, beside what the networks have."""
    halving, share = queue_after_halving(), vegas_share()
    even = even_link() | {"backlog": backlogs["even.third"]}
    lowest = halving(**even)
    third, sevenths = fair_backlog_of_small_buffer(), fair_backlog_of_large_buffer()
    of_large, of_small = vegas_share_of_large_buffer(), vegas_share_of_small_buffer()
    still, small = {"free": ("fluid",)}, {"free": MOVES}
    at_third = {"has": at("even.third", "reno", lambda of: of.lowest), **still}
    plain = {"plain": "s_v(d, q_low(d)) = 1/2", **still}

    def row(key: str, formula: Formula | None, network: str, says: float, more: Any) -> Relation:
        return share_row(key, formula, network, backlogs[network], says, **more)

    return [
        row("queue_after_halving", halving, "even.third", lowest, at_third),
        row("vegas_share", share, "even.third", share(**even, lowest=lowest), still),
        row("fair_backlog", None, "even", 0.5, plain),
        row("vegas_share_of_large_buffer", of_large, "large.third", 0.4, still),
        row("fair_backlog_of_large_buffer", sevenths, "large", 0.5, still),
        row("vegas_share_of_small_buffer", of_small, "small.half", 0.625, small),
        row("fair_backlog_of_small_buffer", third, "small", 0.5, small),
    ]


def share_block() -> Block:
    """Vegas's share of a link behind a full buffer."""
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
        flow=partial(flowed, samples=SAMPLES),
        look=toothed,
    )


def share_of(network: str) -> Callable[[Views], float]:
    """Vegas's share of what is delivered."""

    def share(views: Views) -> float:
        reno, vegas = (views[network][name].rate for name in ("reno", "vegas"))
        return vegas / (reno + vegas)

    return share


# ---- persistent congestion -----------------------------------------------------------------------

JOINING, APART = 6, 150.0
"""Flows, and seconds from one to the next."""
BACKLOG = 20.5
"""Packets at which alpha = 20 rests in the textbook's dialect."""
PIPE = 4000.0
"""Packets/s."""


def joining() -> Network:
    """Vegas flows that join one by one, each when the others are at rest."""
    law = Vegas(BACKLOG - 0.5, BACKLOG + 0.5)
    trips = tuple(0.1 + 0.002 * number for number in range(JOINING))
    starts = tuple(APART * number for number in range(JOINING))
    flows = Flows(JOINING, law, base_rtt=trips, start=starts, initial_ssthresh=2, send_overhead=0.0)
    return Network(Link(PIPE, 2000), {"vegas": flows})


def with_false_bases(network: Network, options: FluidOptions) -> Equilibrium:
    """The equilibrium where each flow's base RTT includes the queue that it found at its start."""
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
    """What flows with false base RTTs have."""
    first, last = "vegas", f"vegas.{JOINING - 1}"
    queue, rate = persistent_queue(), rate_with_false_base()
    before, now = (
        queue(alpha=BACKLOG, queue_per_alpha=queue_per_alpha(number))
        for number in (JOINING - 1, JOINING)
    )
    where = f"{JOINING} Vegas flows (brakmo) that join {APART:g} s apart"
    found = [
        Relation(
            "persistent_queue", queue, where, lambda _: now, at("one", first, lambda of: of.queue)
        ),
        Relation(
            "rate_with_false_base",
            rate,
            f"{where}: the last one",
            lambda _: rate(capacity=PIPE, queue=now, alpha=BACKLOG, false_queue=before),
            at("one", last, lambda of: of.rate),
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
        found,
        until=1200.0,
        packets_until=1200.0,
        packets_after=0.75,
        solve=with_false_bases,
    )


def papers_joining() -> Block:
    """La, Walrand and Anantharam's ten connections, which do not wait for each other's rest."""
    network = modelfile.load(MODELS / "la_walrand_anantharam_persistent.toml").network
    queue = persistent_queue()
    middle = queue(alpha=2.0, queue_per_alpha=queue_per_alpha(10))
    words = "La, Walrand and Anantharam's ten connections (ns2, alpha = 1, beta = 3), 60 to 140 s; "
    words += "the formula with 2"
    found = [
        Relation(
            "persistent_queue.paper",
            queue,
            words,
            lambda _: middle,
            at("one", "vegas", lambda of: of.queue),
            MOVES,
            MOVES,
        )
    ]
    return Block(
        "joining", {"one": network}, found, until=140.0, packets_until=140.0, packets_after=60 / 140
    )


def teeth_blocks() -> list[Block]:
    """All blocks of this file."""
    return [single_block(), share_block(), persistent_block(), papers_joining()]

"""Formulas of laws that know losses, and of RED's queue, on networks whose RED marks.

Marks stand for drops so that nothing is lost, as the formulas have it. All kinds of senders share
one queue: each is to rest where its own formula says for the share of packets that is marked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from benchmarks.formulas.cases import ENGINES, RESTS, Block, Relation, Views, at
from benchmarks.formulas.independent import SACK, renos_factor
from vegasfluid.analysis import THEORY
from vegasfluid.analysis.closed_forms import (
    aimd_factor,
    cubic_crossover,
    cubic_window,
    highspeed_window,
    red_slope,
    reno_friendly_window,
    reno_loss_constant,
    reno_window,
    scalable_window,
)
from vegasfluid.analysis.literature import mathis, pftk
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.fluid import FluidOptions
from vegasfluid.network import Flows, Link, Network

__all__ = ["loss_blocks"]

CURVE = Cubic(friendly=False, fast_convergence=False)
FRIENDLY = Cubic(fast_convergence=False)
HIGHSPEED = {"low_window": 38, "high_window": 83000, "low_prob": 1e-3, "high_prob": 1e-7}


# ---- many senders at one queue -------------------------------------------------------------------

NEAR, FAR = 0.03, 0.09
"""Propagation, s."""
CURVED = Red(400, 4400, max_drop=0.0017, weight=1e-4, wait=False, ecn=True)
PROCESSES = ("iid", "periodic", "meanfield")
ONE_QUEUE = "flows of all congestion controls at one RED queue that marks"


def sharing(process: str) -> Network:
    """All kinds of senders at one queue; HighSpeed TCP where it has a formula."""
    laws: dict[str, tuple[CongestionControl, float]] = {
        "reno": (SACK, 40.0),
        "scalable": (Scalable(), 80.0),
        "curve": (CURVE, 30.0),
        "friendly": (FRIENDLY, 40.0),
    }
    if process == "periodic":
        laws["highspeed"] = (HighSpeed(), 40.0)
    count = 8
    flows = {
        name: Flows(count, law, base_rtt=NEAR, initial_ssthresh=least)
        for name, (law, least) in laws.items()
    }
    for name in ("reno", "curve"):
        both = (NEAR,) * (count // 2) + (FAR,) * (count // 2)
        flows[name] = replace(flows[name], base_rtt=both)
    return Network(Link(30_000.0, 20_000, CURVED), flows)


def alone() -> Network:
    """One sender of each kind at a queue of its own, whose marks come at nearly equal distances."""
    laws: dict[str, tuple[CongestionControl, float]] = {
        "reno": (SACK, 1e-3),
        "scalable": (Scalable(), 1e-3),
        "curve": (CURVE, 1e-3),
        "friendly": (FRIENDLY, 1e-3),
        "highspeed": (HighSpeed(), 3e-4),
    }
    links, flows = {}, {}
    for name, (law, prob) in laws.items():
        window = 1.3 / math.sqrt(prob) if name in ("reno", "friendly") else 75e-3 / prob
        rtt = 0.01 if name == "friendly" else 0.1
        held = 0.4 * window
        curve = Red(0.1 * window, 2.1 * window, max_drop=4 * prob, weight=1e-5, ecn=True)
        links[name] = Link(held / rtt, 20 * window, curve)
        flows[name] = Flows(1, law, base_rtt=rtt, path=(name,), initial_ssthresh=window / 2)
    return Network(links, flows)


def windows(process: str) -> list[Relation]:
    """The windows of all kinds of senders for one loss process."""
    phi, engines = renos_factor(process), ENGINES if process != "meanfield" else RESTS
    where = f"{ONE_QUEUE}, {process} losses"
    if process == "periodic":
        where += " (packets: one flow alone at RED with wait, W the mean over round trips)"

    def relation(name, formula, group, says, has=lambda of: of.per_round, **more):  # type: ignore[no-untyped-def]
        key = f"{name}.{process}"
        return Relation(
            key, formula, where, at("one", group, says), at("one", group, has), engines, **more
        )

    curve, friendly = cubic_window(process), reno_friendly_window(process)
    cut = {"cut": 0.3} if "cut" in friendly.takes else {}
    found = [
        relation(
            "reno_window",
            reno_window(),
            "reno",
            lambda of: reno_window()(loss_factor=phi, drop_prob=of.drop_prob),
        ),
        relation(
            "reno_loss_constant",
            reno_loss_constant(),
            "reno",
            lambda of: reno_loss_constant()(loss_factor=phi),
            lambda of: of.per_round * math.sqrt(of.drop_prob),
        ),
        relation(
            "scalable_window",
            scalable_window(process),
            "scalable",
            lambda of: scalable_window(process)(increase=0.01, cut=1 / 8, drop_prob=of.drop_prob),
        ),
        relation(
            "cubic_window",
            curve,
            "curve",
            lambda of: curve(rtt=of.rtt, drop_prob=of.drop_prob, cut=0.3, cubic_c=0.4),
            lambda of: of.cwnd,
        ),
        relation(
            "cubic_window_reno_friendly",
            friendly,
            "friendly",
            lambda of: friendly(drop_prob=of.drop_prob, **cut),
        ),
    ]
    return found + some(process, relation)


def some(process: str, relation: Callable[..., Relation]) -> list[Relation]:
    """What not every loss process has."""
    found = [crossover(process)]
    if process != "meanfield":
        found += [
            relation(
                "aimd_factor",
                aimd_factor(process),
                "reno",
                lambda of: aimd_factor(process)(cut=0.5),
                lambda of: 2 / (of.drop_prob * of.per_round**2),
            ),
            relation(
                "mathis",
                None,
                "reno",
                lambda of: mathis(of.drop_prob, of.rtt, loss_process=process),
                lambda of: of.rate,
                plain="x = c / (R sqrt(p))",
            ),
        ]
    if process == "periodic":
        found.append(
            relation(
                "highspeed_window",
                highspeed_window(),
                "highspeed",
                lambda of: highspeed_window()(drop_prob=of.drop_prob, **HIGHSPEED),
            )
        )
    if process == "iid":
        slope = red_slope(wait=False)
        found += [exponent("reno", "reno", 1.0), exponent("curve", "cubic", 0.25)]
        found.append(
            relation(
                "red_slope_no_wait",
                slope,
                "reno",
                lambda of: slope(
                    min_thresh=CURVED.min_thresh,
                    max_thresh=CURVED.max_thresh,
                    max_drop=CURVED.max_drop,
                ),
                lambda of: of.drop_prob / (of.queue - CURVED.min_thresh),
            )
        )
    return found


def crossover(process: str) -> Relation:
    """Where the two windows of CUBIC would be one, from what they are at one place."""
    edge = cubic_crossover(process)

    def meets(views: Views) -> float:
        curve, friendly = views["one"]["curve"], views["one"]["friendly"]
        return curve.drop_prob * (curve.cwnd / friendly.cwnd) ** 4

    return Relation(
        f"cubic_crossover.{process}",
        edge,
        f"{ONE_QUEUE}, {process} losses: of both windows at one p, which go as p^(-3/4), p^(-1/2)",
        at("one", "curve", lambda of: edge(rtt=of.rtt, cut=0.3, cubic_c=0.4)),
        meets,
        ENGINES if process == "iid" else RESTS,
    )


def exponent(group: str, law: str, power: float) -> Relation:
    """The ratio of the rates of flows with a short and a long RTT, x ~ R^-power.

    `tests/analysis/literature/test_utility.py` derives the powers from the drifts.
    """

    def says(views: Views) -> float:
        near, far = views["one"][group], views["one"][f"{group}.1"]
        return (near.rtt / far.rtt) ** -power

    def has(views: Views) -> float:
        return views["one"][group].rate / views["one"][f"{group}.1"].rate

    where = f"{ONE_QUEUE}, two round-trip times of {law}: ratio of rates"
    return Relation(
        f"rtt_exponent.{law}",
        None,
        where,
        says,
        has,
        plain=f"x_1 / x_2 = (R_1 / R_2)^-{power:g}",
    )


def sharing_block(process: str) -> Block:
    """Windows for one loss process."""
    return Block(
        f"windows.{process}",
        {"one": sharing(process)},
        windows(process),
        until=200.0,
        options=replace(THEORY, loss_process=process),
        packets={"one": alone()} if process == "periodic" else None,
        packets_until=1000.0 if process == "periodic" else 600.0,
        long=process == "meanfield",
    )


# ---- losses that end in timeouts -----------------------------------------------------------------

RTO = 1.0
"""Seconds: no timer is shorter, and none longer where round trips are far below it."""


def timeout_block() -> Block:
    """Throughput where packets are dropped, not marked, and some losses end in timeouts."""
    blocks = {}
    for name, count, law in (
        ("rare", 20, Red(50, 450, max_drop=0.02, weight=5e-4)),
        ("often", 40, Red(20, 120, max_drop=0.2, weight=5e-4)),
    ):
        flows = Flows(count, Reno(), base_rtt=0.1, min_rto=RTO, initial_ssthresh=8)
        blocks[name] = Network(Link(2000.0, 2 * law.max_thresh, law), {"reno": flows})
    where = "{} Reno flows over RED that drops, minimum RTO 1 s"
    found = []
    for name, count in (("rare", 20), ("often", 40)):
        words = where.format(count)
        found.append(
            Relation(
                f"pftk.{name}",
                None,
                words,
                at(name, "reno", lambda of: pftk(of.drop_prob, of.rtt, rto=RTO)),
                at(name, "reno", lambda of: of.sent),
                plain="x = 1 / (R sqrt(2 p / 3) + T_0 min(1, 3 sqrt(3 p / 8)) p (1 + 32 p^2))",
                free=RESTS,
            )
        )
    found.append(
        Relation(
            "mathis.drops",
            None,
            where.format(20),
            at("rare", "reno", lambda of: mathis(of.drop_prob, of.rtt, loss_process="iid")),
            at("rare", "reno", lambda of: of.sent),
            plain="x = c / (R sqrt(p))",
            free=RESTS,
        )
    )
    return Block(
        "timeouts", blocks, found, until=400.0, options=FluidOptions(), packets_until=400.0
    )


def loss_blocks() -> list[Block]:
    """All blocks of this file."""
    return [*map(sharing_block, PROCESSES), timeout_block()]

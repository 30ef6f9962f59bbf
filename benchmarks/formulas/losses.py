"""Formulas of loss-based congestion control and of RED's queue, on networks whose RED marks.

Marks replace drops, so that nothing is lost, as the formulas assume. Flows of all congestion
controls share one queue; each should have the window of its formula at the common marking
probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from benchmarks.formulas.cases import ENGINES, WITHOUT_PACKETS, Block, Relation, Views, of_group
from benchmarks.formulas.independent import SACK, reno_loss_factor
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
"""CUBIC without its Reno-friendly region."""
FRIENDLY = Cubic(fast_convergence=False)
"""CUBIC with its Reno-friendly region."""
HIGHSPEED = {"low_window": 38, "high_window": 83000, "low_prob": 1e-3, "high_prob": 1e-7}
"""Parameters of HighSpeed TCP's formula (RFC 3649)."""


# ---- many senders at one queue -------------------------------------------------------------------

NEAR = 0.03
"""Short base round-trip time, s."""
FAR = 0.09
"""Long base round-trip time, s."""
CURVED = Red(400, 4400, max_drop=0.0017, weight=1e-4, wait=False, ecn=True)
"""RED of the shared queue, with thresholds in packets."""
PROCESSES = ("iid", "periodic", "meanfield")
"""Loss processes."""
ONE_QUEUE = "flows of all congestion controls at one RED queue that marks"
"""Description of the network for the page."""


def sharing(process: str) -> Network:
    """Return flows of all congestion controls at one queue; HighSpeed TCP if it has a formula."""
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
        name: Flows(count, law, base_rtt=NEAR, initial_ssthresh=ssthresh)
        for name, (law, ssthresh) in laws.items()
    }
    for name in ("reno", "curve"):
        rtts = (NEAR,) * (count // 2) + (FAR,) * (count // 2)
        flows[name] = replace(flows[name], base_rtt=rtts)
    return Network(Link(30_000.0, 20_000, CURVED), flows)


def alone() -> Network:
    """Return one flow of each congestion control, at separate queues with nearly periodic marks."""
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
        pipe = 0.4 * window
        curve = Red(0.1 * window, 2.1 * window, max_drop=4 * prob, weight=1e-5, ecn=True)
        links[name] = Link(pipe / rtt, 20 * window, curve)
        flows[name] = Flows(1, law, base_rtt=rtt, path=(name,), initial_ssthresh=window / 2)
    return Network(links, flows)


def windows(process: str) -> list[Relation]:
    """Return the relations of the windows for one loss process."""
    phi, engines = reno_loss_factor(process), ENGINES if process != "meanfield" else WITHOUT_PACKETS
    where = f"{ONE_QUEUE}, {process} losses"
    if process == "periodic":
        where += " (packets: one flow alone at RED with wait, W the mean over round trips)"

    def relation(
        name, formula, group, prediction, measurement=lambda group: group.per_round, **more
    ):  # type: ignore[no-untyped-def]
        key = f"{name}.{process}"
        return Relation(
            key,
            formula,
            where,
            of_group("one", group, prediction),
            of_group("one", group, measurement),
            engines,
            **more,
        )

    curve, friendly = cubic_window(process), reno_friendly_window(process)
    cut = {"cut": 0.3} if "cut" in friendly.arguments else {}
    relations = [
        relation(
            "reno_window",
            reno_window(),
            "reno",
            lambda group: reno_window()(loss_factor=phi, drop_prob=group.drop_prob),
        ),
        relation(
            "reno_loss_constant",
            reno_loss_constant(),
            "reno",
            lambda group: reno_loss_constant()(loss_factor=phi),
            lambda group: group.per_round * math.sqrt(group.drop_prob),
        ),
        relation(
            "scalable_window",
            scalable_window(process),
            "scalable",
            lambda group: scalable_window(process)(
                increase=0.01, cut=1 / 8, drop_prob=group.drop_prob
            ),
        ),
        relation(
            "cubic_window",
            curve,
            "curve",
            lambda group: curve(rtt=group.rtt, drop_prob=group.drop_prob, cut=0.3, cubic_c=0.4),
            lambda group: group.cwnd,
        ),
        relation(
            "cubic_window_reno_friendly",
            friendly,
            "friendly",
            lambda group: friendly(drop_prob=group.drop_prob, **cut),
        ),
    ]
    return relations + further_relations(process, relation)


def further_relations(process: str, relation: Callable[..., Relation]) -> list[Relation]:
    """Return the relations that not every loss process has."""
    relations = [crossover(process)]
    if process != "meanfield":
        relations += [
            relation(
                "aimd_factor",
                aimd_factor(process),
                "reno",
                lambda group: aimd_factor(process)(cut=0.5),
                lambda group: 2 / (group.drop_prob * group.per_round**2),
            ),
            relation(
                "mathis",
                None,
                "reno",
                lambda group: mathis(group.drop_prob, group.rtt, loss_process=process),
                lambda group: group.rate,
                plain="x = c / (R sqrt(p))",
            ),
        ]
    if process == "periodic":
        relations.append(
            relation(
                "highspeed_window",
                highspeed_window(),
                "highspeed",
                lambda group: highspeed_window()(drop_prob=group.drop_prob, **HIGHSPEED),
            )
        )
    if process == "iid":
        slope = red_slope(wait=False)
        relations += [exponent("reno", "reno", 1.0), exponent("curve", "cubic", 0.25)]
        relations.append(
            relation(
                "red_slope_no_wait",
                slope,
                "reno",
                lambda group: slope(
                    min_thresh=CURVED.min_thresh,
                    max_thresh=CURVED.max_thresh,
                    max_drop=CURVED.max_drop,
                ),
                lambda group: group.drop_prob / (group.queue - CURVED.min_thresh),
            )
        )
    return relations


def crossover(process: str) -> Relation:
    """Return the relation of the probability at which CUBIC's two windows are equal.

    It is extrapolated from both windows at one probability.
    """
    edge = cubic_crossover(process)

    def meets(views: Views) -> float:
        curve, friendly = views["one"]["curve"], views["one"]["friendly"]
        return curve.drop_prob * (curve.cwnd / friendly.cwnd) ** 4

    return Relation(
        f"cubic_crossover.{process}",
        edge,
        f"{ONE_QUEUE}, {process} losses: of both windows at one p, which go as p^(-3/4), p^(-1/2)",
        of_group("one", "curve", lambda group: edge(rtt=group.rtt, cut=0.3, cubic_c=0.4)),
        meets,
        ENGINES if process == "iid" else WITHOUT_PACKETS,
    )


def exponent(group: str, law: str, power: float) -> Relation:
    """Return the relation of the ratio of rates of a short and a long RTT, x ~ R^-power.

    `tests/analysis/literature/test_utility.py` derives the powers from the drifts.
    """

    def prediction(views: Views) -> float:
        near, far = views["one"][group], views["one"][f"{group}.1"]
        return (near.rtt / far.rtt) ** -power

    def measurement(views: Views) -> float:
        return views["one"][group].rate / views["one"][f"{group}.1"].rate

    where = f"{ONE_QUEUE}, two round-trip times of {law}: ratio of rates"
    return Relation(
        f"rtt_exponent.{law}",
        None,
        where,
        prediction,
        measurement,
        plain=f"x_1 / x_2 = (R_1 / R_2)^-{power:g}",
    )


def sharing_block(process: str) -> Block:
    """Return the windows for one loss process."""
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
"""Smallest retransmission timeout, s; far above round trips, so that all timeouts have it."""


def timeout_block() -> Block:
    """Return throughputs where packets are dropped and some losses lead to timeouts."""
    networks = {}
    for name, count, law in (
        ("rare", 20, Red(50, 450, max_drop=0.02, weight=5e-4)),
        ("often", 40, Red(20, 120, max_drop=0.2, weight=5e-4)),
    ):
        flows = Flows(count, Reno(), base_rtt=0.1, min_rto=RTO, initial_ssthresh=8)
        networks[name] = Network(Link(2000.0, 2 * law.max_thresh, law), {"reno": flows})
    where = "{} Reno flows over RED that drops, minimum RTO 1 s"
    relations = []
    for name, count in (("rare", 20), ("often", 40)):
        words = where.format(count)
        relations.append(
            Relation(
                f"pftk.{name}",
                None,
                words,
                of_group(name, "reno", lambda group: pftk(group.drop_prob, group.rtt, rto=RTO)),
                of_group(name, "reno", lambda group: group.sent),
                plain="x = 1 / (R sqrt(2 p / 3) + T_0 min(1, 3 sqrt(3 p / 8)) p (1 + 32 p^2))",
                free=WITHOUT_PACKETS,
            )
        )
    relations.append(
        Relation(
            "mathis.drops",
            None,
            where.format(20),
            of_group(
                "rare", "reno", lambda group: mathis(group.drop_prob, group.rtt, loss_process="iid")
            ),
            of_group("rare", "reno", lambda group: group.sent),
            plain="x = c / (R sqrt(p))",
            free=WITHOUT_PACKETS,
        )
    )
    return Block(
        "timeouts", networks, relations, until=400.0, options=FluidOptions(), packets_until=400.0
    )


def loss_blocks() -> list[Block]:
    """Return all blocks of this module."""
    return [*map(sharing_block, PROCESSES), timeout_block()]

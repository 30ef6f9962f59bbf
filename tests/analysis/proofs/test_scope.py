"""Networks and wishes that the proof does not cover are rejected."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.proofs.oracle import BASE, RENO, VEGAS, mixed
from vegasfluid import Event, Flows, HighSpeed, InvalidInput, Link, Network, OnOff
from vegasfluid.analysis.proofs import certify_alpha
from vegasfluid.analysis.proofs.problem import CubicFlows, RedProfile


def with_link(**given: Any) -> Network:
    return Network(replace(BASE.link, **given), BASE.flows)


def with_flows(**given: Any) -> Network:
    return Network(BASE.link, {**BASE.flows, **given})


def with_two_links() -> Network:
    flows = {name: replace(group, path=("a", "b")) for name, group in BASE.flows.items()}
    return Network({"a": BASE.link, "b": BASE.link}, flows)


RED = BASE.link.aqm
UNSUPPORTED = {
    "drop-tail": (Network(Link(5000.0, 900), BASE.flows), "aqm must be red"),
    "adaptive": (with_link(aqm=replace(RED, adaptive=True)), "adaptive must be False"),
    "jitter": (with_link(jitter=0.001), "jitter must be 0"),
    "links": (with_two_links(), "links must be a single link"),
    "events": (
        Network(BASE.link, BASE.flows, events=(Event(1.0, "access", 0.1, "reno"),)),
        "events must be none",
    ),
    "highspeed": (with_flows(fast=Flows(1, HighSpeed(), base_rtt=0.05)), "law must be reno"),
    "other Vegas": (with_flows(more=VEGAS), "law must be reno"),
    "alone": (Network(BASE.link, {"vegas": VEGAS}), "at least one class, but is none"),
    "not Vegas": (with_flows(vegas=RENO), "law must be vegas to be tuned"),
    "no such class": (Network(BASE.link, {"reno": RENO}), "tuned must be one of reno"),
    "ns-3": (mixed("ns3"), "dialect must be one of brakmo, ns2, linux"),
    "round trips": (
        with_flows(reno=replace(RENO, base_rtt=(0.04,) * 4 + (0.05,))),
        "base_rtt must be the same for all flows",
    ),
    "traffic": (
        with_flows(reno=replace(RENO, traffic=OnOff(1.0, 1.0, 100.0))),
        "traffic must be bulk",
    ),
    "reverse": (with_flows(reno=replace(RENO, direction="reverse")), "direction must be forward"),
    "delayed ACKs": (with_flows(reno=replace(RENO, delayed_ack=0.1)), "delayed_ack must be 0"),
    "never drops": (with_link(buffer=90), "min_thresh must be below 89"),
    "too many flows": (
        with_flows(reno=replace(RENO, count=5000)),
        "equilibrium queue must be at most 300 packets",
    ),
    "max_window": (with_flows(reno=replace(RENO, max_window=20)), "may be limited by max_window"),
    "access": (with_flows(reno=replace(RENO, access=300.0)), "limited by its access links"),
    "some marked": (
        Network(
            replace(BASE.link, aqm=replace(RED, ecn=True)),
            {**BASE.flows, "reno": replace(RENO, ecn=False)},
        ),
        "ecn must be the same in all classes",
    ),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_networks_that_the_proof_does_not_cover(case):
    network, message = UNSUPPORTED[case]
    with pytest.raises(InvalidInput) as error:
        certify_alpha(network, ratio=0.8)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ratio": 0.0}, "ratio must be above 0"),
        ({"ratio": math.nan}, "ratio must be a finite number"),
        ({"epsilon": 1.5}, "epsilon must be at most 1"),
        ({"loss_process": "often"}, "loss_process must be one of"),
    ],
)
def test_wishes_that_make_no_sense(given, message):
    with pytest.raises(InvalidInput, match=message):
        certify_alpha(BASE, **given)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (RedProfile, (20.0, 80.0, 0.1, False, False, False)),
        (CubicFlows, (3, 0.1, 1e5, None, "cubic", 0.4, 0.7, True, True)),
    ],
)
def test_unknown_implementations_are_invalid(kind: type, values: tuple[Any, ...]) -> None:
    """A certificate from elsewhere may name any; RED's and CUBIC's equations depend on it."""
    assert kind(*values, implementation="linux").implementation == "linux"
    with pytest.raises(InvalidInput, match=r"implementation must be one of .*linux.*'bsd'"):
        kind(*values, implementation="bsd")

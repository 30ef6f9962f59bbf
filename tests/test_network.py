"""What is connected to what, and what is rejected."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid import read_model
from vegasfluid.analysis import equilibrium
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms
from vegasfluid.traffic.bulk import Bulk

LINK = Link(capacity=1000.0, buffer=100)
RENO = Flows(5, Reno(), base_rtt=0.04)
CLOSER = Event(1.0, "bottleneck", 0.0)


def weigle_feng(number: int) -> Network:
    """LA-UR-01-3420, table 1: link, access links, delays one way."""
    link, delay, access, access_delay = {
        1: (1.55, 4.0, 10, 4.0),
        2: (155, 1.5, 100, 1.0),
    }[number]
    flows = Flows(25, Reno(), access=mbps(access), access_delay=ms(access_delay))
    return Network(Link(mbps(link), 33554, delay=ms(delay)), {"reno": flows})


@pytest.mark.parametrize(
    ("number", "scenario", "seconds"),
    [(1, "fig3_q10_oneway_s1", 0.0344124), (2, "net2_oneway_a134_b139_gentle_start", 0.00732588)],
)
def test_the_smallest_round_trip_is_that_of_the_ns2_harness(
    number: int, scenario: str, seconds: float, reference: dict[str, Any]
) -> None:
    stated = reference[scenario]["flows"][0]["base_rtt_with_serialisation_s"]
    assert stated == seconds
    rtts = weigle_feng(number).base_rtts("reno")
    assert rtts == pytest.approx([stated] * 25, rel=1e-6)  # it prints six digits


def test_the_smallest_round_trip_worked_by_hand() -> None:
    """Four access delays, two of the link; 1.04 packets' bits on three links."""
    link = Link(500.0, 10, delay=0.005)  # 2 ms a packet
    flows = Flows(1, Reno(), access=1000.0, access_delay=0.001)  # 1 ms a packet
    network = Network(link, {"one": flows}, packet_bytes=1000, ack_bytes=40)
    assert network.base_rtts("one")[0] == pytest.approx(0.014 + 1.04 * (0.002 + 2 * 0.001))
    assert network.bandwidth_delay() == pytest.approx(500 * 0.01816)


def test_propagation_is_given_by_flow_or_by_class() -> None:
    assert Flows(2, Reno(), base_rtt=(0.01, 0.02)).propagation([LINK]) == (0.01, 0.02)
    assert Flows(2, Reno(), base_rtt=0.04).propagation([LINK]) == (0.04, 0.04)
    far = Link(1000.0, 10, delay=0.01)
    assert Flows(1, Reno(), access_delay=0.005).propagation([far]) == pytest.approx((0.04,))


def test_networks_are_values() -> None:
    network = Network(LINK, {"reno": RENO, "vegas": Flows(5, Vegas(), base_rtt=0.04)})
    tuned = network.with_law("vegas", Vegas(alpha=10, beta=12))
    assert network.flows["vegas"].law == Vegas()
    assert tuned.flows["vegas"].law == Vegas(alpha=10, beta=12)
    assert tuned.flows["reno"] is RENO
    assert tuned.with_law("vegas", Vegas()) == network
    with pytest.raises(dataclasses.FrozenInstanceError):
        network.packet_bytes = 1000  # type: ignore[misc]


def test_a_single_link_has_a_name() -> None:
    assert list(Network(LINK, {"reno": RENO}).links) == ["bottleneck"]
    assert Network(LINK, {"reno": RENO}).link is LINK
    two = Network({"a": LINK, "b": LINK}, {"reno": dataclasses.replace(RENO, path=("a", "b"))})
    with pytest.raises(InvalidInput, match="links must be a single link, but is 2 links"):
        _ = two.link


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "Flows: base_rtt must be given, or else access_delay, but is missing."),
        (
            {"base_rtt": 0.04, "access_delay": 0.01},
            "Flows: base_rtt must be left out where access_delay is given, but is 0.04.",
        ),
        (
            {"base_rtt": (0.04, 0.05)},
            "Flows: base_rtt must be one value, or 3 values, but is 2 values.",
        ),
        (
            {"base_rtt": 0.04, "start": (1.0,)},
            "Flows: start must be one value, or 3 values, but is 1 values.",
        ),
        ({"base_rtt": 0.0}, "Flows: base_rtt must be above 0, but is 0.0."),
        ({"base_rtt": (0.1, 0.0, 0.1)}, "Flows: base_rtt must be above 0, but is 0.0."),
        ({"base_rtt": 0.04, "start": -1.0}, "Flows: start must be at least 0, but is -1.0."),
        (
            {"base_rtt": 0.04, "direction": "up"},
            "Flows: direction must be forward or reverse, but is 'up'.",
        ),
        ({"base_rtt": 0.04, "min_rto": 0.0}, "Flows: min_rto must be above 0, but is 0.0."),
        (
            {"base_rtt": 0.04, "initial_ssthresh": 1.0},
            "Flows: initial_ssthresh must be at least 2, but is 1.0.",
        ),
        ({"base_rtt": "40 ms"}, "Flows: base_rtt must be a number, but is '40 ms'."),
        (
            {"base_rtt": 0.04, "quick_acks": float("inf")},
            "Flows: quick_acks must be a finite number, but is inf.",
        ),
        ({"base_rtt": True}, "Flows: base_rtt must be a number, but is 'True'."),
        ({"base_rtt": 0.04, "start": None}, "Flows: start must be a number, but is 'None'."),
        (
            {"base_rtt": 0.04, "quick_acks": 2.5},
            "Flows: quick_acks must be a whole number, but is 2.5.",
        ),
        ({"base_rtt": 0.04, "path": "a"}, "Flows: path must be a list, but is 'a'."),
        (
            {"base_rtt": 0.04, "traffic": "cbr"},
            "Flows: traffic must be an instance of TrafficSource, but is 'cbr'.",
        ),
        (
            {"base_rtt": 0.04, "traffic": Bulk},
            "Flows: traffic must be an instance of TrafficSource, but is 'Bulk'.",
        ),
    ],
)
def test_invalid_flows_are_rejected(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Flows(3, Reno(), **fields)
    assert str(caught.value) == line


@pytest.mark.parametrize("law", ["reno", Reno])
def test_a_congestion_control_is_an_instance(law: Any) -> None:
    with pytest.raises(InvalidInput, match="law must be an instance of CongestionControl"):
        Flows(3, law, base_rtt=0.04)


def test_lists_and_arrays_give_one_value_per_flow() -> None:
    for values in ([0.04, 0.05], np.array([0.04, 0.05])):
        flows = Flows(2, Reno(), base_rtt=values, start=[0.0, 1.0])  # type: ignore[arg-type]
        assert flows == Flows(2, Reno(), base_rtt=(0.04, 0.05), start=(0.0, 1.0))
        assert hash(flows) == hash(Flows(2, Reno(), base_rtt=(0.04, 0.05), start=(0.0, 1.0)))


@pytest.mark.parametrize("count", [0, 1_000_001])
def test_a_class_has_at_least_one_flow_and_at_most_a_million(count: int) -> None:
    with pytest.raises(InvalidInput, match="Flows: count must be at"):
        Flows(count, Reno(), base_rtt=0.04)


@pytest.mark.parametrize(
    ("link", "line"),
    [
        ({"capacity": 0.0, "buffer": 9}, "Link: capacity must be above 0, but is 0.0."),
        ({"capacity": 9.0, "buffer": 0}, "Link: buffer must be at least 1, but is 0."),
        (
            {"capacity": 9.0, "buffer": 9, "delay": -1.0},
            "Link: delay must be at least 0, but is -1.0.",
        ),
        (
            {"capacity": 9.0, "buffer": 9, "aqm": "red"},
            "Link: aqm must be an instance of QueueDiscipline, but is 'red'.",
        ),
    ],
)
def test_invalid_links_are_rejected(link: dict[str, float], line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Link(**link)
    assert str(caught.value) == line


def build(links: Any = LINK, flows: dict[str, Flows] | None = None, **fields: Any) -> Network:
    return Network(links, {"reno": RENO} if flows is None else flows, **fields)


TWO = {"a": LINK, "b": LINK}


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"flows": {}},
            "Network: flows must be at least one class of flows, but is none.",
        ),
        ({"links": {}}, "Network: links must be at least one link, but is none."),
        (
            {"links": TWO},
            "flows.reno: path must be given where there are several links, but is missing.",
        ),
        (
            {"flows": {"reno": dataclasses.replace(RENO, path=("c",))}},
            "flows.reno: path must be one of bottleneck, but is 'c'.",
        ),
        (
            {"events": (Event(1.0, "c", 0.1),)},
            "events[0]: link must be access or one of bottleneck, but is 'c'.",
        ),
        (
            {"events": (Event(1.0, "access", 0.1, flows="vegas"),)},
            "events[0]: flows must be one of reno, but is 'vegas'.",
        ),
        (
            {"events": (Event(2.0, "bottleneck", 0.1), Event(1.0, "bottleneck", 0.2))},
            "events[1]: at must be at least 2, the time of the previous event, but is 1.0.",
        ),
        (
            {"events": (Event(1.0, "bottleneck", 0.05), Event(2.0, "access", 0.09))},
            "events[1]: delay must be at least twice the delay of its links (0.1 s), but is 0.09.",
        ),
        (
            {"links": dataclasses.replace(LINK, delay=0.02), "events": (CLOSER,)},
            "events[0]: delay must be above 0, as the base_rtt of reno must remain above 0, "
            "but is 0.0.",
        ),
        (
            {"flows": {"reno": dataclasses.replace(RENO, path=())}},
            "flows.reno: path must be at least one link, but is none.",
        ),
        (
            {"flows": {"reno": Reno()}},
            "Network: flows['reno'] must be an instance of Flows, but is 'Reno'.",
        ),
        (
            {"flows": [RENO]},
            "Network: flows must be a mapping of names to instances of Flows, but is 'list'.",
        ),
        (
            {"links": "bottleneck"},
            "Network: links must be a mapping of names to instances of Link, but is 'str'.",
        ),
        ({"packet_bytes": 0}, "Network: packet_bytes must be at least 1, but is 0."),
        ({"ack_bytes": 65536}, "Network: ack_bytes must be at most 65535, but is 65536."),
    ],
)
def test_invalid_networks_are_rejected(parts: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build(**parts)
    assert str(caught.value) == line


def test_a_link_that_a_path_crosses_twice_counts_twice() -> None:
    """By hand: 50 ms, and twice the change of 9 ms for each of two crossings."""
    links = {"a": Link(1000.0, 100, delay=0.001), "b": Link(1000.0, 100)}
    flows = {"reno": Flows(1, Reno(), base_rtt=0.05, path=("a", "b", "a"))}
    *_, later = Network(links, flows, events=(Event(1.0, "a", 0.01),)).stages()
    assert later.flows["reno"].base_rtt == pytest.approx((0.086,))


def test_an_event_beyond_the_clock_names_the_event() -> None:
    flows = {"reno": Flows(1, Reno(), base_rtt=9e4)}
    with pytest.raises(InvalidInput, match=r"events\[0\]: delay must be one after which base_rtt"):
        Network(Link(1000.0, 100), flows, events=(Event(1.0, "bottleneck", 1e4),))


def test_an_event_must_fit_the_delays_that_earlier_ones_left() -> None:
    """Over 10 ms 15 ms of round trip are too few, but not after the link has become shorter."""
    link = dataclasses.replace(LINK, delay=0.01)
    events = (CLOSER, Event(2.0, "access", 0.015))
    *_, last = Network(link, {"reno": RENO}, events=events).stages()
    assert last.flows["reno"].base_rtt == 0.015
    with pytest.raises(InvalidInput, match="events"):
        Network(link, {"reno": RENO}, events=events[1:])


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: Vegas(alpha=5, beta=4),
            "Vegas: alpha must be at most beta (4), but is 5.",
        ),
        (
            lambda: Vegas(alpha=1.5, beta=4, dialect="linux"),
            "Vegas: alpha must be a whole number in the dialect linux, but is 1.5.",
        ),
        (
            lambda: Vegas(dialect="bsd"),
            "Vegas: dialect must be one of brakmo, ns2, ns3, linux, but is 'bsd'.",
        ),
        (
            lambda: Red(80, 80),
            "Red: min_thresh must be below max_thresh (80), but is 80.",
        ),
        (lambda: Red(20, 80, weight=1.0), "Red: weight must be below 1, but is 1.0."),
        (lambda: UniformStart(-1.0), "UniformStart: spread must be at least 0, but is -1.0."),
    ],
)
def test_invalid_laws_are_rejected(make: Any, line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert str(caught.value) == line


def test_what_is_probably_a_mistake_is_a_warning() -> None:
    slow = Flows(2, Reno(), base_rtt=0.04, access=400.0)
    early = Link(1000.0, 50, Red(20, 80))
    assert Network(LINK, {"reno": RENO}).warnings() == []
    assert Network(LINK, {"slow": slow}).warnings() == [
        "the access links together cannot fill the link."
    ]
    assert Network(early, {"reno": RENO}).warnings() == [
        "the buffer is full before the AQM's upper threshold is reached."
    ]


@pytest.mark.parametrize(
    ("link", "base_rtt", "sentences"),
    [
        (Link(10, 200), 0.04, ["bottleneck takes 20 s to send a full buffer at 10 packets/s"]),
        (Link(10, 100), 0.04, []),
        (Link(1000.0, 50), 40, ["reno has a base RTT of 40 s; were milliseconds meant?"]),
        (Link(1000.0, 50), [0.04, 10.5], ["reno has a base RTT of 10.5 s"]),
        (Link(1000.0, 50, delay=30.0), None, ["reno has a base RTT of 60 s"]),
        (Link(1000.0, 50), 2.6, []),
    ],
)
def test_numbers_in_another_unit_are_a_warning(
    link: Link, base_rtt: Any, sentences: list[str]
) -> None:
    """The times are products and quotients of the given numbers; the Moon is 1.3 light s away."""
    delay = {"access_delay": 0.0} if base_rtt is None else {"base_rtt": base_rtt}
    found = Network(link, {"reno": Flows(2, Reno(), **delay)}).warnings()
    assert len(found) == len(sentences)
    assert all(map(str.startswith, found, sentences)), found


def test_an_unknown_class_is_rejected_by_its_name() -> None:
    network, line = build(), "Network: flows must be one of reno, but is 'vegas'."
    for asked in (
        lambda: network.with_law("vegas", Reno()),
        lambda: network.base_rtts("vegas"),
        lambda: network.path_of("vegas"),
        lambda: network.send_overhead("vegas"),
    ):
        with pytest.raises(InvalidInput) as caught:
            asked()
        assert str(caught.value) == line


@pytest.mark.parametrize(
    "simulate",
    [vf.simulate_fluid, vf.simulate_density, vf.simulate_packets],
    ids=lambda x: x.__name__,
)
def test_what_is_no_network_is_rejected_before_it_is_simulated(simulate: Any) -> None:
    """A model has a network, and is none."""
    for given, shown in (
        (read_model("weigle_feng_network1"), "Model"),
        ("network.toml", "network.toml"),
    ):
        with pytest.raises(InvalidInput) as caught:
            simulate(given, until=5.0)
        wanted = "network must be a Network (that of a model file is read_model(...).network)"
        assert str(caught.value) == f"{simulate.__name__}: {wanted}, but is '{shown}'."
    with pytest.raises(InvalidInput, match="simulate_seeds: network must be"):
        vf.simulate_seeds("network.toml", until=5.0, seeds=[1])  # type: ignore[arg-type]
    for analysed in (equilibrium, vf.recommend):
        with pytest.raises(InvalidInput, match="network must be a Network"):
            analysed("network.toml")

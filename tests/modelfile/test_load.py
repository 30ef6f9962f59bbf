"""The model has the values of the file, in internal units."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter

from tests.paths import ROOT
from vegasfluid import simulate_packets
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.model import Model
from vegasfluid.modelfile import dumps, load, loads
from vegasfluid.modelfile.derived_models import Reading, reader
from vegasfluid.modelfile.units import from_file_unit
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.quantities import (
    Delay,
    PacketsPerSecond,
    Positive,
    Share,
    Value,
    mbps,
    ms,
    unit_of,
)
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import Sessions

MODELS = sorted((ROOT / "models").glob("*.toml"))

SMALLEST = """
duration_s = 10
[bottleneck]
capacity_mbps = 12
buffer_packets = 100
[flows.reno]
count = 3
base_rtt_ms = 40
law = { name = "reno" }
"""

EVERYTHING = """
title = "all keys"
source = "this test"
duration_s = 72.5
warmup_s = 10
packet_bytes = 1000
ack_bytes = 52

[links.uplink]
capacity_mbps = 1.5
delay_ms = 20
buffer_packets = 90
jitter_ms = 0.5
jitter_reorders = true
aqm = { name = "red", min_thresh_packets = 5, max_thresh_packets = 10, max_drop = 0.02, weight = 0.01, gentle = true, wait = false, ecn = false, adaptive = false }

[links.downlink]
capacity_mbps = 10
buffer_packets = 1e2
aqm = { name = "droptail" }

[flows.zebra]
count = 2
access_mbps = 10
access_delay_ms = 1.5
start_s = [0, 2.5]
law = { name = "vegas", alpha_packets = 1, beta_packets = 3, gamma_packets = 2, dialect = "ns2", softness_packets = 0.5 }
traffic = { name = "cbr", rate_mbps = 0.8 }
direction = "reverse"
path = ["uplink", "downlink"]
max_window_packets = 20
initial_window_packets = 2
initial_ssthresh_packets = 64
min_rto_s = 1

[flows.ant]
count = 2
base_rtt_ms = [40, 80.5]
start_s = { spread_s = 1.0 }
law = { name = "vegas", dialect = "linux" }
path = ["uplink"]

[[events]]
at_s = 36
link = "access"
flows = "zebra"
delay_ms = 484

[[events]]
at_s = 40
link = "uplink"
delay_ms = 1
"""  # noqa: E501


def flows_of(**keys: str) -> Flows:
    """The class `reno` of the smallest model, with more keys."""
    more = "\n".join(f"{key} = {value}" for key, value in keys.items())
    return loads(SMALLEST + more).network.flows["reno"]


def test_the_smallest_model_takes_every_default() -> None:
    network = Network(
        Link(capacity=1000.0, buffer=100.0), {"reno": Flows(3, Reno(), base_rtt=0.04)}
    )
    assert loads(SMALLEST) == Model(network, duration=10.0)
    assert (network.packet_bytes, network.ack_bytes_of("reno")) == (1500, 40)
    assert network.flows["reno"].traffic == Bulk()
    assert network.link.aqm == DropTail()


def test_every_key_is_read() -> None:
    red = Red(5, 10, max_drop=0.02, weight=0.01, gentle=True, wait=False)
    uplink = Link(mbps(1.5, 1000), 90, aqm=red, delay=0.02, jitter=0.0005, jitter_reorders=True)
    zebra = Flows(
        2,
        Vegas(alpha=1, beta=3, gamma=2, dialect="ns2", softness=0.5),
        access=1250.0,
        access_delay=0.0015,
        start=(0.0, 2.5),
        traffic=Cbr(100.0),
        direction="reverse",
        path=("uplink", "downlink"),
        max_window=20,
        initial_window=2,
        initial_ssthresh=64,
        min_rto=1,
    )
    ant = Flows(
        2,
        Vegas(dialect="linux"),
        base_rtt=(0.04, 0.0805),
        start=UniformStart(1.0),
        path=("uplink",),
    )
    network = Network(
        {"uplink": uplink, "downlink": Link(1250.0, 100)},
        {"zebra": zebra, "ant": ant},
        packet_bytes=1000,
        ack_bytes=52,
        events=(Event(36, "access", 0.484, "zebra"), Event(40, "uplink", 0.001)),
    )
    assert loads(EVERYTHING) == Model(network, 72.5, 10, "all keys", "this test")


def test_the_order_of_links_and_flows_is_kept() -> None:
    network = loads(EVERYTHING).network
    assert list(network.links) == ["uplink", "downlink"]
    assert list(network.flows) == ["zebra", "ant"]


@pytest.mark.parametrize(
    ("written", "traffic"),
    [
        ('{ name = "bulk" }', Bulk()),
        ('{ name = "cbr", rate_mbps = 12 }', Cbr(1000.0)),
        ('{ name = "poisson", mean_interval_ms = 10 }', Poisson(0.01)),
        ('{ name = "on_off", on_ms = 30, off_ms = 70, rate_mbps = 12 }', OnOff(0.03, 0.07, 1000.0)),
        ('{ name = "sessions", mean_gap_s = 0.5, mean_size_mb = 10 }', Sessions(0.5, 10.0)),
    ],
)
def test_traffic(written: str, traffic: Any) -> None:
    assert flows_of(traffic=written).traffic == traffic


def test_numbers_become_floats_and_counts_stay_whole() -> None:
    model = loads(SMALLEST)
    assert type(model.duration) is float
    assert type(model.network.link.buffer) is float
    assert type(model.network.flows["reno"].count) is int


@pytest.mark.parametrize("megabits", ["1.55", "0.1", "155", "622", "1e3", "0.3", "9.7"])
def test_rates_are_those_of_mbps(megabits: str) -> None:
    model = loads(SMALLEST.replace("capacity_mbps = 12", f"capacity_mbps = {megabits}"))
    assert model.network.link.capacity == mbps(float(megabits))


@pytest.mark.parametrize("milliseconds", ["0.1", "0.3", "1.1", "7", "66.7", "1e-3"])
def test_delays_are_those_of_ms(milliseconds: str) -> None:
    model = loads(SMALLEST.replace("base_rtt_ms = 40", f"base_rtt_ms = {milliseconds}"))
    assert model.network.flows["reno"].base_rtt == ms(float(milliseconds))


def test_digits_beyond_a_float_are_not_lost_before_scaling() -> None:
    written = Decimal("1234.5678901234567891")
    assert from_file_unit(written, unit_of(Link, "delay"), 1500) == 1.2345678901234567891


def test_a_file_with_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())
    assert load(path) == loads(SMALLEST)
    assert load(str(path)) == loads(SMALLEST)


@dataclass(frozen=True)
class Newcomer(Value):
    """A value class that the reader has never seen."""

    rate: Annotated[PacketsPerSecond, Positive]
    pauses: tuple[Delay, ...]
    share: Share = 0.5


def test_keys_follow_from_the_annotations_of_a_value_class() -> None:
    table = {"rate_mbps": 12, "pauses_ms": [1, 2]}
    read = TypeAdapter(reader(Newcomer)).validate_python(table, context=Reading(packet_bytes=1500))
    assert read == Newcomer(1000.0, (0.001, 0.002))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_the_first_line_of_a_model_is_its_purpose(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert len(first) > 20


TABLE_1 = {  # number: count, access Mbps, access ms, Mbps, ms, buffer, RED min, RED max
    1: (1, 10, 4, 1.55, 4, 25, 5, 10),
    2: (25, 100, 1, 155, 1.5, 33554, 6711, 26843),
    3: (50, 1000, 1, 622, 1.5, 44739, 8948, 35791),
    4: (50, 1000, 15, 622, 20, 44739, 8948, 35791),
}


@pytest.mark.parametrize("number", TABLE_1)
def test_the_networks_of_weigle_and_feng(number: int) -> None:
    """Table 1 of the paper, and the packets per round trip that it states (section 4)."""
    count, access, access_delay, rate, delay, buffer, low, high = TABLE_1[number]
    network = load(ROOT / f"models/weigle_feng_network{number}.toml").network
    assert network.link == Link(
        mbps(rate), buffer, Red(low, high, max_drop=1.0, weight=0.002, wait=True), delay=ms(delay)
    )
    for name, law in (("reno", Reno()), ("vegas", Vegas(1, 3, 1, "ns2"))):
        flows = network.flows[name]
        assert (flows.count, flows.access, flows.access_delay) == (
            count,
            mbps(access),
            ms(access_delay),
        )
        assert flows.law == law
    propagation = network.flows["reno"].propagation([network.link])[0]
    assert propagation == pytest.approx({1: 0.024, 2: 0.007, 3: 0.007, 4: 0.1}[number])


def test_network_2_with_data_both_ways() -> None:
    network = load(ROOT / "models/weigle_feng_network2_two_way.toml").network
    one_way = load(ROOT / "models/weigle_feng_network2.toml").network
    assert network.link == one_way.link
    for name, flows in one_way.flows.items():
        assert network.flows[name] == flows
        assert network.flows[f"{name}_back"] == replace(flows, direction="reverse")


def test_the_networks_of_la_walrand_and_anantharam() -> None:
    """Table 3 with figure 6, and section 3 with figure 1."""
    persistent = load(ROOT / "models/la_walrand_anantharam_persistent.toml").network
    flows = persistent.flows["vegas"]
    assert persistent.link == Link(mbps(1.5, 1000), 90, delay=ms(5))
    assert flows.base_rtt == tuple(ms(rtt) for rtt in (60, 54, 48, 64, 56, 42, 74, 44, 50, 52))
    assert flows.start == (0, 2, 5, 7, 10, 15, 20, 22, 25, 40)
    rerouting = load(ROOT / "models/la_walrand_anantharam_rerouting.toml").network
    assert [(event.at, event.delay) for event in rerouting.events] == [
        (15, ms(88)),
        (36, ms(484)),
        (60, ms(88)),
    ]
    for name, start in (("moved", 0), ("other", 2)):
        assert rerouting.flows[name].base_rtt == ms(134)
        assert rerouting.flows[name].start == start


WITH_OTHER_KERNELS = {
    "la_walrand_anantharam_persistent",
    "la_walrand_anantharam_rerouting",
    "three_equilibria",
    "uncertain_office_uplink",
    "weigle_feng_network2_two_way",
}
"""Models that ask more of the packet engine than Reno and ns-2's Vegas over RED, one way."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in WITH_OTHER_KERNELS else ())
        for path in MODELS
    ],
    ids=lambda path: path.stem,
)
def test_every_model_runs(path: Path) -> None:
    network = load(path).network
    starts = [flows.start for flows in network.flows.values()]
    begun = max(start if isinstance(start, float | int) else 0.0 for start in starts)
    run = simulate_packets(network, until=begun + 3.0, samples=11)
    assert float(run.delivered.isel(time=-1).min()) > 10  # the mean of each class


def test_reading_a_model_imports_neither_jax_nor_numba() -> None:
    script = (
        "import sys; from vegasfluid.modelfile import dumps, load;"
        "dumps(load('models/weigle_feng_network2.toml'));"
        "print([name for name in ('jax', 'numba') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_dump_is_a_model_file_with_the_same_keys() -> None:
    assert dumps(loads(SMALLEST)).splitlines() == [
        "duration_s = 10",
        "",
        "[bottleneck]",
        "capacity_mbps = 12",
        "buffer_packets = 100",
        "",
        "[flows.reno]",
        "count = 3",
        "base_rtt_ms = 40",
        "",
        "[flows.reno.law]",
        'name = "reno"',
    ]

"""The bottleneck among the queues that tc shows, and the rate that is set for it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.observe.made import CAPACITY, drop_tail
from vegasfluid.observe import estimate, read
from vegasfluid.observe.link_counters import LinkCounters, link_counters
from vegasfluid.observe.measurement import Measurement, QueueSamples

TIMES = np.arange(3.0)


def queue(kind: str, drops: list[float], packets: list[float]) -> QueueSamples:
    """A queue by what it dropped and sent since it was set up, at 0, 1 and 2 s.

    Args:
        kind: its discipline.
        drops: packets dropped so far.
        packets: packets sent so far.
    """
    return QueueSamples(
        "eth0",
        "1:",
        "root",
        kind,
        "tc.json",
        TIMES,
        dropped_packets=np.array(drops),
        sent_packets=np.array(packets),
    )


@pytest.mark.parametrize(
    "others",
    [
        queue("red", [900_000, 900_000, 900_000], [5e6, 5e6 + 10, 5e6 + 20]),
        queue("red", [900_000, np.nan, 900_000], [5e6, np.nan, 5e6]),
        queue("red", [0, 0, 0], [5e6, 6e6, 7e6]),
    ],
)
def test_the_queue_that_drops_during_the_measurement_is_the_bottleneck(others):
    """An older overload, or more packets, is a weaker sign."""
    dropping = queue("codel", [7, 7, 12], [1000, 2000, 3000])
    for order in ([dropping, others], [others, dropping]):
        found = link_counters(order, 1500)
        assert found is not None
        assert found.discipline is not None
        assert found.discipline.name == "codel"


def test_without_drops_in_the_measurement_earlier_ones_of_a_queue_in_use_count():
    idle = queue("red", [90, 90, 90], [5000, 5000, 5000])
    used = queue("codel", [7, 7, 7], [1000, 2000, 3000])
    busier = queue("pie", [0, 0, 0], [1000, 4000, 8000])
    found = link_counters([idle, used, busier], 1500)
    assert found is not None
    assert found.discipline is not None
    assert found.discipline.name == "codel"


def listed(tmp_path: Path, *disciplines: dict[str, Any], rate: float = 0.0) -> LinkCounters:
    """Counters of the bottleneck in a single listing of `tc -s -j qdisc show`.

    Args:
        tmp_path: folder for the listing.
        disciplines: what it shows for each discipline, apart from its interface.
        rate: mean rate of the measured flows, packets/s.
    """
    file = tmp_path / "tc.json"
    counters = {"bytes": 9000, "packets": 9, "drops": 0, "backlog": 0, "qlen": 0}
    every = {"dev": "eth0", "handle": "1:", "root": True, **counters}
    file.write_text(json.dumps([every | each for each in disciplines]))
    found = link_counters(read(file).queues, 1500, rate)
    assert found is not None
    return found


BUCKET = {"kind": "tbf", "options": {"rate": 1250000, "burst": 4000, "lat": 400000}, "drops": 3}
"""What `tc` shows after `tc qdisc add dev eth0 root tbf rate 10mbit burst 32kbit latency 400ms`."""


@pytest.mark.parametrize(
    ("kind", "options", "megabits"),
    [
        ("cake", {"bandwidth": 2500000, "diffserv": "diffserv3"}, 20.0),
        ("tbf", BUCKET["options"], 10.0),
        ("netem", {"limit": 1000, "rate": {"rate": 6250000, "packetoverhead": 0}}, 50.0),
    ],
)
def test_the_rate_that_is_set_is_the_capacity_in_a_single_listing(
    tmp_path, kind, options, megabits
):
    """`tc` shows bytes/s, and its packets have 14 bytes of Ethernet headers."""
    for sign in ({"drops": 3}, {"qlen": 2, "backlog": 3028}):
        capacity = listed(tmp_path, {"kind": kind, "options": options, **sign}).capacity
        assert capacity is not None
        assert capacity.value == pytest.approx(megabits * 1e6 / 8 / 1514)
        assert capacity.how.startswith("rate that tc shows")


@pytest.mark.parametrize(
    ("shown", "rate"),
    [
        ({"kind": "cake", "options": {"bandwidth": 2500000}}, 0.0),  # nothing waits, nothing drops
        ({"kind": "cake", "options": {"bandwidth": "unlimited"}, "drops": 3}, 0.0),
        ({"kind": "netem", "options": {"limit": 1000}, "drops": 3}, 0.0),
        (BUCKET, 900.0),  # the flows are faster: 10 Mbit/s are 826 packets/s
    ],
)
def test_a_rate_that_is_not_that_of_the_bottleneck_is_not_used(tmp_path, shown, rate):
    assert listed(tmp_path, shown, rate=rate).capacity is None


def test_a_token_bucket_is_a_drop_tail_queue_of_its_latency_and_burst(tmp_path):
    """`tc` sets the limit to rate times latency plus burst: 500 000 + 4000 bytes."""
    found = listed(tmp_path, BUCKET)
    assert found.discipline is not None
    assert found.discipline.name == "droptail"
    assert found.limit == pytest.approx(504_000 / 1514)
    detailed = listed(tmp_path, BUCKET | {"options": {"rate": 1250000, "burst": "4000b/8"}})
    assert detailed.limit is None


def test_a_queue_in_a_token_bucket_has_its_rate(tmp_path):
    codel = {"kind": "codel", "handle": "2:", "root": False, "parent": "1:1", "drops": 3}
    found = listed(tmp_path, BUCKET, codel)
    assert found.discipline is not None
    assert found.discipline.name == "codel"
    assert found.capacity is not None
    assert found.capacity.value == pytest.approx(1250000 / 1514)
    elsewhere = listed(tmp_path, BUCKET | {"dev": "eth1", "drops": 0}, codel)
    assert elsewhere.capacity is None


@pytest.mark.parametrize(("part", "others"), [(1.0, None), (0.5, 2.0)])
def test_flows_on_a_full_link_whose_rate_is_set(tmp_path, part, others):
    """Two flows have the whole rate or, as the queue is never empty, others have the rest."""
    bytes_per_s = int(CAPACITY / part * 1514)
    options = {"rate": bytes_per_s, "burst": 4000, "lat": 100000}
    file = tmp_path / "tc.json"
    shown = {"kind": "tbf", "handle": "1:", "root": True, "dev": "eth0", "options": options}
    file.write_text(json.dumps([shown | {"bytes": 9000, "packets": 9, "drops": 3}]))
    queues = read(file).queues
    found = estimate(Measurement(drop_tail().flows, queues))
    assert found.capacity.value == pytest.approx(CAPACITY / part, rel=1e-3)
    if others is None:
        assert found.competitors is None
    else:
        assert found.competitors is not None
        assert found.competitors.count.value == pytest.approx(others, rel=0.01)

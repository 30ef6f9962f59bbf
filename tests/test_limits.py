"""Ranges of all numbers of a model, and what happens at their ends."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt

import vegasfluid as vf
from vegasfluid.aqm import queue_disciplines
from vegasfluid.clock import picoseconds
from vegasfluid.congestion import congestion_controls
from vegasfluid.errors import InvalidInput
from vegasfluid.limits import Largest, Smallest, short_number
from vegasfluid.modelfile import ModelFileError, loads
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.quantities import hints_of, limits_of
from vegasfluid.traffic import traffic_sources

CLASSES = [Link, Flows, Network, Event, UniformStart, vf.Model]
CLASSES += [*congestion_controls().values(), *queue_disciplines().values()]
CLASSES += [*traffic_sources().values()]
NUMBERS = [
    (kind, entry.name)
    for kind in CLASSES
    for entry in fields(kind)
    if any(word in str(hints_of(kind)[entry.name]) for word in ("float", "'int'"))
]

TEXT = """
duration_s = 5
[bottleneck]
capacity_mbps = 10
buffer_packets = 50
[flows.reno]
count = 2
base_rtt_ms = 40
law = { name = "reno" }
"""


@pytest.mark.parametrize(
    ("kind", "name"), NUMBERS, ids=lambda part: getattr(part, "__name__", part)
)
def test_every_number_has_a_range_with_two_ends(kind: type, name: str) -> None:
    limits = limits_of(kind, name)
    assert any(isinstance(limit, Le | Lt | Largest) for limit in limits)
    assert any(isinstance(limit, Ge | Gt) for limit in limits)


def test_all_numbers_are_tested() -> None:
    assert len(NUMBERS) > 40


@pytest.mark.parametrize("seconds", [1e6, 1e5 * 64, 2**63 / 1e12 - 1])
def test_the_clock_holds_the_largest_times(seconds: float) -> None:
    """End of a run, timer after six doublings, and the end of 64-bit integers."""
    assert np.int64(picoseconds(seconds)) > 0


@pytest.mark.parametrize(
    ("given", "key", "end"),
    [
        ("duration_s = 1e9", "duration_s", "at most 1000000 ("),
        ("duration_s = 1" + 300 * "0", "duration_s", "at most 1000000 ("),
        ("buffer_packets = 1e19", "bottleneck.buffer_packets", "at most 1e+15 ("),
        ("capacity_mbps = 1.5e-9", "bottleneck.capacity_mbps", "at least 1.2e-08 ("),
        ("capacity_mbps = 1e9", "bottleneck.capacity_mbps", "at most 1.2e+08 ("),
        ("base_rtt_ms = 1e15", "flows.reno.base_rtt_ms", "at most 1e+08 ("),
        ("base_rtt_ms = 1e-7", "flows.reno.base_rtt_ms", "at least 1e-06 ("),
        ("base_rtt_ms = 40\nmin_rto_s = 1e7", "flows.reno.min_rto_s", "at most 100000 ("),
        ("base_rtt_ms = 40\nstart_s = 1e7", "flows.reno.start_s", "at most 1000000 ("),
        ("base_rtt_ms = 40\nquick_acks = 9223372036854775808", "flows.reno.quick_acks", "at most"),
        ("base_rtt_ms = 40\nmax_window_packets = 1e19", "flows.reno.max_window_packets", "at most"),
    ],
)  # fmt: skip
def test_a_file_names_key_range_and_reason(given: str, key: str, end: str) -> None:
    name = given.rpartition("\n")[2].partition(" ")[0]
    replaced = given.partition(" ")[0]
    text = "\n".join(
        given if line.startswith(replaced + " ") else line for line in TEXT.splitlines()
    )
    assert name in text
    with pytest.raises(ModelFileError) as caught:
        loads(text, "a.toml")
    message = str(caught.value)
    assert re.match(rf"a.toml: line \d+: {re.escape(f'{key}: must be {end}')}", message)
    assert len(message) < 200


@pytest.mark.parametrize(
    "build",
    [
        lambda: Link(1e11, 50),
        lambda: Link(1e-7, 50),
        lambda: Link(1000.0, 10**300),
        lambda: Link(1000.0, 10**400),
        lambda: vf.Cbr(1e-12),
        lambda: vf.Poisson(1e300),
        lambda: vf.OnOff(on=1e-9, off=1e-9, rate=83.0),
        lambda: Event(1e308, "access", 0.1),
        lambda: vf.Vegas(alpha=1e300, beta=1e301),
    ],
)
def test_python_objects_have_the_same_ranges(build: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        build()
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("wrong", [["a", "b"], [0.04, None], [[0.04], [0.05]], [0.04, True]])
def test_a_list_holds_numbers(wrong: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="Flows: base_rtt must be a list of numbers"):
        Flows(2, vf.Reno(), base_rtt=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [Event(1, "access", 0.1), [1], "access"])
def test_events_are_a_list_of_events(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="Network: events must be a list of instances of Event"):
        Network(Link(100.0, 10), {"a": Flows(1, vf.Reno(), base_rtt=0.04)}, events=wrong)


def test_names_have_no_nul_characters() -> None:
    with pytest.raises(InvalidInput, match="named by text without NUL characters"):
        Network(Link(100.0, 10), {"a\x00": Flows(1, vf.Reno(), base_rtt=0.04)})


def test_a_network_has_at_most_1000_links() -> None:
    links = "".join(f"[links.l{i}]\ncapacity_mbps = 1\nbuffer_packets = 5\n" for i in range(1001))
    flows = TEXT[TEXT.index("[flows") :].replace("base", 'path = ["l0"]\nbase')
    with pytest.raises(ModelFileError, match="links: must be at most 1000 tables, but is 1001"):
        loads("duration_s = 5\n" + links + flows)


@pytest.mark.parametrize("power", range(-320, 309, 7))
def test_numbers_in_messages_are_short(power: int) -> None:
    number = math.pi * 10.0**power
    assert len(short_number(number)) <= 10
    assert float(short_number(number)) == pytest.approx(number, rel=1e-3, abs=1e-320)


def test_ends_of_ranges_differ_from_0() -> None:
    assert any(isinstance(limit, Smallest) for limit in limits_of(Link, "delay"))
    assert Link(1.0, 1, delay=0).delay == 0
    with pytest.raises(InvalidInput, match="delay must be 0 or at least 1e-09"):
        Link(1.0, 1, delay=1e-10)

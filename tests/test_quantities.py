"""Units as types, and the limits that values keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
import sympy as sp
from annotated_types import Ge, Gt, Le, Lt
from hypothesis import given
from hypothesis import strategies as st

from vegasfluid.errors import InvalidInput, VegasfluidError
from vegasfluid.quantities import (
    Delay,
    Packets,
    PacketsPerSecond,
    Positive,
    Probability,
    Seconds,
    Value,
    mbps,
    ms,
    require_ordered,
    unit_of,
)


@dataclass(frozen=True)
class Sample(Value):
    window: Packets = 1.0
    rate: Annotated[PacketsPerSecond, Positive] = 1.0
    delays: tuple[Delay, ...] = ()
    part: Annotated[Probability, Lt(1)] = 0.5
    until: Seconds | None = None
    count: Annotated[int, Ge(1), Le(9)] = 1
    shape: Annotated[float, Gt(1)] = 2.0
    name: str = ""


@pytest.mark.parametrize(
    ("megabits", "packet_bytes", "rate"),
    [
        (12, 1500, 1000.0),  # 12e6 bit/s over 12 000 bit
        (155, 1500, 155e6 / 12_000),  # OC-3, about 12 917
        (310, 1500, 25_833 + 1 / 3),  # theory sheet, section 12: 25 833 packets
        (8, 1000, 1000.0),
    ],
)
def test_mbit_per_second_in_packets(megabits: float, packet_bytes: int, rate: float) -> None:
    assert mbps(megabits, packet_bytes) == pytest.approx(rate, rel=1e-14)


@given(st.floats(0, 1e6))
def test_milliseconds(delay: float) -> None:
    assert ms(delay) * 1000 == pytest.approx(delay)


@pytest.mark.parametrize(
    ("name", "inside", "edge", "scale"),
    [
        ("window", "packets", "packets", 1.0),
        ("rate", "packets/s", "mbps", 1.0),
        ("delays", "s", "ms", 1e-3),
        ("until", "s", "s", 1.0),
    ],
)
def test_units_are_read_from_the_types(name: str, inside: str, edge: str, scale: float) -> None:
    unit = unit_of(Sample, name)
    assert unit
    assert (unit.inside, unit.edge, unit.scale) == (inside, edge, scale)


def test_what_is_no_quantity_has_no_unit() -> None:
    assert unit_of(Sample, "name") is None
    assert unit_of(Sample, "count") is None


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"window": -1.0}, "Sample: window must be at least 0, but is -1.0."),
        ({"rate": 0.0}, "Sample: rate must be above 0, but is 0.0."),
        ({"delays": (0.1, -0.2)}, "Sample: delays must be at least 0, but is -0.2."),
        ({"part": 1.0}, "Sample: part must be below 1, but is 1.0."),
        ({"part": 1.5}, "Sample: part must be below 1, but is 1.5."),
        ({"part": -0.5}, "Sample: part must be at least 0, but is -0.5."),
        ({"until": -1}, "Sample: until must be at least 0, but is -1."),
        ({"count": 0}, "Sample: count must be at least 1, but is 0."),
        ({"count": 10}, "Sample: count must be at most 9, but is 10."),
        ({"shape": 1.0}, "Sample: shape must be above 1, but is 1.0."),
        ({"window": float("nan")}, "Sample: window must be a finite number, but is nan."),
        ({"window": float("inf")}, "Sample: window must be a finite number, but is inf."),
    ],
)
def test_values_beyond_their_limits_are_rejected(fields: dict, line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Sample(**fields)
    assert str(caught.value) == line
    assert isinstance(caught.value, VegasfluidError)
    assert isinstance(caught.value, ValueError)


def test_limits_themselves_are_allowed() -> None:
    assert Sample(window=0.0, part=0.0, until=0.0, count=9).count == 9
    assert Sample(until=None).until is None
    assert Sample(window=np.float64(2.0)).window == 2.0


def test_numpy_numbers_are_checked_too() -> None:
    with pytest.raises(InvalidInput, match="window must be at least 0"):
        Sample(window=np.float64(-1.0))


def test_symbols_pass_unchecked() -> None:
    x = sp.Symbol("x")
    assert Sample(window=x).window is x
    require_ordered(Sample(window=x), "window", "rate")


def test_parameters_are_given_back_by_name() -> None:
    sample = Sample(window=3.0)
    assert Sample(**sample.parameters()) == sample


@dataclass(frozen=True)
class Pair:
    low: float
    high: float


@pytest.mark.parametrize(("low", "high", "strict"), [(1.0, 2.0, True), (2.0, 2.0, False)])
def test_what_is_in_order_passes(low: float, high: float, strict: bool) -> None:
    require_ordered(Pair(low, high), "low", "high", strict=strict)


@pytest.mark.parametrize(
    ("low", "high", "strict", "line"),
    [
        (5.0, 4.0, False, "Pair: low must be at most high (4), but is 5.0."),
        (4.0, 4.0, True, "Pair: low must be below high (4), but is 4.0."),
    ],
)
def test_values_out_of_order_are_rejected(low: float, high: float, strict: bool, line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_ordered(Pair(low, high), "low", "high", strict=strict)
    assert str(caught.value) == line

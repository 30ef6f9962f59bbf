"""Units in model files: the key of a field, and exact conversion to internal units.

Numbers are read as decimals, so that every internal float can be written down. One multiplication
of floats would not do: of the floats between 1.024 and 2 seconds, every forty-third is not 1/1000
of any float.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from vegasfluid.aqm import QueueDiscipline, queue_disciplines
from vegasfluid.congestion import CongestionControl, congestion_controls
from vegasfluid.quantities import BITS_PER_BYTE, BITS_PER_MEGABIT, Unit, mbps, unit_of
from vegasfluid.traffic import TrafficSource, traffic_sources

__all__ = ["choices", "choosing_key", "former_key", "from_file_unit", "key_of", "to_file_unit"]

FLOAT_DIGITS = 17
"""Decimal digits that distinguish all floats."""
SPARE_DIGITS = 20
"""Decimal digits with which a number still rounds to the same float after scaling."""
WIDE = Context(prec=60)
"""Decimal arithmetic wide enough that scaling loses no digit."""


def key_of(kind: type, name: str) -> str:
    """Model-file key of field `name` of the value class `kind`.

    >>> from vegasfluid.network import Link
    >>> key_of(Link, "capacity"), key_of(Link, "aqm")
    ('capacity_mbps', 'aqm')
    """
    unit = unit_of(kind, name)
    return f"{name}_{unit.edge}" if unit and unit.edge else name


def choosing_key(kind: type) -> str | None:
    """Model-file key that selects a subclass of `kind`; None if `kind` is no such base class.

    Congestion controls, queue disciplines and traffic sources have one.

    >>> from vegasfluid.aqm.red import Red
    >>> choosing_key(Red)
    'name'
    """
    chosen = issubclass(kind, (CongestionControl, QueueDiscipline, TrafficSource))
    return "name" if chosen else None


def former_key(base: type) -> str | None:
    """Key that selected a subclass of `base` in model files until November 2026, if not `name`.

    >>> former_key(QueueDiscipline)
    'law'
    """
    return {QueueDiscipline: "law", TrafficSource: "kind"}.get(base)


def choices(base: type) -> Mapping[str, type]:
    """Subclasses of a base class by the name that selects them in a model file.

    Args:
        base: `CongestionControl`, `QueueDiscipline` or `TrafficSource`.

    >>> sorted(choices(QueueDiscipline))
    ['codel', 'droptail', 'fq', 'fq_codel', 'pi', 'pi2', 'pie', 'red', 'step']
    """
    known: Mapping[type, Any] = {
        CongestionControl: congestion_controls,
        QueueDiscipline: queue_disciplines,
        TrafficSource: traffic_sources,
    }
    return known[base]()


def _ratio(unit: Unit | None, packet_bytes: int) -> Fraction:
    """Internal units per file unit, exactly: 1/1000 for ms, packets/s for Mbit/s.

    Args:
        unit: unit of the field; None: 1.
        packet_bytes: packet size that converts rates, bytes.
    """
    if unit is None:
        return Fraction(1)
    if unit.edge == "mbps":
        return Fraction(int(BITS_PER_MEGABIT), BITS_PER_BYTE * packet_bytes)
    return Fraction(repr(unit.scale))


def _as_python_would(number: float, unit: Unit | None, packet_bytes: int) -> float:
    """A number in the file's unit converted to internal units in float arithmetic.

    The result equals that of the functions `ms` and `mbps`, which Python scripts use, to the last
    bit.
    """
    if unit is not None and unit.edge == "mbps":
        return mbps(number, packet_bytes)
    ratio = _ratio(unit, packet_bytes)
    return number * ratio.numerator / ratio.denominator


def from_file_unit(written: int | Decimal, unit: Unit | None, packet_bytes: int) -> float:
    """Convert a number of a model file to internal units (s, packets, packets/s).

    A number that a float holds exactly is converted as Python's `ms` and `mbps` do, so that a file
    and a script agree to the last bit. Other numbers are scaled in decimal arithmetic.

    Args:
        written: number as written in the file, not larger than the largest float.
        unit: unit of its field.
        packet_bytes: packet size that converts rates, bytes.

    >>> from vegasfluid.quantities import Delay
    >>> from_file_unit(40, Delay.__metadata__[0], 1500)
    0.04
    """
    number = float(written)
    if number == 0 or Decimal(repr(number)) == written:
        return _as_python_would(number, unit, packet_bytes)
    ratio = _ratio(unit, packet_bytes)
    scaled = WIDE.multiply(Decimal(written), Decimal(ratio.numerator))
    return float(WIDE.divide(scaled, Decimal(ratio.denominator)))


def to_file_unit(value: float, unit: Unit | None, packet_bytes: int) -> Decimal:
    """Convert a number to the file's unit: the shortest decimal that reads back as `value`.

    Args:
        value: finite number in internal units.
        unit: the unit of its field.
        packet_bytes: packet size that converts rates, bytes.

    >>> from vegasfluid.quantities import Delay
    >>> print(to_file_unit(0.04, Delay.__metadata__[0], 1500))
    40
    """
    value = float(value)
    ratio = _ratio(unit, packet_bytes)
    scaled = WIDE.multiply(Decimal(value), Decimal(ratio.denominator))
    exact = WIDE.divide(scaled, Decimal(ratio.numerator))
    for digits in range(1, FLOAT_DIGITS + 1):
        short = Context(prec=digits).plus(exact)
        if from_file_unit(short, unit, packet_bytes) == value:
            return _plain(short)
    # A float could hold `exact`, and Python's arithmetic missed: one more digit makes it exact.
    spare = Context(prec=SPARE_DIGITS)
    long = spare.plus(exact)
    return long if from_file_unit(long, unit, packet_bytes) == value else spare.next_plus(exact)


def _plain(number: Decimal) -> Decimal:
    """A number, written without exponent unless that needs more digits than a float has."""
    return Decimal(f"{number:f}") if -6 < number.adjusted() < FLOAT_DIGITS else number

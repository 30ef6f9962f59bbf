"""Names and numbers at the edge: the key of a field, and a number in the key's unit.

Numbers are read as they are written, in decimals, so that every float inside can be written
down. One multiplication of floats would not do: of the floats between 1.024 and 2 seconds, every
forty-third is 1/1000 of no float at all.
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

__all__ = ["choices", "choosing_key", "former_key", "from_edge", "key_of", "to_edge"]

FLOAT_DIGITS = 17
"""With so many digits every float has a decimal of its own."""
SPARE_DIGITS = 20
"""With so many digits a decimal stays nearest to its float when it is scaled."""
WIDE = Context(prec=60)


def key_of(kind: type, name: str) -> str:
    """The key of field `name` of the value class `kind`.

    >>> from vegasfluid.network import Link
    >>> key_of(Link, "capacity"), key_of(Link, "aqm")
    ('capacity_mbps', 'aqm')
    """
    unit = unit_of(kind, name)
    return f"{name}_{unit.edge}" if unit and unit.edge else name


def choosing_key(kind: type) -> str | None:
    """The key that chooses among the subclasses of an abstract class; None for another class.

    >>> from vegasfluid.aqm.red import Red
    >>> choosing_key(Red)
    'name'
    """
    chosen = issubclass(kind, (CongestionControl, QueueDiscipline, TrafficSource))
    return "name" if chosen else None


def former_key(base: type) -> str | None:
    """The key that chose among the subclasses of an abstract class until November 2026.

    >>> former_key(QueueDiscipline)
    'law'
    """
    return {QueueDiscipline: "law", TrafficSource: "kind"}.get(base)


def choices(base: type) -> Mapping[str, type]:
    """The kinds of an abstract class by name.

    >>> sorted(choices(QueueDiscipline))
    ['droptail', 'red']
    """
    known: Mapping[type, Any] = {
        CongestionControl: congestion_controls,
        QueueDiscipline: queue_disciplines,
        TrafficSource: traffic_sources,
    }
    return known[base]()


def _ratio(unit: Unit | None, packet_bytes: int) -> Fraction:
    """How many inside units one edge unit is, exactly."""
    if unit is None:
        return Fraction(1)
    if unit.edge == "mbps":
        return Fraction(int(BITS_PER_MEGABIT), BITS_PER_BYTE * packet_bytes)
    return Fraction(repr(unit.scale))


def _as_python_would(number: float, unit: Unit | None, packet_bytes: int) -> float:
    """The number in inside units, by the arithmetic of `ms` and `mbps`."""
    if unit is not None and unit.edge == "mbps":
        return mbps(number, packet_bytes)
    ratio = _ratio(unit, packet_bytes)
    return number * ratio.numerator / ratio.denominator


def from_edge(written: int | Decimal, unit: Unit | None, packet_bytes: int) -> float:
    """A number of a model file in inside units.

    What a float can hold is converted as Python's `ms` and `mbps` do it, so that a file and a
    script that say the same agree to the last bit. What has more digits is scaled in decimals.

    Args:
        written: the number as it stands in the file; not beyond the largest float.
        unit: the unit of its field.
        packet_bytes: the size of a packet, for rates.

    >>> from vegasfluid.quantities import Delay
    >>> from_edge(40, Delay.__metadata__[0], 1500)
    0.04
    """
    number = float(written)
    if number == 0 or Decimal(repr(number)) == written:
        return _as_python_would(number, unit, packet_bytes)
    ratio = _ratio(unit, packet_bytes)
    scaled = WIDE.multiply(Decimal(written), Decimal(ratio.numerator))
    return float(WIDE.divide(scaled, Decimal(ratio.denominator)))


def to_edge(value: float, unit: Unit | None, packet_bytes: int) -> Decimal:
    """The shortest decimal that `from_edge` turns back into exactly `value`.

    Args:
        value: a finite number in inside units.
        unit: the unit of its field.
        packet_bytes: the size of a packet, for rates.

    >>> from vegasfluid.quantities import Delay
    >>> print(to_edge(0.04, Delay.__metadata__[0], 1500))
    40
    """
    value = float(value)
    ratio = _ratio(unit, packet_bytes)
    scaled = WIDE.multiply(Decimal(value), Decimal(ratio.denominator))
    exact = WIDE.divide(scaled, Decimal(ratio.numerator))
    for digits in range(1, FLOAT_DIGITS + 1):
        short = Context(prec=digits).plus(exact)
        if from_edge(short, unit, packet_bytes) == value:
            return _plain(short)
    # A float could hold `exact`, and Python's arithmetic missed: one more digit makes it exact.
    spare = Context(prec=SPARE_DIGITS)
    long = spare.plus(exact)
    return long if from_edge(long, unit, packet_bytes) == value else spare.next_plus(exact)


def _plain(number: Decimal) -> Decimal:
    """The same number without an exponent, where that is no longer than a float's digits."""
    return Decimal(f"{number:f}") if -6 < number.adjusted() < FLOAT_DIGITS else number

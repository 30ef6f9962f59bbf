"""Units as types.

Inside vegasfluid all numbers are in packets, seconds and packets per second, and the type of a
number gives its unit: `alpha: Packets`. In model files, command options and tables the name gives
the unit: `alpha_packets`, `base_rtt_ms`. Both, and the limits of values, come from the same
annotations.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.limits import (
    CLOCK,
    FASTEST,
    FLOATS,
    HUGEST,
    LATEST,
    LONGEST_DELAY,
    MOST_PACKETS,
    SHORTEST,
    SLOWEST,
    TINIEST,
    Largest,
    Limit,
    Positive,
    Smallest,
    broken_limit,
    limits_in,
)

__all__ = [
    "NO_NUMBERS",
    "Delay",
    "Megabytes",
    "Packets",
    "PacketsPerSecond",
    "PerSecond",
    "Positive",
    "Probability",
    "Seconds",
    "Share",
    "Unit",
    "Value",
    "bits_per_second",
    "check_quantities",
    "mbps",
    "ms",
    "require_one_of",
    "require_ordered",
    "unit_of",
]

BITS_PER_MEGABIT = 1e6
"""Bits in a megabit."""
BITS_PER_BYTE = 8
"""Bits in a byte."""
ETHERNET_PACKET_BYTES = 1500
"""Size of a full Ethernet packet, bytes."""


@dataclass(frozen=True)
class Unit:
    """The unit of a quantity, inside the program and in files.

    Args:
        inside: the unit inside the program.
        edge: the unit in files, which ends the quantity's name there; empty for a plain number.
        scale: inside units per unit in files (for `mbps` it depends on the packet size).
    """

    inside: str
    edge: str
    scale: float = 1.0


Packets = Annotated[
    float, Unit("packets", "packets"), Ge(0), Smallest(1e-9), Largest(MOST_PACKETS, FLOATS)
]
"""A number of packets: a window, a queue, a backlog."""

Seconds = Annotated[float, Unit("s", "s"), Ge(0), Smallest(SHORTEST, CLOCK), Largest(LATEST, CLOCK)]
"""A time on the scale of a run, in seconds inside and in files."""

Delay = Annotated[
    float, Unit("s", "ms", 1e-3), Ge(0), Smallest(SHORTEST, CLOCK), Largest(LONGEST_DELAY, CLOCK)
]
"""A time on the scale of a round trip: seconds inside, milliseconds in files."""

PacketsPerSecond = Annotated[
    float, Unit("packets/s", "mbps"), Ge(0), Smallest(SLOWEST, CLOCK), Largest(FASTEST, CLOCK)
]
"""A rate: packets of the network's size per second inside, Mbit/s in files."""

PerSecond = Annotated[float, Unit("1/s", "per_s"), Ge(0), Smallest(TINIEST), Largest(HUGEST)]
"""A rate of anything without a unit, at least 0, such as a gain for each second of delay."""

Megabytes = Annotated[float, Unit("MB", "mb"), Ge(0), Smallest(1e-9), Largest(1e9)]
"""A size of a transfer, in 1 000 000 bytes."""

Probability = Annotated[float, Unit("", ""), Ge(0), Smallest(TINIEST), Le(1)]
"""A probability, from 0 to 1."""

Share = Annotated[float, Unit("", ""), Ge(0), Smallest(TINIEST), Largest(HUGEST)]
"""A number without a unit, at least 0."""


def ms(milliseconds: float) -> float:
    """Convert a time from milliseconds to seconds.

    Args:
        milliseconds: the time, ms.

    Returns:
        The time, s.

    >>> ms(40)
    0.04
    """
    return milliseconds / 1000


def mbps(megabits_per_second: float, packet_bytes: float = ETHERNET_PACKET_BYTES) -> float:
    """Convert a rate from Mbit/s (1 Mbit = 1 000 000 bit) to packets/s.

    Args:
        megabits_per_second: the rate on the wire, Mbit/s.
        packet_bytes: the size of a packet on the wire, bytes.

    Returns:
        The rate, packets/s.

    >>> round(mbps(155), 1)
    12916.7
    """
    return megabits_per_second * BITS_PER_MEGABIT / (BITS_PER_BYTE * packet_bytes)


def bits_per_second(packets_per_second: float, packet_bytes: float) -> float:
    """Convert a rate from packets/s to bit/s.

    Args:
        packets_per_second: the rate, packets/s.
        packet_bytes: the size of a packet, bytes.

    >>> bits_per_second(1000.0, 1500)
    12000000.0
    """
    return packets_per_second * packet_bytes * BITS_PER_BYTE


NO_NUMBERS = (str, bytes, bool, complex, Mapping, list, Set, Iterator, type, NoneType)
"""Types of values that stand for no number, not even a traced or symbolic one."""


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Annotations of all fields of the value class `kind`, by field name, with units and limits."""
    return get_type_hints(kind, include_extras=True)


def _metadata(hint: Any) -> tuple[Any, ...]:
    """`Unit` and limits in an annotation, also those inside `X | None` and `tuple[X, ...]`."""
    inner = getattr(hint, "__metadata__", ())
    for argument in getattr(hint, "__args__", ()):
        if argument is not type(None) and hasattr(argument, "__metadata__"):
            inner = inner + _metadata(argument)
    return inner


@cache
def unit_of(kind: type, name: str) -> Unit | None:
    """Unit of field `name` of the value class `kind`, inside the program and in files.

    None if the annotation of the field has no unit.
    """
    return next((m for m in _metadata(hints_of(kind)[name]) if isinstance(m, Unit)), None)


@cache
def limits_of(kind: type, name: str) -> tuple[Limit, ...]:
    """Limits of field `name` of the value class `kind`, in internal units, the widest first."""
    return limits_in(_metadata(hints_of(kind)[name]))


def is_concrete(value: object) -> bool:
    """Whether `value` is a real number; not so if it is traced, symbolic, boolean or an array."""
    kind = type(value)
    if kind is float or kind is int:  # quicker than asking an abstract class
        return True
    return isinstance(value, numbers.Real) and kind is not bool


class FieldRules(NamedTuple):
    """What a field of a value class allows.

    Args:
        name: name of the field.
        types: types that it may have (`_types`); none: any, as far as types are checked here.
        is_quantity: whether its numbers must be finite and within limits.
        limits: these limits, in internal units, the widest first.
    """

    name: str
    types: tuple[Any, ...]
    is_quantity: bool
    limits: tuple[Limit, ...]


@cache
def rules_of(kind: type) -> tuple[FieldRules, ...]:
    """What each field of the value class `kind` allows, in their order."""
    rules = []
    for field in fields(kind):
        limits = limits_of(kind, field.name)
        is_quantity = unit_of(kind, field.name) is not None or bool(limits)
        types = _types(kind, field.name)
        # Values of a `Literal` are checked elsewhere.
        plain = all(isinstance(each, type) and each is not Any for each in types)
        rules.append(FieldRules(field.name, types if plain else (), is_quantity, limits))
    return tuple(rules)


@cache
def _types(kind: type, name: str) -> tuple[Any, ...]:
    """Types that the annotation of field `name` of the value class `kind` allows.

    They are plain types without units, limits or type arguments, such as `float`, `tuple` and
    `NoneType`.
    """
    hint = hints_of(kind)[name]
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = (part.__origin__ if get_origin(part) is Annotated else part for part in parts)
    return tuple(get_origin(part) or part for part in plain)


def _make_tuples(value: Value) -> None:
    """Convert lists and 1-D arrays to tuples in those fields of `value` whose type has a tuple."""
    for name, types, *_ in rules_of(type(value)):
        if tuple in types:
            given = getattr(value, name)
            if isinstance(given, list) or getattr(given, "ndim", 0) == 1:
                object.__setattr__(value, name, tuple(given))


def _check_type(whose: str, name: str, value: Any, types: tuple[Any, ...]) -> None:
    """Check that a value has one of the types that a field allows.

    Args:
        whose: name of the class, for the error message.
        name: name of the field, for the error message.
        value: the value; traced and symbolic numbers pass.
        types: types that the field may have; none: any.

    Raises:
        InvalidInput: for any other type, or a fraction where only whole numbers are allowed.
    """
    if type(value) in types or not types:
        return
    if isinstance(value, types) and not (isinstance(value, bool) and bool not in types):
        return
    given = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    classes = [each.__name__ for each in types if issubclass(each, Value)]
    if float in types or int in types:
        if isinstance(value, NO_NUMBERS):
            raise InvalidInput(whose, name, "a number", given)
        whole = not is_concrete(value) or not _is_finite(value) or value == round(value)
        if float not in types and not whole:
            raise InvalidInput(whose, name, "a whole number", value)
    elif classes:
        raise InvalidInput(whose, name, f"an instance of {' or '.join(classes)}", given)
    elif tuple in types:
        raise InvalidInput(whose, name, "a list", given)


def _check(whose: str, name: str, value: Any, limits: tuple[Limit, ...]) -> None:
    """Check that a number, or each number of a tuple, is finite and within limits.

    Args:
        whose: name of the class, for the error message.
        name: name of the field, for the error message.
        value: the value, in inside units; anything but plain numbers passes.
        limits: limits of the field, the widest first.

    Raises:
        InvalidInput: for the first number that is not.
    """
    if isinstance(value, tuple):
        for part in value:
            if isinstance(part, NO_NUMBERS) or getattr(part, "ndim", 0):
                raise InvalidInput(whose, name, "a list of numbers", Words(f"a list with {part!r}"))
            _check(whose, name, part, limits)
    elif is_concrete(value):
        if not _is_finite(value):
            raise InvalidInput(whose, name, "a finite number", value)
        for limit in reversed(limits):  # the narrowest was given last
            if allowed := broken_limit(value, limit):
                raise InvalidInput(whose, name, allowed, value)


def _is_finite(value: Any) -> bool:
    """Whether a real number is finite as a float; whole numbers of Python may have any size."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_quantities(value: Value) -> None:
    """Check the type of every field of a value class, and the limits of its quantities.

    Args:
        value: a frozen dataclass; call this from its `__post_init__`. Lists and arrays become
            tuples.

    Raises:
        InvalidInput: for the first field of a wrong type, not finite, or outside its limits.
    """
    kind = type(value)
    _make_tuples(value)
    for name, types, is_quantity, limits in rules_of(kind):
        given = getattr(value, name)
        _check_type(kind.__name__, name, given, types)
        if is_quantity:
            _check(kind.__name__, name, given, limits)


@dataclass(frozen=True)
class Value:
    """A frozen dataclass whose fields are quantities, checked against their limits when created."""

    def __post_init__(self) -> None:
        check_quantities(self)

    def parameters(self) -> dict[str, Any]:
        """All fields by name, in the units of the program: packets, s, packets/s."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def value_in_use(self, name: str) -> Any:
        """Value of field `name` that is in use, in the unit of the program.

        It is the field itself. A class overrides this for a field that may be None if the value
        then follows from other fields, such as CUBIC's `friendly_increase` from beta.

        Args:
            name: name of a field.
        """
        return getattr(self, name)


def require_one_of(value: object, name: str, allowed: Iterable[str]) -> None:
    """Check that field `name` of a value is one of the `allowed` names.

    Raises:
        InvalidInput: for any other value; the message lists the allowed names.
    """
    names, given = tuple(allowed), getattr(value, name)
    if given not in names:
        raise InvalidInput(type(value).__name__, name, "one of " + ", ".join(names), given)


def require_ordered(value: object, low: str, high: str, *, strict: bool = False) -> None:
    """Check that field `low` of a value is at most (if `strict`, below) field `high`.

    Traced and symbolic fields are not checked.

    Raises:
        InvalidInput: if the fields are in the wrong order.
    """
    first, second = getattr(value, low), getattr(value, high)
    if not (is_concrete(first) and is_concrete(second)):
        return
    if first > second or (strict and first == second):
        allowed = f"{'below' if strict else 'at most'} {high} ({second:g})"
        raise InvalidInput(type(value).__name__, low, allowed, first)

"""Uncertain parameters of a model file: where ranges are allowed and what they mean.

A table `{ low = 10, high = 40 }` may replace the number. The network then has the nominal value,
and the range is stored by the parameter's name, `reno.count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.model import Model
from vegasfluid.modelfile.errors import network_error, validation_error
from vegasfluid.modelfile.parameters import OWNERS, Parameter, parameter_of, with_values
from vegasfluid.modelfile.units import from_file_unit, key_of
from vegasfluid.network import SINGLE_LINK, Flows, Link, Network
from vegasfluid.quantities import unit_of
from vegasfluid.ranges import Range

__all__ = [
    "may_be_uncertain",
    "nominal_values",
    "ranges_of",
    "reject_lists",
    "uncertain",
]

UNCERTAIN: Mapping[type, tuple[str, ...]] = {
    Link: ("capacity", "delay", "buffer"),
    Flows: ("count", "base_rtt", "access_delay", "access"),
}
"""Fields of each class that may be given as a range."""
ROUNDING = 1e-9
"""Largest relative difference between a network's value and the nominal value of its range."""

Ranges = Mapping[str, Range]
"""Ranges by field name or parameter name."""


def may_be_uncertain(kind: type, name: str) -> bool:
    """Whether a file may give a range instead of a number for field `name` of class `kind`."""
    return name in UNCERTAIN.get(kind, ())


def nominal_values(kind: type, ranges: Ranges, packet_bytes: int) -> dict[str, Any]:
    """Nominal values of ranges by field, in internal units; whole-number fields are rounded.

    Args:
        kind: class of the fields.
        ranges: ranges by field name, in the units of the file.
        packet_bytes: packet size that converts rates, bytes.
    """
    return {name: _nominal(kind, name, given, packet_bytes) for name, given in ranges.items()}


def _nominal(kind: type, name: str, given: Range, packet_bytes: int) -> float:
    """Nominal value of field `name` of class `kind`, in internal units; a count is whole.

    Args:
        kind: class of the field, such as `Link`.
        name: name of the field.
        given: range in the unit of the file.
        packet_bytes: packet size that converts rates, bytes.
    """
    if name == "count":
        return round(given.nominal)
    return from_file_unit(Decimal(repr(given.nominal)), unit_of(kind, name), packet_bytes)


def reject_lists(kind: type, values: Mapping[str, Any], ranges: Ranges) -> None:
    """Reject lists with one value per flow in a class whose number of flows is a range.

    Args:
        kind: the class, which names the keys.
        values: values that the file gives, by field name.
        ranges: ranges that the file gives, by field name.

    Raises:
        ValidationError: if base RTTs or start times are a list.
    """
    lists = [name for name in ("base_rtt", "start") if isinstance(values.get(name), tuple)]
    if "count" in ranges and lists:
        raise validation_error("one value if count is a range", "a list", key_of(kind, lists[0]))


def ranges_of(
    document: Mapping[str, Any], network: Network, noted: Mapping[int, Ranges]
) -> dict[str, Range]:
    """Ranges of a model file by parameter name such as `reno.base_rtt_ms`, in its unit.

    Args:
        document: content of the file.
        network: network of the file with the nominal values.
        noted: for the `id` of each table, its ranges by field name.

    Raises:
        ValidationError: if values inside the ranges are invalid in combination.
    """
    ranges = {
        f"{owner}.{key_of(kind, name)}": given
        for owner, kind, table in _owners(document)
        for name, given in noted.get(id(table), {}).items()
    }
    _require_round_trips(document, network, ranges)
    return ranges


def _owners(document: Mapping[str, Any]) -> Iterator[tuple[str, type, Any]]:
    """Name, value class and table of each link and flow class of a model file."""
    if SINGLE_LINK in document:
        yield SINGLE_LINK, Link, document[SINGLE_LINK]
    for name, table in document.get("links", {}).items():
        yield name, Link, table
    for name, table in document["flows"].items():
        yield name, Flows, table


def _require_round_trips(document: Mapping[str, Any], network: Network, ranges: Ranges) -> None:
    """Check that the network is valid with the shortest base RTTs and the longest link delays.

    Raises ValidationError if it is not, as where a base RTT is shorter than the links' delays.
    """
    named = {name: parameter_of(network, name) for name in ranges}
    try:
        with_values(
            network,
            {
                name: given.high if named[name].group == "links" else given.low
                for name, given in ranges.items()
            },
        )
    except InvalidInput as error:
        raise network_error(error, document) from None


def uncertain(model: Model) -> Iterator[tuple[Parameter, Range]]:
    """Each uncertain parameter of a model with its range (in the unit of the name).

    Raises:
        InvalidInput: for an unknown name, or if the network does not have the nominal value,
            which no file can express.
    """
    for name, given in model.ranges.items():
        parameter = parameter_of(model.network, name)
        kind = OWNERS[parameter.group]
        if parameter.part is not None or not may_be_uncertain(kind, parameter.field):
            keys = ", ".join(key_of(kind, field) for field in UNCERTAIN[kind])
            raise InvalidInput("Model", "a parameter with a range", f"one of {keys}", name)
        value, nominal = parameter.value(model.network), given.nominal
        nominal = round(nominal) if parameter.whole else nominal
        if not math.isclose(value, nominal, rel_tol=ROUNDING):
            allowed = f"around the network's {name} ({value:g})"
            raise InvalidInput("Model", "ranges", allowed, Words(f"around {nominal:g}"))
        yield parameter, given

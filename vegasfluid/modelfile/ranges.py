"""Numbers of a network that a model file gives as a range: where they may be, and what they mean.

Where such a number stands, `{ low = 10, high = 40 }` may stand instead of it. The network then has
the nominal one, and the range is kept beside it under the number's name, `reno.count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.modelfile.errors import network_refusal, refusal
from vegasfluid.modelfile.parameters import OWNERS, Parameter, parameter_of, with_values
from vegasfluid.modelfile.units import from_edge, key_of
from vegasfluid.network import SINGLE_LINK, Flows, Link, Network
from vegasfluid.quantities import unit_of
from vegasfluid.ranges import Range

__all__ = ["may_be_uncertain", "nominal_values", "ranges_of", "require_possible", "uncertain"]

UNCERTAIN: Mapping[type, tuple[str, ...]] = {
    Link: ("capacity", "delay", "buffer"),
    Flows: ("count", "base_rtt", "access_delay", "access"),
}
"""The fields of an owner that may be given by a range."""
ROUNDING = 1e-9
"""How far a network's number may be from the nominal one of its range, relatively."""

Ranges = Mapping[str, Range]


def may_be_uncertain(kind: type, name: str) -> bool:
    """Whether field `name` of `kind` may be given by a range."""
    return name in UNCERTAIN.get(kind, ())


def nominal_values(kind: type, ranges: Ranges, packet_bytes: int) -> dict[str, Any]:
    """The nominal numbers of ranges by field, in inside units; whole ones rounded.

    Args:
        kind: whose fields they are.
        ranges: by field, in the units of the file.
        packet_bytes: the size of a packet, for rates.
    """
    return {name: _nominal(kind, name, of, packet_bytes) for name, of in ranges.items()}


def _nominal(kind: type, name: str, given: Range, packet_bytes: int) -> float:
    if name == "count":
        return round(given.nominal)
    return from_edge(Decimal(repr(given.nominal)), unit_of(kind, name), packet_bytes)


def require_possible(kind: type, values: Mapping[str, Any], ranges: Ranges) -> None:
    """Refuse a range for a number of flows of which another key has a list.

    Raises:
        ValidationError: for the list.
    """
    lists = [name for name in ("base_rtt", "start") if isinstance(values.get(name), tuple)]
    if "count" in ranges and lists:
        raise refusal("one value where count is a range", "a list", key_of(kind, lists[0]))


def ranges_of(
    document: Mapping[str, Any], network: Network, noted: Mapping[int, Ranges]
) -> dict[str, Range]:
    """The ranges of a model file by the names of their numbers.

    Args:
        document: what the file holds.
        network: what it says, with the nominal numbers.
        noted: the ranges by field, by the `id` of the table that has them.

    Raises:
        ValidationError: for numbers that each might be, but not together.
    """
    found = {
        f"{owner}.{key_of(kind, name)}": given
        for owner, kind, table in _owners(document)
        for name, given in noted.get(id(table), {}).items()
    }
    _require_round_trips(document, network, found)
    return found


def _owners(document: Mapping[str, Any]) -> Iterator[tuple[str, type, Any]]:
    if SINGLE_LINK in document:
        yield SINGLE_LINK, Link, document[SINGLE_LINK]
    for name, table in document.get("links", {}).items():
        yield name, Link, table
    for name, table in document["flows"].items():
        yield name, Flows, table


def _require_round_trips(document: Mapping[str, Any], network: Network, ranges: Ranges) -> None:
    """The shortest round trips must be long enough for the longest links."""
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
        raise network_refusal(error, document) from None


def uncertain(model: Model) -> Iterator[tuple[Parameter, Range]]:
    """The uncertain numbers of a model, with their ranges.

    Raises:
        InvalidInput: for a name that no such number has, or a network whose number is not the
            nominal one: then a file could not say it.
    """
    for name, given in model.ranges.items():
        found = parameter_of(model.network, name)
        kind = OWNERS[found.group]
        if found.part is not None or not may_be_uncertain(kind, found.field):
            keys = ", ".join(key_of(kind, field) for field in UNCERTAIN[kind])
            raise InvalidInput("Model", "ranges", f"of one of {keys}", name)
        value, nominal = found.value(model.network), given.nominal
        nominal = round(nominal) if found.whole else nominal
        if not math.isclose(value, nominal, rel_tol=ROUNDING):
            allowed = f"around the network's {name} ({value:g})"
            raise InvalidInput("Model", "ranges", allowed, f"around {nominal:g}")
        yield found, given

"""Writing a model file that reads back as exactly the same model."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

import tomli_w

from vegasfluid.model import Model
from vegasfluid.modelfile.ranges import uncertain
from vegasfluid.modelfile.units import choosing_key, key_of, to_edge
from vegasfluid.network import SINGLE_LINK
from vegasfluid.quantities import Unit, unit_of

__all__ = ["dumps"]

Table = dict[str, Any]


def dumps(model: Model) -> str:
    """A model as the text of a model file; what is at its default is left out.

    Args:
        model: any model; `loads` of the text gives an equal one.

    Raises:
        InvalidInput: for ranges of which the network does not have the nominal numbers.

    >>> from vegasfluid.modelfile import load, loads
    >>> model = load("models/weigle_feng_network2.toml")
    >>> loads(dumps(model)) == model
    True
    """
    packet_bytes = model.network.packet_bytes
    network = _table(model.network, packet_bytes)
    for number, given in uncertain(model):
        network[number.group][number.owner][number.key] = _table(given, packet_bytes)
    links = network.pop("links")
    placed = {SINGLE_LINK: links[SINGLE_LINK]} if list(links) == [SINGLE_LINK] else {"links": links}
    times = _table(model, packet_bytes, "network", "ranges")
    heading = {key: times.pop(key) for key in ("title", "source") if key in times}
    return tomli_w.dumps(heading | times | placed | network)


def _table(value: Any, packet_bytes: int, *left_out: str) -> Table:
    """The keys of a value class that are not at their defaults."""
    kind = type(value)
    chosen_by = choosing_key(kind)
    table: Table = {} if chosen_by is None else {chosen_by: value.name}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.name not in left_out and not _is_default(field, held):
            unit = unit_of(kind, field.name)
            table[key_of(kind, field.name)] = _written(held, unit, packet_bytes)
    return table


def _is_default(field: Field[Any], held: Any) -> bool:
    if field.default_factory is not MISSING:
        return held == field.default_factory()
    return field.default is not MISSING and held == field.default


def _written(held: Any, unit: Unit | None, packet_bytes: int) -> Any:
    """What tomli-w writes for a field."""
    match held:
        case bool() | str():
            return held
        case numbers.Real():
            number = to_edge(float(held), unit, packet_bytes)
            return int(number) if number.as_tuple().exponent == 0 else number
        case tuple() | list():
            return [_written(one, unit, packet_bytes) for one in held]
        case Mapping():
            return {name: _written(one, unit, packet_bytes) for name, one in held.items()}
        case _:
            return _table(held, packet_bytes)

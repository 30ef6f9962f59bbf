"""Write a model file that reads back as exactly the same model."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

import tomli_w

from vegasfluid.model import Model
from vegasfluid.modelfile.ranges import uncertain
from vegasfluid.modelfile.units import choosing_key, key_of, to_file_unit
from vegasfluid.network import SINGLE_LINK
from vegasfluid.quantities import Unit, unit_of

__all__ = ["dumps"]

Table = dict[str, Any]
"""A table of a model file: values by key, in the units of the file."""


def dumps(model: Model) -> str:
    """Text of a model file that reads back as exactly this model; defaults are left out.

    Args:
        model: any model; `loads` of the text gives an equal one.

    Returns:
        TOML text in the units of model files (ms, Mbit/s, packets).

    Raises:
        InvalidInput: if the network does not have the nominal value of a range, or a range has an
            unknown name or is of a parameter that a file may not give as a range.

    >>> from vegasfluid.modelfile import load, loads
    >>> model = load("models/weigle_feng_network2.toml")
    >>> loads(dumps(model)) == model
    True
    """
    packet_bytes = model.network.packet_bytes
    network = _table(model.network, packet_bytes)
    for parameter, given in uncertain(model):
        network[parameter.group][parameter.owner][parameter.key] = _table(given, packet_bytes)
    links = network.pop("links")
    link_tables = (
        {SINGLE_LINK: links[SINGLE_LINK]} if list(links) == [SINGLE_LINK] else {"links": links}
    )
    times = _table(model, packet_bytes, "network", "ranges")
    heading = {key: times.pop(key) for key in ("title", "source") if key in times}
    return tomli_w.dumps(heading | times | link_tables | network)


def _table(value: Any, packet_bytes: int, *left_out: str) -> Table:
    """Table of a value object in the units of model files, without fields at their defaults.

    Args:
        value: the object, such as a link.
        packet_bytes: packet size that converts rates, bytes.
        left_out: names of fields that are not written.
    """
    kind = type(value)
    chosen_by = choosing_key(kind)
    table: Table = {} if chosen_by is None else {chosen_by: value.name}
    for field in fields(value):
        field_value = getattr(value, field.name)
        if field.name not in left_out and not _is_default(field, field_value):
            unit = unit_of(kind, field.name)
            table[key_of(kind, field.name)] = _written(field_value, unit, packet_bytes)
    return table


def _is_default(field: Field[Any], field_value: Any) -> bool:
    """Whether a value equals the default of its field."""
    if field.default_factory is not MISSING:
        return field_value == field.default_factory()
    return field.default is not MISSING and field_value == field.default


def _written(field_value: Any, unit: Unit | None, packet_bytes: int) -> Any:
    """Value of a field as tomli-w writes it: text, numbers in the file's unit, lists, tables.

    Args:
        field_value: in internal units.
        unit: unit of the field; None: no conversion.
        packet_bytes: packet size that converts rates, bytes.
    """
    match field_value:
        case bool() | str():
            return field_value
        case numbers.Real():
            number = to_file_unit(float(field_value), unit, packet_bytes)
            return int(number) if number.as_tuple().exponent == 0 else number
        case tuple() | list():
            return [_written(item, unit, packet_bytes) for item in field_value]
        case Mapping():
            return {name: _written(item, unit, packet_bytes) for name, item in field_value.items()}
        case _:
            return _table(field_value, packet_bytes)

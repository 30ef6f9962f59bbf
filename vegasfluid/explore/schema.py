"""Fields of the page's form: the keys of model files, derived from the value classes."""

from __future__ import annotations

from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from vegasfluid.aqm import queue_disciplines
from vegasfluid.bundled import bundled_models, purpose
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.model import Model
from vegasfluid.modelfile.parameters import Parameter, parameters
from vegasfluid.modelfile.units import key_of, to_file_unit
from vegasfluid.network import SINGLE_LINK, Flows, Link, Network
from vegasfluid.quantities import Value, unit_of
from vegasfluid.sweep.axes import is_whole
from vegasfluid.traffic import traffic_sources

__all__ = ["form_schema", "numbers_to_tune"]

NAMES = {("vegas", "dialect"): tuple(DIALECTS)}
"""Values of fields that are text, by congestion control and field."""
TYPES = {bool: "boolean", int: "number", float: "number", str: "text"}
"""Kinds of input by the type of a field."""


def form_schema() -> dict[str, Any]:
    """Form fields of models, links, flow classes, congestion controls, queues and traffic sources.

    Returns:
        `model`, `link` and `flows`: lists of fields (key, type, default: see `fields_of`);
        `law`, `aqm` and `traffic`: such lists by the name of the congestion control, queue
        discipline or traffic source; `models`: purposes of the built-in models by name.
    """
    chosen = {
        "law": congestion_controls(),
        "aqm": queue_disciplines(),
        "traffic": traffic_sources(),
    }
    return {
        "model": [*fields_of(Model), *fields_of(Network)],
        "link": fields_of(Link),
        "flows": fields_of(Flows),
        **{
            table: {name: fields_of(kind, name) for name, kind in kinds.items()}
            for table, kinds in chosen.items()
        },
        "models": {name: purpose(path) for name, path in bundled_models().items()},
    }


def fields_of(kind: type[Value], name: str = "") -> list[dict[str, Any]]:
    """Fields of a class that one input can edit: numbers, text, choices and yes or no.

    Args:
        kind: the class, such as `Link`.
        name: name of the congestion control, queue discipline or source; empty: another class.

    Returns:
        For each field its `key` in model files, `type` (number, text, choice or boolean),
        `options` of a choice, `default` in the unit of the key (null: none, or chosen by the
        program) and whether it is `required`.
    """
    hints, found = get_type_hints(kind), []
    for field in fields(kind):
        parts = plain_types(hints[field.name])
        options = next((get_args(part) for part in parts if get_origin(part) is Literal), None)
        options = NAMES.get((name, field.name), options)
        known = next((TYPES[part] for part in parts if part in TYPES), None)
        if options is None and known is None:
            continue
        found.append(
            {
                "key": key_of(kind, field.name),
                "type": "choice" if options else known,
                "options": options,
                "default": default_of(kind, field.name, field.default),
                "required": field.default is MISSING and field.default_factory is MISSING,
            }
        )
    return found


def plain_types(hint: Any) -> tuple[Any, ...]:
    """The types that a hint allows: the parts of a union, or the hint itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def default_of(kind: type[Value], name: str, value: Any) -> Any:
    """Default of a field in the unit of its key, such as 15 (ms) for 0.015 (s).

    Rates are converted with the default packet size. Text, True and False are unchanged; None if
    there is no default.
    """
    if value is MISSING or value is None or isinstance(value, bool | str):
        return None if value is MISSING else value
    return float(to_file_unit(value, unit_of(kind, name), Network.packet_bytes))


def numbers_to_tune(network: Network) -> list[dict[str, Any]]:
    """Numeric parameters of a network that the axes of the plane can have.

    Returns:
        For each its `name`, `value` in the unit that ends the name, whether it takes `whole`
        numbers only, `low` and `high`, the ends of an axis around it, its `path`: keys of nested
        tables of the model file, and whether it belongs to a congestion control (`law`). Those of
        congestion controls come first.
    """
    found = []
    for name, parameter in parameters(network).items():
        value, whole = float(parameter.value(network)), is_whole(network, name)
        low, high = ends_around(value, whole=whole)
        entry = {"name": name, "value": value, "whole": whole, "low": low, "high": high}
        entry |= {"path": path_of(network, parameter), "law": parameter.part == "law"}
        found.append(entry)
    return sorted(found, key=lambda entry: not entry["law"])


def path_of(network: Network, parameter: Parameter) -> list[str]:
    """Keys of nested tables that lead to a parameter in a model file, such as flows, vegas, law."""
    single = parameter.group == "links" and list(network.links) == [SINGLE_LINK]
    owner = [SINGLE_LINK] if single else [parameter.group, parameter.owner]
    part = [] if parameter.part is None else [parameter.part]
    return [*owner, *part, parameter.name.removeprefix(f"{parameter.owner}.")]


def ends_around(value: float, *, whole: bool) -> tuple[float, float]:
    """Ends of an axis on which a value lies: a quarter and 2.5 times the value, with two digits.

    For 0 they are 0 and 10. Ends of whole numbers are at least 1 and 3.

    Args:
        value: at least 0.
        whole: whether only whole numbers are allowed.

    >>> ends_around(155.0, whole=False), ends_around(1.0, whole=True)
    ((39.0, 390.0), (1.0, 3.0))
    """
    if value == 0:
        return 0.0, 10.0
    low, high = (float(f"{value * factor:.2g}") for factor in (0.25, 2.5))
    return (max(1.0, round(low)), max(3.0, round(high))) if whole else (low, high)

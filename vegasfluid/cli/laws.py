"""`vegasfluid laws`: parameters of congestion controls, queue disciplines and traffic sources."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from rich.table import Table

from vegasfluid.aqm import queue_disciplines
from vegasfluid.cli.output import console, plain, print_json, table
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.modelfile.units import key_of, to_file_unit
from vegasfluid.network import Host, Network
from vegasfluid.quantities import Unit, Value, unit_of
from vegasfluid.traffic import traffic_sources

__all__ = ["run"]

TABLES = {
    "congestion_controls": "congestion control",
    "queue_disciplines": "queue discipline",
    "traffic_sources": "traffic source",
}
"""Keys of the JSON document, with the headings of their tables."""


def run(*, as_json: bool) -> None:
    """Print every congestion control, queue discipline and traffic source with its parameters."""
    document = {
        "congestion_controls": [law_entry(law) for law in congestion_controls().values()],
        "vegas_dialects": [dialect_entry(name) for name in DIALECTS],
        "queue_disciplines": [law_entry(law) for law in queue_disciplines().values()],
        "traffic_sources": [law_entry(kind) for kind in traffic_sources().values()],
    }
    if as_json:
        print_json(document)
    else:
        show(document)


def parameters(kind: type[Value]) -> list[dict[str, Any]]:
    """JSON entries of the parameters of a class `kind`, one for each field.

    Returns:
        `name`, `key` in a model file, internal unit (`units`), `default` in that unit and
        `default_in_file` in the unit of the key, and whether it is `required`. A default is None
        where it is the host's, depends on another parameter, or a value is required.
    """
    entries = []
    for field in fields(kind):
        unit = unit_of(kind, field.name)
        required = field.default is MISSING and field.default_factory is MISSING
        default = None if required else field.default
        entries.append(
            {
                "name": field.name,
                "key": key_of(kind, field.name),
                "units": unit.inside if unit else None,
                "default": default,
                "default_in_file": in_file(default, unit),
                "required": required,
            }
        )
    return entries


def in_file(value: Any, unit: Unit | None) -> Any:
    """A default value in the unit of its key in model files, such as 15 (ms) for 0.015 (s).

    Rates are converted with the default packet size. Without a unit (or None) it is unchanged.
    """
    if value is None or unit is None or unit.scale == 1:
        return value
    return float(to_file_unit(value, unit, Network.packet_bytes))


def law_entry(law: Any) -> dict[str, Any]:
    """JSON entry of a congestion control, queue discipline or traffic source.

    Its `name`, its `parameters` (see `parameters`) and the `sources`, references as text.
    """
    return {"name": law.name, "parameters": parameters(law), "sources": list(law.sources)}


def dialect_entry(name: str) -> dict[str, Any]:
    """JSON entry of a Vegas dialect: default alpha, beta and gamma (packets), and sources."""
    dialect = DIALECTS[name]
    defaults = {key: getattr(dialect, key) for key in ("alpha", "beta", "gamma")}
    return {"name": name, "defaults": defaults, "sources": list(dialect.sources)}


def show(document: dict[str, list[dict[str, Any]]]) -> None:
    """Print tables of congestion controls, queue disciplines, sources and Vegas dialects."""
    out = console()
    for title, heading in TABLES.items():
        columns = (heading, "key in a model file", "default", "unit in Python")
        rows = table(*columns, texts=columns)
        for entry in document[title]:
            name = entry["name"]
            for parameter in entry["parameters"] or [None]:
                rows.add_row(name, *parameter_cells(parameter))
                name = ""
        out.print(rows)
        out.print()
    rows = table("Vegas dialect", "alpha", "beta", "gamma")
    for entry in document["vegas_dialects"]:
        rows.add_row(entry["name"], *(f"{value:g}" for value in entry["defaults"].values()))
    out.print(rows)
    out.print()
    out.print(sources_table(document))


def sources_table(document: dict[str, list[dict[str, Any]]]) -> Table:
    """Table of the literature and source code behind each law; `document` is the JSON output."""
    rows = table("sources", "", texts=[""])
    for title in ("congestion_controls", "vegas_dialects", "queue_disciplines", "traffic_sources"):
        for entry in document[title]:
            rows.add_row(entry["name"], "; ".join(entry["sources"]))
    return rows


def parameter_cells(parameter: dict[str, Any] | None) -> tuple[str, str, str]:
    """Table cells of a parameter: key, default in the unit of the key, and unit in Python.

    None, for an entry without parameters, gives empty cells.
    """
    if parameter is None:
        return "", "", ""
    default = "required" if parameter["required"] else parameter["default_in_file"]
    if default is None:
        is_of_host = parameter["name"] in {field.name for field in fields(Host)}
        default = "that of the host" if is_of_host else "depends on other keys"
    return parameter["key"], plain(default), parameter["units"] or ""

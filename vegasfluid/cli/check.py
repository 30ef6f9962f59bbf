"""`vegasfluid check`: validate and explain a model file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rich.table import Table

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_check, show_next
from vegasfluid.cli.output import console, plain, print_json, table
from vegasfluid.model import Model
from vegasfluid.modelfile.ranges import uncertain
from vegasfluid.network import Network
from vegasfluid.network.rows import FLOW_COLUMNS, LINK_COLUMNS, flow_rows, link_rows
from vegasfluid.quantities import unit_of

__all__ = ["run"]

QUICK_ACKS = "after N: the first N packets are acknowledged at once"
"""Caption of the table of hosts that explains its column of delayed ACKs."""


def run(name: str, *, everything: bool, as_json: bool) -> bool:
    """Validate and explain model `name`; returns whether it is valid.

    Prints text, with the parameters at their defaults if `everything`, or one JSON document. Errors
    are printed only in JSON, otherwise raised.
    """
    try:
        model = modelfile.read_model(name)
    except modelfile.ModelFileError as error:
        if not as_json:
            raise
        print_json({"model": name, "ok": False, "errors": list(error.lines)})
        return False
    document = {"model": name, "ok": True, **explain(model)}
    if as_json:
        print_json(document)
    else:
        show(model, document, everything)
    return True


def explain(model: Model) -> dict[str, Any]:
    """JSON entries that explain a model.

    Returns:
        `bandwidth_delay_packets` (slowest link times mean base RTT of all flows), `base_rtt_s`
        (mean) and `flows` (number) by class, `hosts` (see `hosts`), `ranges` by parameter in the
        unit of its name, and sentences: what is `assumed`, and `warnings`.
    """
    network = model.network
    return {
        "bandwidth_delay_packets": network.bandwidth_delay(),
        "base_rtt_s": {name: network.mean_base_rtt(name) for name in network.flows},
        "flows": {name: flows.count for name, flows in network.flows.items()},
        "hosts": hosts(network),
        "ranges": {
            number.name: {
                **bounds.parameters(),
                "nominal": round(bounds.nominal) if number.whole else bounds.nominal,
            }
            for number, bounds in uncertain(model)
        },
        "assumed": network.assumptions(),
        "warnings": network.warnings(),
    }


def show(model: Model, document: dict[str, Any], everything: bool) -> None:
    """Print a model as text and tables.

    `document` has the entries of `explain`, and `model`, the name to print. Parameters at their
    defaults are shown only if `everything`.
    """
    out = console()
    out.print(model.title or "model", style="bold")
    out.print(f"{document['model']} is valid.")
    if model.source:
        out.print(f"Source: {model.source}.")
    out.print(f"Duration {model.duration:g} s; averages exclude the first {model.warmup:g} s.")
    for rows in (
        links_table(model.network),
        flows_table(model.network),
        *([hosts_table(document["hosts"])] if document["hosts"] else []),
        parameters_table(model.network.resolved(), everything),
    ):
        out.print()
        out.print(rows)
    if not everything:
        out.print("Parameters at their defaults are left out; --all lists them.")
    if document["bandwidth_delay_packets"] is not None:
        packets = document["bandwidth_delay_packets"]
        out.print(
            f"\nBandwidth-delay product: {packets:.1f} packets{buffers(model.network, packets)}."
        )
    if document["ranges"]:
        out.print()
        out.print(ranges_table(document["ranges"]))
        out.print("recommend finds parameters for the whole ranges.")
        out.print("simulate, analyse, sweep and export use the nominal values.")
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    out.print()
    show_next(after_check(document["model"], model.network))


def buffers(network: Network, product: float) -> str:
    """End of a sentence: how many times `product` the buffer of a network's one link has.

    `product` is the bandwidth-delay product, packets. Empty for several links.
    """
    if len(network.links) > 1:
        return ""
    [link] = network.links.values()
    return f"; the buffer holds {link.buffer / product:.3g} times as many"


def hosts(network: Network) -> dict[str, dict[str, Any]]:
    """JSON entries of what the hosts of each class do, by class; classes without ACKs are left out.

    Returns:
        For each class the name of its `host`, whether the model gives it (`given`), and settings
        whose keys end in their unit (packets, s, bytes), with those of its loss recovery.
    """
    entries = {}
    for name, flows in network.resolved().flows.items():
        if not flows.law.rules.reliable:
            continue
        host = flows.settings
        entries[name] = {
            "host": host.name,
            "given": network.flows[name].host is not None,
            "initial_window_packets": host.initial_window,
            "initial_ssthresh_packets": host.initial_ssthresh,
            "min_rto_s": host.min_rto,
            "initial_rto_s": host.initial_rto,
            "delayed_ack_s": host.delayed_ack,
            "quick_acks": host.quick_acks,
            "ack_bytes": network.ack_bytes_of(name),
            "recovery": flows.law.rules.recovery,
            "counts_acks": flows.law.counts_acks,
        }
    return entries


def hosts_table(entries: dict[str, dict[str, Any]]) -> Table:
    """Table of what the hosts of each class do; `entries` are those of `hosts`."""
    columns = (
        "class",
        "host",
        "initial cwnd",
        "delayed ACKs",
        "ACK, bytes",
        "min RTO, s",
        "recovery",
    )
    rows = table(*columns, texts=["host", "delayed ACKs", "recovery"])
    rows.caption_justify = "left"
    for name, entry in entries.items():
        delays = f"{entry['delayed_ack_s'] * 1e3:g} ms" if entry["delayed_ack_s"] else "no"
        if entry["delayed_ack_s"] and entry["quick_acks"]:
            delays += f" after {entry['quick_acks']}"
            rows.caption = QUICK_ACKS
        rows.add_row(
            name,
            entry["host"],
            f"{entry['initial_window_packets']:g}",
            delays,
            str(entry["ack_bytes"]),
            f"{entry['min_rto_s']:g}",
            entry["recovery"],
        )
    return rows


def links_table(network: Network) -> Table:
    """Table of the links: capacity (Mbit/s, packets/s), delay (ms), buffer (packets), queue."""
    rows = table(*LINK_COLUMNS, texts=["queue"])
    for cells in link_rows(network):
        rows.add_row(*cells)
    return rows


def ranges_table(ranges: dict[str, dict[str, Any]]) -> Table:
    """Table of the parameters given as ranges: low, high and nominal value, and distribution.

    `ranges` are those of `explain`; values are in the units of the parameters' names.
    """
    rows = table("uncertain parameter", "low", "high", "nominal", "spread", texts=["spread"])
    for name, bounds in ranges.items():
        numbers = (f"{bounds[key]:.6g}" for key in ("low", "high", "nominal"))
        rows.add_row(name, *numbers, bounds["spread"])
    return rows


def flows_table(network: Network) -> Table:
    """Table of the flow classes: number of flows, base RTT (ms), control and traffic."""
    rows = table(*FLOW_COLUMNS, texts=["control", "traffic"])
    for cells in flow_rows(network):
        rows.add_row(*cells)
    return rows


def parameters_table(network: Network, everything: bool) -> Table:
    """Table of the parameters of queues, congestion controls and sources, in internal units.

    Those at their defaults have a row if `everything`.
    """
    rows = table("object", "parameter", "value", "units", texts=["parameter", "value", "units"])
    for name, link in network.links.items():
        add_parameters(rows, name, link.aqm, everything)
    for name, flows in network.flows.items():
        add_parameters(rows, name, flows.law, everything)
        add_parameters(rows, name, flows.traffic, everything)
    return rows


def add_parameters(rows: Table, owner: str, law: Any, everything: bool) -> None:
    """Add a table row for each parameter of a congestion control, queue or source.

    In internal units, under the name `owner`. Those without a value (None) have no row, and those
    at their defaults, such as switches that are off, only if `everything`.
    """
    defaults = {field.name: field.default for field in fields(law)}
    for name, value in law.parameters().items():
        is_default = value is False or value == defaults[name]
        if value is None or (is_default and not everything):
            continue
        unit = unit_of(type(law), name)
        rows.add_row(owner, name, plain(value), unit.inside if unit else "")
        owner = ""

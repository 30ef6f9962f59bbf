"""`vegasfluid check`: read and explain a model file."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_check, show_next
from vegasfluid.cli.output import console, plain, print_json, table
from vegasfluid.model import Model
from vegasfluid.modelfile.ranges import uncertain
from vegasfluid.network import Flows, Network
from vegasfluid.quantities import unit_of

__all__ = ["run"]


def run(name: str, *, as_json: bool) -> bool:
    """Explain a model file; with `as_json` also one that is refused. Whether it is one."""
    try:
        model = modelfile.read_model(name)
    except modelfile.ModelFileError as refused:
        if not as_json:
            raise
        print_json({"model": name, "ok": False, "errors": list(refused.lines)})
        return False
    document = {"model": name, "ok": True, **explain(model)}
    if as_json:
        print_json(document)
    else:
        show(model, document)
    return True


def explain(model: Model) -> dict[str, Any]:
    """What a model amounts to; of several links, the slowest gives the bandwidth-delay product."""
    network = model.network
    return {
        "bandwidth_delay_packets": network.bandwidth_delay(),
        "base_rtt_s": {name: network.mean_base_rtt(name) for name in network.flows},
        "flows": {name: flows.count for name, flows in network.flows.items()},
        "ranges": {
            number.name: {
                **of.parameters(),
                "nominal": round(of.nominal) if number.whole else of.nominal,
            }
            for number, of in uncertain(model)
        },
        "assumed": network.assumptions(),
        "warnings": network.warnings(),
    }


def show(model: Model, document: dict[str, Any]) -> None:
    """A model in words."""
    out = console()
    out.print(model.title or "model", style="bold")
    out.print(f"{document['model']} is well formed.")
    if model.source:
        out.print(f"Source: {model.source}.")
    out.print(f"Runs for {model.duration:g} s; means leave out the first {model.warmup:g} s.")
    for rows in (
        links_table(model.network),
        flows_table(model.network, document["base_rtt_s"]),
        laws_table(model.network),
    ):
        out.print()
        out.print(rows)
    if document["bandwidth_delay_packets"] is not None:
        packets = document["bandwidth_delay_packets"]
        out.print(f"\nBandwidth-delay product: {packets:.1f} packets.")
    if document["ranges"]:
        out.print()
        out.print(ranges_table(document["ranges"]))
        out.print("recommend holds over the ranges.")
        out.print("simulate, analyse, sweep and export use the nominal numbers.")
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    out.print()
    show_next(after_check(document["model"], model.network))


def links_table(network: Network) -> Table:
    """The links."""
    rows = table("link", "packets/s", "one way, ms", "buffer", "queue law", texts=["queue law"])
    for name, link in network.links.items():
        numbers = (f"{link.capacity:.1f}", f"{link.delay * 1e3:g}", f"{link.buffer:g}")
        rows.add_row(name, *numbers, link.aqm.name)
    return rows


def ranges_table(ranges: dict[str, dict[str, Any]]) -> Table:
    """The uncertain numbers."""
    rows = table("uncertain", "low", "high", "nominal", "spread", texts=["spread"])
    for name, of in ranges.items():
        numbers = (f"{of[key]:.6g}" for key in ("low", "high", "nominal"))
        rows.add_row(name, *numbers, of["spread"])
    return rows


def flows_table(network: Network, base_rtt: dict[str, float] | None) -> Table:
    """The classes of flows."""
    rows = table("class", "flows", "base RTT, ms", "law", "traffic", texts=["law", "traffic"])
    for name, of in network.flows.items():
        rtt = "-" if base_rtt is None else f"{base_rtt[name] * 1e3:.2f}"
        rows.add_row(name, str(of.count), rtt, law_name(of), traffic(of))
    return rows


def law_name(flows: Flows) -> str:
    """The law of a class; whose, where there are several."""
    dialect = getattr(flows.law, "dialect", None)
    return f"{flows.law.name}, {dialect}" if dialect else flows.law.name


def traffic(flows: Flows) -> str:
    """What a class sends, and which way."""
    kind = flows.traffic.name
    return kind if flows.direction == "forward" else f"{kind}, {flows.direction}"


def laws_table(network: Network) -> Table:
    """Every parameter of the queues, the classes and their traffic."""
    rows = table("of", "parameter", "value", "units", texts=["parameter", "value", "units"])
    for name, link in network.links.items():
        add_parameters(rows, name, link.aqm)
    for name, flows in network.flows.items():
        add_parameters(rows, name, flows.law)
        add_parameters(rows, name, flows.traffic)
    return rows


def add_parameters(rows: Table, whose: str, law: Any) -> None:
    """A line for each parameter of a law, as the program computes with it."""
    for name, value in law.parameters().items():
        unit = unit_of(type(law), name)
        rows.add_row(whose, name, plain(value), unit.inside if unit else "")
        whose = ""

"""ns-2's runs on the papers' networks, and the same networks for our simulators."""

from __future__ import annotations

import csv
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import child_seconds
from vegasfluid import modelfile
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.model import Model
from vegasfluid.network import Network

__all__ = ["NS2Row", "model_of", "ns2_cpu_seconds", "ns2_rows"]

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "tests" / "agreement" / "ns2_one_way.csv"


class NS2Row(NamedTuple):
    """One run of ns-2; `ratio` is goodput of a Vegas flow over a Reno flow."""

    name: str
    network: int
    alpha: float
    beta: float
    initial_ssthresh: float
    wait: bool
    ratio: float
    utilisation: float
    queue_packets: float
    drop_share: float
    cpu_s: float

    @property
    def gentle_start(self) -> bool:
        """Whether slow start ends before it overshoots."""
        return self.initial_ssthresh < 1e4


NUMBERS = [key for key in NS2Row._fields if key not in ("name", "network", "wait")]


def ns2_rows() -> list[NS2Row]:
    """Every row of the table."""
    with ROWS.open() as file:
        lines = [line for line in file if not line.startswith("#")]
    return [
        NS2Row(
            name=row["name"],
            network=int(row["network"]),
            wait=row["wait"] == "true",
            **{key: float(row[key]) for key in NUMBERS},
        )
        for row in csv.DictReader(lines)
    ]


def model_of(row: NS2Row) -> Model:
    """The papers' network as ns-2 ran it in this row."""
    model = modelfile.load(ROOT / "models" / f"weigle_feng_network{row.network}.toml")
    return replace(model, network=as_in(row, model.network))


def as_in(row: NS2Row, network: Network) -> Network:
    """A network with the row's parameters."""
    law = Vegas(alpha=row.alpha, beta=row.beta, gamma=1, dialect="ns2")
    flows = {
        name: replace(group, initial_ssthresh=row.initial_ssthresh)
        for name, group in network.flows.items()
    }
    flows["vegas"] = replace(flows["vegas"], law=law)
    link = replace(network.link, aqm=replace(network.link.aqm, wait=row.wait))
    return replace(network, links={"bottleneck": link}, flows=flows)


def ns2_cpu_seconds(row: NS2Row, *, two_way: bool) -> float:
    """CPU seconds of ns-2 on the same network, by the smallest script that makes the same load."""
    script = (ROOT / "benchmarks" / "network.tcl").read_text()
    model = model_of(row)
    network = model.network
    flows, vegas = network.flows["reno"], network.flows["vegas"].law
    values = {
        "COUNT": flows.count,
        "ACCESS_MBPS": {2: 100, 4: 1000}[row.network],
        "ACCESS_MS": 1e3 * (flows.access_delay or 0),
        "LINK_MBPS": {2: 155, 4: 622}[row.network],
        "LINK_MS": 1e3 * network.link.delay,
        "BUFFER": int(network.link.buffer),
        "MIN": network.link.aqm.parameters()["min_thresh"],
        "MAX": network.link.aqm.parameters()["max_thresh"],
        "ALPHA": int(vegas.parameters()["alpha"]),
        "BETA": int(vegas.parameters()["beta"]),
        "SSTHRESH": int(row.initial_ssthresh),
        "UNTIL": model.duration,
        "WAYS": 1 + two_way,
        "BACK": "RED" if two_way else "DropTail",
    }
    for key, value in values.items():
        script = script.replace(f"@{key}@", str(value))
    with tempfile.NamedTemporaryFile("w", suffix=".tcl") as file:
        file.write(script)
        file.flush()
        before = child_seconds()
        subprocess.run(["ns", file.name], check=True, capture_output=True)
    return child_seconds() - before

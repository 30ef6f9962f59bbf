"""The packet simulator against ns-2.35 over drop-tail: packet by packet, and in the mean.

Both tables are runs of ns-2 by the scenario that `vegasfluid export --format ns2` writes. Vegas
alone (`ns2_vegas_alone.json`) is a clock without chance: every packet has to be the same. (Where
two events fall on one instant the simulators may take them in another order, and part.) Against
Reno (`ns2_drop_tail.csv`) the networks are those of `benchmarks.tuning`, with its random times
before sending.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.tuning.networks import TUNED, untuned
from tests.agreement.idle import RENO_AND_VEGAS, with_idle
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet import record_packets
from vegasfluid.tuning.measurement import measure

HERE = Path(__file__).parent
ALONE = json.loads((HERE / "ns2_vegas_alone.json").read_text())["runs"]
AGAINST_RENO = list(
    csv.DictReader(
        line
        for line in (HERE / "ns2_drop_tail.csv").read_text().splitlines()
        if not line.startswith("#")
    )
)
SEEDS = range(1, 25)
QUICK = {"02_1", "05_1"}
"""Rows that share one compiled kernel."""


@pytest.mark.parametrize("run", ALONE, ids=lambda run: f"{len(run['starts'])} flows")
def test_vegas_alone_sends_the_packets_that_ns2_sends(run: dict[str, Any]) -> None:
    law = Vegas(alpha=run["alpha"], beta=run["alpha"] + 2, dialect="ns2")
    starts, rtts = tuple(run["starts"]), tuple(run["rtts"])
    flows = Flows(len(starts), law, base_rtt=rtts, start=starts, send_overhead=0.0)
    network = Network(Link(run["capacity"], run["buffer"]), {"vegas": flows})
    times = np.array([0.0, *(np.arange(1, 20) + 3e-4)])
    found = record_packets(with_idle(network, *RENO_AND_VEGAS), times, 1).flows
    sent = np.array(run["sent"]).T
    ours = found["sent"][1:, len(RENO_AND_VEGAS) :]
    assert np.abs(ours - sent).max() <= 1  # one may be sent just before or after
    np.testing.assert_array_equal(found["timeouts"][-1, len(RENO_AND_VEGAS) :], run["timeouts"])
    assert sum(run["timeouts"]) > 2


@pytest.mark.parametrize(
    ("capacity", "buffer", "starts", "rtts", "sent", "timeouts"),
    [
        (575.0, 10, (0.5118,), (0.04401,), 9367, 1),
        (575.0, 14, (0.0856, 0.2368, 0.8013), (0.03664, 0.02688, 0.03366), 10766, 42),
    ],
)
def test_newreno_gives_up_a_window_with_very_many_losses(
    capacity: float,
    buffer: float,
    starts: tuple[float, ...],
    rtts: tuple[float, ...],
    sent: int,
    timeouts: int,
) -> None:
    """In ns-2 (tcpTick_ 0.0001, syn_ false), up to 19 s; nearly, as times coincide at the queue.

    With a timer that each partial ACK starts anew there are 0 and 24 timeouts.
    """
    law = Reno(recovery="newreno")
    flows = Flows(len(starts), law, base_rtt=rtts, start=starts, send_overhead=0.0)
    network = Network(Link(capacity, buffer), {"reno": flows})
    found = record_packets(with_idle(network, *RENO_AND_VEGAS), np.array([0.0, 19.0]), 1).flows
    assert found["sent"][-1].sum() == pytest.approx(sent, rel=0.01)
    assert found["timeouts"][-1].sum() == pytest.approx(timeouts, rel=0.1)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=name, marks=[] if name in QUICK else [pytest.mark.study])
        for row in AGAINST_RENO
        for name in [f"{row['name'][:2]}_{row['alpha']}"]
    ],
)
def test_vegas_against_reno_over_drop_tail(row: dict[str, str]) -> None:
    case = next(item for item in untuned() if item.name == row["name"])
    law = Vegas(alpha=float(row["alpha"]), beta=float(row["beta"]), dialect="ns2")
    network = case.network.with_law(TUNED, law)
    found = measure(network, TUNED, SEEDS, until=case.until, warmup=case.warmup)
    means = found.means()
    assert found.ratio == pytest.approx(float(row["ratio"]), rel=0.1)
    assert means["utilisation"] == pytest.approx(float(row["utilisation"]), abs=0.005)
    assert means["queue_packets"] == pytest.approx(float(row["queue_packets"]), rel=0.02)
    # From seed to seed the last row's drops are a third apart: losses that stay, or end.
    assert means["drop_share"] == pytest.approx(float(row["drop_share"]), rel=0.2)


@pytest.mark.parametrize("row", AGAINST_RENO[:1], ids=lambda row: row["name"][:2])
def test_bursts_of_a_sender_stay_together(row: dict[str, str]) -> None:
    """A random time for each packet, not for each burst, gives twice the timeouts of ns-2."""
    case = next(item for item in untuned() if item.name == row["name"])
    law = Vegas(alpha=float(row["alpha"]), beta=float(row["beta"]), dialect="ns2")
    network = case.network.with_law(TUNED, law)
    times, reno = np.array([0.0, case.warmup, case.until]), network.flows["reno"].count
    runs = [record_packets(network, times, seed).flows["timeouts"] for seed in SEEDS]
    counts = np.mean([np.diff(run, axis=0)[-1, :reno] for run in runs])
    expected = float(row["reno_timeouts_per_s"]) * (case.until - case.warmup)
    assert counts == pytest.approx(expected, rel=0.1)

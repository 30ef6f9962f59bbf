"""Delay events in files for ns-2 and ns-3: each changes the network that earlier ones left."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import vegasfluid as vf
from vegasfluid.export import export_model
from vegasfluid.model import Model
from vegasfluid.network import Event

NS = shutil.which("ns")

EVENTS = (Event(1.0, "bottleneck", 0.05), Event(2.0, "access", 0.2))
"""The link takes 50 ms instead of 10, then the round trip 200 ms: (200 - 2 * 50) / 4 = 25 ms for
each crossing of an access link."""


def model() -> Model:
    """A flow with two packets in flight; no queue forms."""
    flows = vf.Flows(1, vf.Reno(), base_rtt=0.1, max_window=2.0, host="ns2")
    link = vf.Link(1000.0, 100, delay=0.01)
    return Model(vf.Network(link, {"reno": flows}, events=EVENTS), duration=45, warmup=5)


@pytest.mark.parametrize(
    ("name", "line"),
    [("ns2", "{2 change_access 0 {0.025}}"), ("ns3", "(2.0, 0, ['25000000ns'])")],
)
def test_an_access_delay_follows_from_the_links_delay_at_that_time(name: str, line: str) -> None:
    assert line in "\n".join(export_model(model(), name).files.values())


@pytest.mark.skipif(NS is None, reason="ns-2 is not installed (Debian: ns2)")
def test_a_flow_of_two_packets_has_the_round_trip_of_the_event_in_ns2(tmp_path: Path) -> None:
    script = tmp_path / "scenario.tcl"
    script.write_text(export_model(model(), "ns2").files["scenario.tcl"])
    done = subprocess.run(
        [str(NS), str(script)], capture_output=True, text=True, check=True, timeout=60
    )
    rate = re.search(r"class reno .* goodput_packets_per_s (\S+)", done.stdout)
    assert rate is not None
    assert float(rate[1]) == pytest.approx(2 / (0.2 + (1 + 40 / 1500) / 1000), rel=0.02)

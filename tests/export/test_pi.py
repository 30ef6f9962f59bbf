"""PI in files for ns-2, and the same runs in ns-2; other systems have none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid import metrics
from vegasfluid.crosscheck.averages import Averages, parse_averages
from vegasfluid.errors import InvalidInput
from vegasfluid.export import export_model
from vegasfluid.model import Model

LAW = vf.Pi(a=1.822e-4, b=1.75e-4, w=200, q_ref=40)
"""Gains for a small network: converges within seconds."""
NS = shutil.which("ns")
needs_ns = pytest.mark.skipif(NS is None, reason="ns-2 is not installed (Debian: ns2)")


def model(aqm: vf.Pi) -> Model:
    flows = {
        "reno": vf.Flows(5, vf.Reno(), base_rtt=0.05),
        "vegas": vf.Flows(5, vf.Vegas(6, 8, dialect="ns2"), base_rtt=0.05),
    }
    network = vf.Network(vf.Link(vf.mbps(20), 200, aqm, delay=0.005), flows)
    return Model(network, duration=120, warmup=30)


def run_ns2(given: Model, folder: Path, seed: int) -> Averages:
    """Averages of a run of ns-2."""
    (folder / "scenario.tcl").write_text(export_model(given, "ns2").files["scenario.tcl"])
    command = [str(NS), str(folder / "scenario.tcl"), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return parse_averages(done.stdout, given.network, "ns-2")


def test_ns2_gets_every_number() -> None:
    text = export_model(model(vf.Pi(q_ref=60.5, ecn=True)), "ns2").files["scenario.tcl"]
    words = "PI 200 {a_ 1.822e-05 b_ 1.816e-05 w_ 170 qref_ 60.5 setbit_ 1 mean_pktsize_ 1500 "
    assert words + "bytes_ 0 queue_in_bytes_ 0}" in text


@needs_ns
@pytest.mark.slow
def test_packets_do_what_ns2_does(tmp_path: Path) -> None:
    """Three runs each: mean queue within 1 %, drops and shares of the goodput within 5 %."""
    given, seeds = model(LAW), (1, 2, 3)
    theirs = [run_ns2(given, tmp_path, seed) for seed in seeds]
    ours = [vf.simulate_packets(given.network, 120, warmup=30, seed=seed) for seed in seeds]
    queue = np.mean([metrics.mean_queue(run)[0] for run in ours])
    assert queue == pytest.approx(np.mean([each.queue[0] for each in theirs]), rel=0.01)
    drops = np.mean([metrics.drop_share(run)[0] for run in ours])
    assert drops == pytest.approx(np.mean([each.drop_share[0] for each in theirs]), rel=0.05)
    rates = np.mean([metrics.goodput(run).values for run in ours], axis=0)
    wanted = np.mean([each.goodput for each in theirs], axis=0)
    np.testing.assert_allclose(rates / rates.sum(), wanted / wanted.sum(), rtol=0.05)


@pytest.mark.parametrize("name", ["linux", "freebsd", "ns3", "netns"])
def test_other_systems_have_no_pi(name: str) -> None:
    given = model(LAW).network.with_law("vegas", vf.Reno(recovery="sack"))
    given = given.with_law("reno", vf.Reno(recovery="sack"))
    with pytest.raises(InvalidInput, match=r"aqm must be .* for .*, but is 'pi'"):
        export_model(Model(given, duration=20), name)

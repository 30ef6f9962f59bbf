"""The packet simulator against a real Linux 6.1 kernel in simulated time.

The runs are a copy of the project's reference runs (`linux_runs.jsonl`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.linux import (
    DESIGN,
    LATE,
    RANDOM,
    RUNS,
    STARVED,
    STARVED_IN_KERNEL,
    Compared,
    measured,
    scenarios,
    with_jitter,
)
from benchmarks.linux_recommend import RECOMMENDED, drawn
from benchmarks.linux_scenarios import network_of
from benchmarks.ns2_scenarios import reference_runs
from tests.agreement.idle import IDLE
from vegasfluid import simulate_packets

ROWS = list(reference_runs(RUNS))
LOSS_BASED = [
    run
    for run in reference_runs(DESIGN)
    if run["tag"] == "alone" and run["flows"][0]["algo"] in ("reno", "cubic")
]
BOTH = [run for run in ROWS if run["tag"] == "e1"]
SOLO = [run for run in ROWS if run["tag"] == "nv"]
JITTER = {(run["meta"]["jit"], run["meta"]["algo"]): run for run in ROWS if run["tag"] == "e3"}


@pytest.mark.study
@pytest.mark.parametrize("run", BOTH, ids=[f"{run['meta']['a']}" for run in BOTH])
def test_one_reno_and_one_vegas_over_drop_tail(run: dict[str, Any]) -> None:
    ours = np.mean([measured(run, late).goodput for late in LATE], axis=0)
    theirs = [flow["goodput_mbps"] for flow in run["flows"]]
    np.testing.assert_allclose(ours, theirs, rtol=0.1)


def beside_idle_reno(run: dict[str, Any]) -> dict[str, Any]:
    """The run of one Vegas flow with an idle Reno before it, so that it has the kernel of both."""
    flows = [{"algo": "reno", "start": IDLE}, *run["scenario"]["flows"]]
    return {**run, "scenario": {**run["scenario"], "flows": flows}}


@pytest.mark.parametrize("run", SOLO, ids=[f"{run['meta']['a']}" for run in SOLO])
def test_vegas_alone(run: dict[str, Any]) -> None:
    """Several windows are equilibria: in which one a run ends depends on the first ACKs, too."""
    _, cwnd, queue, _ = measured(beside_idle_reno(run))
    assert cwnd[1] == pytest.approx(run["flows"][0]["cwnd"], rel=0.001)
    assert queue == pytest.approx(run["queue"]["mean_pkts"], rel=0.005)


@pytest.fixture(scope="module")
def rates() -> dict[tuple[str, str], float]:
    """Mbit/s of one flow, by jitter and law; where there is jitter, the median over some seeds."""
    return {key: with_jitter(run) for key, run in JITTER.items()}


@pytest.mark.study
def test_jitter_as_in_the_kernel(rates: dict[tuple[str, str], float]) -> None:
    theirs = {key: run["flows"][0]["goodput_mbps"] for key, run in JITTER.items()}
    ours = {key: rate for key, rate in rates.items() if key != STARVED}
    assert ours == pytest.approx({key: theirs[key] for key in ours}, rel=0.1)


@pytest.mark.study
def test_ordered_jitter_starves_vegas_as_in_the_kernel() -> None:
    """Single runs differ by a factor of two in both."""
    ours = [measured(JITTER[STARVED], seed=seed).goodput[0] for seed in range(1, 25)]
    assert 0.9 * min(STARVED_IN_KERNEL) < min(ours)
    assert max(ours) < 1.1 * max(STARVED_IN_KERNEL)


@pytest.mark.study
def test_reordering_turns_vegas_into_reno(rates: dict[tuple[str, str], float]) -> None:
    """The kernel has 95.80 for both."""
    same = pytest.approx(rates["both_reorder", "reno"], rel=0.05)
    assert rates["both_reorder", "vegas"] == same


@pytest.mark.study
def test_ordered_jitter_starves_vegas_and_not_reno(rates: dict[tuple[str, str], float]) -> None:
    assert rates["both_ordered", "vegas"] == pytest.approx(np.median(STARVED_IN_KERNEL), rel=0.1)
    assert rates["both_ordered", "vegas"] < 0.5 * rates["none", "vegas"]
    assert rates["both_ordered", "reno"] > 0.9 * rates["none", "reno"]


@pytest.mark.study
@pytest.mark.parametrize(
    "run",
    LOSS_BASED,
    ids=[f"{run['flows'][0]['algo']}-{run['scenario']['queue']['limit']}" for run in LOSS_BASED],
)
def test_reno_and_cubic_alone_over_drop_tail(run: dict[str, Any]) -> None:
    """Nothing is random in these runs, so each window and each loss counts.

    The kernel's goodput is that of acknowledged bytes, which jump by a window when a recovery ends:
    1 % of these 60 s.
    """
    goodput, cwnd, queue, _ = measured(run)
    assert goodput[0] == pytest.approx(run["flows"][0]["goodput_mbps"], rel=0.01)
    assert cwnd[0] == pytest.approx(run["flows"][0]["cwnd"], rel=0.01)
    assert queue == pytest.approx(run["queue"]["mean_pkts"], rel=0.02)


SHUT: dict[str, Any] = {
    "mbps": 10,
    "rtt_ms": 20,
    "queue": {"kind": "red", "limit": 200, "min": 20, "max": 60, "prob": 0.2, "burst": 126},
    "vegas": {"alpha": 2, "beta": 4, "gamma": 1},
    "flows": [{"algo": "reno"}] * 2 + [{"algo": "vegas"}] * 4,
}
"""Six flows that start together over RED with a weight of 1/512, below a token bucket."""


@pytest.mark.study
def test_red_below_a_shaper_stays_shut_as_in_the_kernel() -> None:
    """The first slow starts lift the average above `max`, where it stays, as nothing arrives.

    A run of the kernel (6.1, 30 s): the flows deliver 70, 67, 64, 60, 61 and 35 packets in the
    first second and none after it, have windows of 1, and the link is idle.
    """
    data = simulate_packets(network_of(SHUT), 30.0, warmup=1.0, samples=31)
    delivered = data["delivered"].values
    np.testing.assert_allclose(delivered[-1], [70, 67, 64, 60, 61, 35], atol=4)
    np.testing.assert_array_equal(delivered[2], delivered[-1])
    np.testing.assert_array_equal(data["cwnd"].values[2:], 1)


def test_the_kernel_confirms_recommendations() -> None:
    """Where `recommend` reports equal goodputs, nine of ten networks have them in the kernel."""
    rows = list(reference_runs(RECOMMENDED))
    assert [row["model"] for row in rows] == [drawn(row["number"]) for row in rows]
    promised = [row["kernel"] for row in rows if row["reached"]]
    assert (len(rows), len(promised)) == (40, 14)
    assert np.mean([0.9 <= ratio <= 1.1 for ratio in promised]) >= 0.9


@pytest.mark.study
def test_ratios_over_red_are_the_kernels() -> None:
    """Random networks, also where the kernel's own seeds differ: 90 % within 10 %, 95 % in 20 %.

    Not so over drop-tail, where the order of single packets decides (`benchmarks.linux`).
    """
    sets = [scenarios(RANDOM, tag) for tag in ("random", "random later")]
    for each in sets:
        red = [abs(run.difference) for run in each if run.name.startswith("red")]
        assert len(red) == 30
        assert np.mean(np.less(red, 0.1)) >= 0.9
        assert np.mean(np.less(red, 0.2)) >= 0.95


@pytest.fixture(scope="module")
def design() -> list[Compared]:
    """The designed set: flows alone and beside each other, over drop-tail and RED."""
    return scenarios(DESIGN)


@pytest.mark.study
def test_ratios_of_a_designed_set_are_the_kernels(design: list[Compared]) -> None:
    """Where the kernel's own seeds agree: 80 % within 10 %, 95 % within 20 %."""
    differences = np.array([abs(each.difference) for each in design if each.repeatable])
    assert len(differences) >= 8
    assert np.mean(differences < 0.1) >= 0.8
    assert np.mean(differences < 0.2) >= 0.95


@pytest.mark.study
def test_queues_of_a_designed_set_are_the_kernels(design: list[Compared]) -> None:
    queues = np.array([each.queues for each in design])
    used = np.array([each.utilisations for each in design])
    assert np.mean(np.abs(queues[:, 1] / queues[:, 0] - 1) < 0.1) >= 0.9
    assert np.mean(np.abs(used[:, 1] - used[:, 0]) < 0.01) >= 0.9

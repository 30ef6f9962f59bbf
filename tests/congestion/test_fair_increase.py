"""The increase of CUBIC's Reno-friendly window that is fair to Reno; the notebook's kernel runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.congestion.test_cubic import sawtooth
from tests.paths import ROOT
from vegasfluid.congestion.cubic import Cubic

EVENTS, FLOWS = 4000, 200


def mean_window(increase: float, beta: float, intervals: np.ndarray) -> float:
    """Mean window of AIMD flows that lose after each of some intervals, in round trips."""
    window, area = np.full(intervals.shape[1], 10.0), 0.0
    for interval in intervals:
        area += float((window * interval + increase * interval**2 / 2).sum())
        window = beta * (window + increase * interval)
    return area / float(intervals.sum())


@pytest.mark.parametrize("beta", [0.7, 0.8])
@pytest.mark.parametrize("variation", [0, 1])
def test_common_losses(variation: int, beta: float) -> None:
    """The page's formula, with regular intervals and with exponentially distributed ones."""
    intervals = np.full((EVENTS, FLOWS), 20.0)
    if variation:
        intervals = np.random.default_rng(5).exponential(20.0, (EVENTS, FLOWS))
    alpha = (3 + variation) * (1 - beta) / (1 + beta + variation * (1 - beta))
    reno = mean_window(1.0, 0.5, intervals)
    assert mean_window(alpha, beta, intervals) == pytest.approx(reno, rel=0.005)


@pytest.mark.parametrize("increase", [None, 0.3])
def test_the_same_probability_by_the_packet_rules(increase: float | None) -> None:
    """Regular losses: sqrt(a (1 + beta) / (2 (1 - beta) p)), Reno's sqrt(3 / (2 p)) with 9/17."""
    law = Cubic(fast_convergence=False, friendly_increase=increase)
    expected = ((increase or 9 / 17) * 1.7 / (0.6 * 1e-4)) ** 0.5
    assert sawtooth(law, 5, 1e-4, expected * 2 / 1.7, 12) == pytest.approx(expected, rel=0.02)


def queue_of(run: dict[str, Any]) -> tuple[float, ...]:
    """The queue of a reference run as the notebook has it."""
    queue = run["scenario"]["queue"]
    if queue["kind"] == "pfifo":
        return (queue["limit"],)
    return tuple(queue[key] for key in ("min", "max", "prob", "limit"))


def test_the_kernel_s_runs_in_the_notebook_are_the_reference_runs() -> None:
    notebook = json.loads((ROOT / "notebooks" / "11_fair_cubic.ipynb").read_text())
    [cell] = [cell for cell in notebook["cells"] if cell["id"] == "kernel-runs"]
    names: dict[str, Any] = {}
    exec("".join(cell["source"]), names)
    found: dict[tuple[Any, ...], list[float]] = {}
    for line in (ROOT / "tests" / "agreement" / "linux_design.jsonl").read_text().splitlines():
        run = json.loads(line)
        total = {"reno": 0.0, "cubic": 0.0, "vegas": 0.0}
        for flow in run["flows"]:
            total[flow["algo"]] += flow["goodput_mbps"]
        if run["tag"] == "beside" and total["reno"] and total["cubic"]:
            assert run["scenario"]["mbps"] == 20
            key = (queue_of(run), run["scenario"]["rtt_ms"])
            found.setdefault(key, []).append(round(total["cubic"] / total["reno"], 2))
    assert found == {(queue, rtt): ratios for queue, rtt, ratios in names["KERNEL"]}

"""Gamma is evaluated by goodput during slow start."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import numpy as np
import pytest

from tests.networks import office_model
from vegasfluid import (
    Flows,
    InvalidInput,
    Link,
    Network,
    Red,
    Reno,
    UniformStart,
    Vegas,
    metrics,
    simulate_packets,
)
from vegasfluid.cli.app import run_app
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.settings import RunSettings, resolve_settings
from vegasfluid.tuning.slow_start import gamma_candidates, is_better, tune_gamma_of_class

UNTIL, WARMUP = 80.0, 20.0
LONG = Link(50e6 / 12000, 800, Red(min_thresh=80, max_thresh=400, weight=0.0005))
FAIR = Vegas(alpha=30.0, beta=32.0)
"""For two flows of each kind on that link (packet runs; gamma changes nothing after the start)."""


def long_pipe(start: Any = 4.0, rtt: float = 0.1, law: Vegas = FAIR) -> Network:
    """Vegas flows come when Reno's, which began gently, are there."""
    reno = Flows(2, Reno(), base_rtt=rtt, start=UniformStart(1.0), initial_ssthresh=100.0)
    return Network(LONG, {"reno": reno, "vegas": Flows(2, law, base_rtt=rtt, start=start)})


def job_of(network: Network, runs: int = 10) -> Evaluator:
    settings = RunSettings(until=UNTIL, warmup=WARMUP, runs=runs)
    return Evaluator(network, "vegas", 1.0, resolve_settings(settings))


def gamma_of(network: Network) -> float:
    return float(cast(Any, network.flows["vegas"].law).gamma)


def runs_at(*ratios: float) -> Measurement:
    return Measurement(tuple({"ratio": ratio} for ratio in ratios))


def test_gammas_to_try():
    assert gamma_candidates(Vegas(alpha=3, beta=5, gamma=2, dialect="linux")) == [2, 1, 3, 5]
    assert gamma_candidates(Vegas(alpha=0.5, beta=2.5)) == [1, 2.5]


@pytest.mark.parametrize(
    ("result", "than", "expected"),
    [
        ((0.9, 0.92, 0.91), (0.7, 0.72, 0.71), True),
        ((1.1, 1.12, 1.11), (0.7, 0.72, 0.71), True),
        ((0.7, 0.72, 0.71), (0.9, 0.92, 0.91), False),
        ((0.72, 0.73, 0.72), (0.71, 0.72, 0.71), False),  # not worth it
        ((0.9, 0.5, 0.95), (0.7, 0.72, 0.71), False),  # not sure
    ],
)
def test_better_is_nearer_beyond_doubt(result, than, expected):
    assert is_better(runs_at(*result), runs_at(*than), 1.0) is expected


def ratio_at_start(network: Network) -> np.ndarray:
    """Log of the ratio up to the end of the warm-up, over other seeds."""
    logs = []
    for seed in range(201, 213):
        goodput = metrics.goodput(simulate_packets(network, until=WARMUP, warmup=0.0, seed=seed))
        logs.append(math.log(goodput.sel(flow_class="vegas") / goodput.sel(flow_class="reno")))
    return np.array(logs)


def test_on_a_long_pipe_vegas_must_not_leave_slow_start_at_once():
    given = long_pipe()
    result, start = tune_gamma_of_class(job_of(given), given)
    assert gamma_of(result) > 1
    assert abs(math.log(start.after.ratio)) < abs(math.log(start.before.ratio)) - 0.03
    before, after = ratio_at_start(given), ratio_at_start(result)
    assert np.abs(after).mean() < np.abs(before).mean()
    law: Any = result.flows["vegas"].law
    assert (law.alpha, law.beta) == (FAIR.alpha, FAIR.beta)


def test_where_it_does_not_matter_gamma_stays():
    given = long_pipe(rtt=0.005)
    result, start = tune_gamma_of_class(job_of(given, runs=4), given)
    assert result == given
    assert start.after == start.before


def test_a_class_that_starts_late_has_no_start_ratio():
    with pytest.raises(InvalidInput, match=r"flows\.vegas: start must be before the end"):
        tune_gamma_of_class(job_of(long_pipe()), long_pipe(start=30.0))


@pytest.mark.slow
def test_the_command_tells_the_start(tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(office_model(gamma=3))
    status = run_app(["recommend", str(path), "--tune-gamma", "--runs", "4", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert status in (0, 3)
    start = document["start"]
    assert (start["until_s"], start["given_gamma_packets"]) == (15, 3)
    nearer = abs(math.log(start["ratio"])) - abs(math.log(start["given_ratio"]))
    assert nearer <= 0 if document["recommended"]["gamma_packets"] == 3 else nearer < -0.03
    assert run_app(["recommend", str(path), "--tune-gamma", "--pareto"]) == 2
    assert "--tune-gamma with --pareto is not supported" in capsys.readouterr().err

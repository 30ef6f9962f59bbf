"""The accounts of the search benchmark, on made-up functions."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from benchmarks.harness import Figures
from benchmarks.objectives import FAIR, WEIGHT, FourParameters, small
from benchmarks.peers import PEERS, Enough, Score, Spent, Trace, optuna_is_there, spent_by
from benchmarks.search import add_comparison
from vegasfluid.tuning.fluid_gradients import Outputs

BOUNDS = [(-5.0, 5.0)]


def bowl(x: np.ndarray) -> Score:
    loss = float((x - 2.0) @ (x - 2.0))
    return Score(loss, good=loss < 1e-4, allowed=bool(x[0] > 1.9))


def visit(points: list[float]):
    return lambda trace: [trace(np.array([x])) for x in points]


def test_evaluations_are_counted_to_the_first_that_will_do():
    spent = spent_by(visit([0.0, 1.5, 2.005, 1.0, 2.0]), Trace(bowl))
    assert (spent.evaluations, spent.all_evaluations, spent.ended) == (3, 5, True)
    assert 0 <= spent.cpu_s <= spent.all_cpu_s
    assert spent.least == 0.0


def test_a_search_that_never_was_there_is_nan():
    spent = spent_by(visit([0.0, 1.0, 1.8]), Trace(bowl))
    assert math.isnan(spent.evaluations)
    assert math.isnan(spent.cpu_s)
    assert math.isnan(spent.least)  # nothing was allowed
    assert not spent.reached


@pytest.mark.parametrize(("trace", "made"), [(Trace(bowl, 2), 2), (Trace(bowl, 9, True), 4)])
def test_a_search_is_ended(trace, made):
    spent = spent_by(visit([0.0, 1.0, 1.5, 2.0, 3.0]), trace)
    assert (spent.all_evaluations, spent.ended) == (made, False)
    with pytest.raises(Enough):
        trace(np.array([2.0]))


@pytest.mark.parametrize("name", PEERS)
def test_peers_find_the_bottom_of_a_bowl(name):
    if name == "tpe":
        pytest.importorskip("optuna")
    trace = Trace(bowl, 150, until_good=name == "tpe")
    found = spent_by(lambda x: PEERS[name](x, BOUNDS, np.array([0.0])), trace)
    assert found.reached
    assert found.least < 1e-4


def test_without_optuna_a_line_names_the_group(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert not optuna_is_there()
    assert "dependency group benchmarks" in capsys.readouterr().err


def test_our_search_is_compared_with_the_best_peer_without_our_initial_guess():
    ours = Spent(5, 1.0, 6, 2.0, 0.0, ended=True)
    peers = {
        "slow": Spent(90, 30.0, 100, 40.0, 0.0, ended=True),
        "failed": Spent(math.nan, math.nan, 20, 8.0, 0.1, ended=False),
        "gave_up": Spent(math.nan, math.nan, 3, 0.1, 0.1, ended=True),
        "helped_near": Spent(7, 3.0, 10, 4.0, 0.0, ended=True),
    }
    figures = Figures()
    add_comparison(figures, "x", ours, peers)
    assert figures.values == {
        "x.times_fewer_evaluations": 4.0,
        "x.times_faster": 8.0,
        "x.times_faster_to_the_end": 20.0,
        "x.times_faster_than_helped_near": 3.0,
    }
    assert figures.missed() == ["x.times_faster"]


def test_what_is_broken_costs():
    objective = FourParameters(small(0.02), 60.0)
    objective.delay = math.log(0.02)

    def score(vegas: float, utilisation: float, max_thresh: float) -> Score:
        x = np.log([5.0, 10.0, max_thresh - 10.0, 0.1])
        return objective.score(x, Outputs(np.array([100.0, vegas]), 0.02, 0.01, utilisation))

    assert score(100.0, 1.0, 50.0) == (math.log(0.02), True, True)
    unfair = score(110.0, 1.0, 50.0)
    assert unfair.loss == pytest.approx(math.log(0.02) + WEIGHT * (math.log(1.1) - FAIR))
    for violated in (unfair, score(100.0, 0.9, 50.0), score(100.0, 1.0, 151.0)):
        assert not violated.good
        assert not violated.allowed
    assert not score(math.nan, 1.0, 50.0).allowed

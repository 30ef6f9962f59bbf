"""The sweep of benchmarks: its points are networks; batches give the results of single runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import sweep
from benchmarks.sweep import Point, network_at, points
from vegasfluid import Red, Vegas


def test_there_are_ten_thousand_points() -> None:
    every = points()
    assert len(every) == len(set(every)) == 10_000
    assert min(point.dead_band for point in every) == 0.0


def test_a_point_is_a_network() -> None:
    network = network_at(Point(30.0, 4.0, 10, 0.5), sweep.base())
    law, aqm = network.flows["vegas"].law, network.link.aqm
    assert isinstance(law, Vegas)
    assert isinstance(aqm, Red)
    assert (law.alpha, law.beta) == (30.0, 34.0)
    assert list(network.counts) == [10, 10]
    assert aqm.min_thresh == 3356  # half of network 2's 6711


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_batch_gives_the_results_of_single_runs() -> None:
    model = replace(sweep.base(), duration=20.0, warmup=10.0)
    chosen = [Point(50.0, 0.0, 10, 1.0), Point(200.0, 7.0, 40, 0.5)]
    found = sweep.ratios(sweep.together(chosen, model), sweep.task_for(model))
    alone = [sweep.alone(point, model) for point in chosen]
    assert alone[1] / alone[0] > 1.05
    np.testing.assert_allclose(found, alone, rtol=1e-4)


@pytest.mark.parametrize("n", [0, 9_999])
def test_points_run_from_small_to_large_alpha(n: int) -> None:
    assert points()[n].alpha == (5.0 if n == 0 else 500.0)

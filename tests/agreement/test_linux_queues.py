"""Queue disciplines of the packet simulator against a real Linux 6.1 kernel in simulated time.

The runs are a copy of the project's reference runs (`linux_queues.jsonl`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.ns2_scenarios import reference_runs
from benchmarks.queues import QUEUES, compared, name_of, runs_of

ROWS = {name_of(row["scenario"]): row for row in reference_runs(QUEUES)}
SOME = ["pie30_20mbps_80ms.3reno_3vegas_alpha4", "codel_10mbps_20ms.3reno_3vegas_alpha4"]
SOME += ["fq_codel_20mbps_80ms.3reno_3cubic"]
"""Runs in which both congestion controls get different shares."""


def require_agreement(row: dict[str, Any], count: int) -> None:
    """Shares within 10 %, the mean queue within 15 %, the utilisation within 2 %."""
    pairs = compared(row, runs_of(row, count))
    assert pairs["share"].packets == pytest.approx(pairs["share"].linux, rel=0.1)
    assert pairs["queue"].packets == pytest.approx(pairs["queue"].linux, rel=0.15)
    assert pairs["utilisation"].packets == pytest.approx(pairs["utilisation"].linux, abs=0.02)


@pytest.mark.slow
def test_the_runs_are_those_that_the_benchmark_names() -> None:
    kinds = [row["scenario"]["queue"]["kind"] for row in ROWS.values()]
    assert Counter(kinds) == {"pie": 40, "codel": 38, "fq": 8, "fq_codel": 8}


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("name", SOME)
def test_some_networks_as_in_the_kernel(name: str) -> None:
    require_agreement(ROWS[name], 2)


@pytest.mark.study
@pytest.mark.parametrize("name", ROWS)
def test_every_network_as_in_the_kernel(name: str) -> None:
    require_agreement(ROWS[name], 3)

"""Queue disciplines of the packet simulator against a real Linux 6.1 kernel in simulated time.

The runs are a copy of the project's reference runs (`linux_queues.jsonl`).
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.linux import measured
from benchmarks.ns2_scenarios import reference_runs
from benchmarks.queues import QUEUES, compared, name_of

ROWS = {name_of(row["scenario"]): row for row in reference_runs(QUEUES)}
ONE = "pie30_20mbps_80ms.3reno_3vegas_alpha4"
"""A run in which both congestion controls get different shares."""


def require_agreement(row: dict[str, Any], seeds: int) -> None:
    """Shares within 10 %, the mean queue within 15 %, the utilisation within 2 %."""
    pairs = compared(row, [measured(row, seed=1 + seed) for seed in range(seeds)])
    assert pairs["share"].packets == pytest.approx(pairs["share"].linux, rel=0.1)
    assert pairs["queue"].packets == pytest.approx(pairs["queue"].linux, rel=0.15)
    assert pairs["utilisation"].packets == pytest.approx(pairs["utilisation"].linux, abs=0.02)


def test_the_runs_are_those_that_the_benchmark_names() -> None:
    assert len(ROWS) == 18
    assert all(row["scenario"]["queue"]["kind"] == "pie" for row in ROWS.values())


@pytest.mark.slow
@pytest.mark.unoptimised
def test_one_network_as_in_the_kernel() -> None:
    require_agreement(ROWS[ONE], 2)


@pytest.mark.study
@pytest.mark.parametrize("name", ROWS)
def test_every_network_as_in_the_kernel(name: str) -> None:
    require_agreement(ROWS[name], 3)

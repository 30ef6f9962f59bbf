"""Work in parallel threads, and limits on their number."""

from __future__ import annotations

import threading

import pytest

from tests.cli.commands import SMALL, written
from vegasfluid import parallel
from vegasfluid.cli.app import run_app


def most_at_once(workers: int | None = None) -> int:
    """Largest number of calls that ran at the same time, of six that wait for one another."""
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Event()

    def call(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(0.05)
        with lock:
            running -= 1

    parallel.parallel_map(call, range(6), workers)
    return most


def test_a_limit_holds_in_its_context_and_in_those_inside(monkeypatch):
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: range(4), raising=False)
    assert (parallel.processors(), most_at_once()) == (4, 4)
    with parallel.workers_limited(3), parallel.workers_limited(2):
        assert (parallel.processors(), most_at_once()) == (2, 2)
    with parallel.workers_limited(8):
        assert parallel.processors() == 4
    assert parallel.processors() == 4


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("workers", [1, 2])
def test_recommend_runs_as_many_packet_runs_at_once_as_it_is_allowed(
    workers, tmp_path, monkeypatch
):
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: range(4), raising=False)
    asked: list[int] = []

    class Pool(parallel.ThreadPoolExecutor):
        def __init__(self, count: int) -> None:
            asked.append(count)
            super().__init__(count)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Pool)
    model = written(tmp_path, SMALL)
    times = ["--until", "4", "--warmup", "1", "--runs", "2", "--quiet"]
    assert run_app(["recommend", model, *times, "--workers", str(workers)]) in (0, 3)
    assert set(asked) == {workers}
    assert parallel.processors() == 4

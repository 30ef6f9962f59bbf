"""Nothing lost: sweeps that are killed, and whose workers are, end with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.sweep.small import begun, chunks_in, environment, files_of, finished, here, small_chunks
from vegasfluid.cli.app import run_app
from vegasfluid.sweep import open_sweep, runner

POINTS, FEW = 120, 40
KILLS, OWN_CLUSTER, WORKER_KILLS = 20, 5, 5
"""How often; one in OWN_CLUSTER sweeps has its own workers, which go with it."""
LONGEST = 120.0
"""Seconds that a wait may take on a busy machine."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return small_chunks(tmp_path_factory.mktemp("model"), POINTS)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler whose workers are not killed."""
    with subprocess.Popen(
        [sys.executable, Path(__file__).with_name("cluster.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(asked, scheduler, tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "sweep.zarr"
    done = finished([*asked, "--out", path, "--scheduler", scheduler])
    assert done.returncode == 0, done.stderr
    return files_of(path)


def wait_for(condition, process):
    """Until something is so, or the process has ended."""
    begin = time.monotonic()
    while not condition() and process.poll() is None:
        assert time.monotonic() - begin < LONGEST
        time.sleep(0.002)


def soon_after(seconds, path, few):
    """Whether so much time is over; or so few chunks are there, as on a fast machine."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end or chunks_in(path) >= few


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    asked, scheduler, undisturbed, tmp_path
):
    """The moments are spread over the work, from before the store is there to the last chunks."""
    path, draw = tmp_path / "sweep.zarr", random.Random(20)
    reached = []
    for moment in sorted(draw.randrange(POINTS - 10) for _ in range(KILLS)):
        own = draw.randrange(OWN_CLUSTER) == 0
        process = begun(asked, path, *(() if own else ("--scheduler", scheduler)))
        passed = chunks_in(path)
        if passed < moment:
            wait_for(lambda moment=moment: chunks_in(path) >= moment, process)
            time.sleep(draw.uniform(0.0, 0.05))
        else:  # while it starts, or soon after
            wait_for(soon_after(draw.uniform(0.1, 2.0), path, passed + 3), process)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        reached.append(chunks_in(path))
    assert len(reached) == KILLS
    assert reached[-1] < POINTS
    assert len(set(reached)) >= KILLS / 2
    assert files_of(path) != undisturbed
    done = finished([*asked, "--out", path, "--scheduler", scheduler])
    assert done.returncode == 0, done.stderr
    assert files_of(path) == undisturbed


def workers_of(process):
    """The processes that simulate."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
        return [item for item in below if "spawn_main" in " ".join(item.cmdline())]
    except psutil.Error:
        return []


def others_than(killed, process):
    """The processes that simulate but those with the process numbers `killed`; at least one."""
    alive = []
    while not alive:
        wait_for(lambda: workers_of(process), process)
        assert process.poll() is None
        alive = [worker for worker in workers_of(process) if worker.pid not in killed]
    return alive


def chunks_after(process, path, count):
    """Wait until some more chunks are there, and state how many there are."""
    wanted = chunks_in(path) + count
    wait_for(lambda: chunks_in(path) >= wanted, process)
    return chunks_in(path)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_dead_worker_is_replaced_and_an_interrupted_sweep_goes_on(tmp_path, monkeypatch):
    """All in one, as a process with a worker takes seconds to start; undisturbed, and to its end,
    the sweep runs in this process.
    """
    asked = small_chunks(tmp_path, FEW)
    path, undisturbed = tmp_path / "sweep.zarr", tmp_path / "undisturbed.zarr"
    process = begun(asked, path, "--workers", "1")
    assert chunks_after(process, path, 1) < FEW
    [worker] = workers_of(process)
    worker.kill()
    before = chunks_in(path)
    wait_for(lambda: {item.pid for item in workers_of(process)} - {worker.pid}, process)
    assert before < chunks_after(process, path, 3) < FEW
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 130, errors
    assert "run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert int((open_sweep(path)["status"] == 1).sum()) == chunks_in(path) < FEW
    monkeypatch.setattr(runner, "engine_of", here)
    for out in (path, undisturbed):
        assert run_app(["sweep", *map(str, asked), "--out", str(out)]) == 0
    assert files_of(path) == files_of(undisturbed)


@pytest.mark.slow
def test_workers_that_die_are_replaced_and_their_chunks_computed_again(
    asked, undisturbed, tmp_path
):
    path, draw = tmp_path / "sweep.zarr", random.Random(5)
    process = begun(asked, path, "--workers", "2")
    killed = set()
    for moment in sorted(draw.randrange(1, POINTS - 20) for _ in range(WORKER_KILLS)):
        wait_for(lambda moment=moment: chunks_in(path) >= moment, process)
        victim = draw.choice(others_than(killed, process))
        assert chunks_in(path) < POINTS
        victim.kill()
        killed.add(victim.pid)
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, errors
    assert len(killed) == WORKER_KILLS
    assert files_of(path) == undisturbed


@pytest.mark.slow
def test_ctrl_c_stops_it_with_advice_to_resume_and_status_130(asked, undisturbed, tmp_path):
    path = tmp_path / "sweep.zarr"
    process = begun(asked, path, "--workers", "2")
    wait_for(lambda: chunks_in(path) >= 3, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process of the group
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert "points are saved in" in errors
    assert "run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert 3 <= chunks_in(path) < POINTS
    assert int((open_sweep(path)["status"] == 1).sum()) == chunks_in(path)
    done = finished([*asked, "--out", path, "--workers", "2"])
    assert done.returncode == 0, done.stderr
    assert files_of(path) == undisturbed

"""Fluid sweeps: the numbers of single runs, on one device, on two, and in two processes."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.sweep.small import ALPHA, MODEL, environment, files_of, small_sweep
from vegasfluid import (
    Flows,
    Link,
    Model,
    Network,
    OnOff,
    Red,
    Reno,
    Vegas,
    simulate_density,
    simulate_fluid,
)
from vegasfluid.fluid.time_grid import mean_field_grid, with_longer_steps
from vegasfluid.metrics import summarise
from vegasfluid.sweep import Numbers, Sweep, fluid_batches, open_sweep, run
from vegasfluid.sweep.axes import with_numbers
from vegasfluid.sweep.summary import METRICS

CAPACITY = "bottleneck.capacity_mbps"


def fluid_sweep(**options) -> Sweep:
    """Four alphas and two capacities, four seconds each; all batches are of two points."""
    axes = [Numbers(ALPHA, [2, 4, 6, 12]), Numbers(CAPACITY, [9, 12])]
    usual = {"axes": axes, "engine": "fluid", "seeds": (1,), "until": 4.0, "chunk": 4, "fine": True}
    return small_sweep(**(usual | options))


@cache
def swept_below(folder: Path) -> Path:
    """The store of the sweep, which is done once."""
    path = folder / "fluid.zarr"
    run(fluid_sweep(), path)
    return path


@pytest.fixture
def swept(tmp_path_factory):
    return swept_below(tmp_path_factory.getbasetemp())


def single(simulate, values, until=4.0):
    """With the steps that points of a sweep have: the fluid model halves its first ones once."""
    network = with_numbers(MODEL.network, values)
    tolerance = 1.0 if simulate is simulate_fluid else None
    return summarise(simulate(network, until, warmup=until / 4, tolerance=tolerance), network)


def compare(found, own, rtol):
    np.testing.assert_allclose(found["jain_index"], own["jain_index"], rtol=rtol)
    for along, parts in (("flow_class", own["classes"]), ("link", own["links"])):
        for name, numbers in parts.items():
            for key in numbers.keys() - {"count"}:
                value = found[key].sel({along: name})
                np.testing.assert_allclose(value, numbers[key], rtol, 1e-9, err_msg=key)


def test_where_only_laws_change_the_numbers_are_those_of_single_runs(swept):
    own = single(simulate_fluid, {ALPHA: 6})  # 12 Mbit/s are the model's own
    compare(open_sweep(swept).sel({ALPHA: 6, CAPACITY: 12}).isel(seed=0), own, 1e-8)


def test_elsewhere_steps_are_a_little_shorter_and_numbers_hardly_differ(swept):
    own = single(simulate_fluid, {ALPHA: 6, CAPACITY: 9})
    compare(open_sweep(swept).sel({ALPHA: 6, CAPACITY: 9}).isel(seed=0), own, 2e-3)


DEEP = Link(2000.0, 2000, Red(min_thresh=300, max_thresh=1200, max_drop=0.1, weight=2e-4))


def deep_sweep(**options) -> Sweep:
    """Round trips of 10 ms, and queues of a fifth of a second."""
    flows = {
        "reno": Flows(20, Reno(), base_rtt=0.01),
        "vegas": Flows(20, Vegas(10, 12), base_rtt=0.01),
    }
    axes = [Numbers(ALPHA, [4, 10])]
    return Sweep(Model(Network(DEEP, flows), 40.0, 20.0), axes, chunk=2, **options)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_longer_steps_once_queues_have_formed_change_little(tmp_path):
    numbers = {}
    for fine in (True, False):
        run(deep_sweep(fine=fine), tmp_path / f"{fine}.zarr")
        numbers[fine] = open_sweep(tmp_path / f"{fine}.zarr").load()
    kept = mean_field_grid(deep_sweep().bases[0].network, 40.0)
    factor = (with_longer_steps(kept, deep_sweep().bases[0].network).longer_steps or (0, 0))[1]
    assert factor >= 4
    for name, item in {"ratio": 5e-3, "queueing_delay_s": 5e-3, "utilisation": 1e-3}.items():
        np.testing.assert_allclose(numbers[False][name], numbers[True][name], rtol=item)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_without_queues_steps_stay_short(tmp_path):
    """Vegas beside a Reno flow that sends little keeps a few packets in the queue: its round trips
    stay short.
    """
    for fine in (True, False):
        sweep = deep_sweep(fine=fine)
        few = with_numbers(sweep.model.network, {"vegas.count": 2, "reno.count": 1})
        flows = {**few.flows, "reno": replace(few.flows["reno"], max_window=2)}
        small = replace(sweep.model, network=replace(few, flows=flows))
        run(replace(sweep, model=small), tmp_path / f"{fine}.zarr")
    both = [open_sweep(tmp_path / f"{fine}.zarr").load() for fine in (True, False)]
    assert float(both[0]["rtt_s"].max()) < 0.04
    for name in METRICS:
        np.testing.assert_allclose(both[1][name], both[0][name], rtol=1e-8, err_msg=name)


@pytest.mark.slow
def test_the_density_model(tmp_path):
    axes = [Numbers(ALPHA, [2, 6])]
    sweep = fluid_sweep(engine="density", axes=axes, chunk=2, until=1.0)
    run(sweep, tmp_path / "sweep.zarr")
    own = single(simulate_density, {ALPHA: 6}, until=1.0)
    compare(open_sweep(tmp_path / "sweep.zarr").sel({ALPHA: 6}).isel(seed=0), own, 1e-6)


def test_a_ladder_of_steps_needs_few_functions():
    places = np.geomspace(0.01, 1.0, 200)
    below = [fluid_batches.round_to_grid(place, 0.1) for place in places]
    above = [fluid_batches.round_to_grid(place, 0.1, up=True) for place in places]
    assert np.all((below <= places * (1 + 1e-9)) & (above >= places * (1 - 1e-9)))
    assert np.min(below / places) > 2**-0.25 - 1e-9
    assert len({f"{item:.9g}" for item in below}) < 30


def test_networks_of_another_structure_are_batches_of_their_own(tmp_path):
    """A class with one flow more begins in other parts, so its equations have other groups."""
    axes = [Numbers("vegas.count", [1, 2, 4]), Numbers(ALPHA, [2, 6, 12])]
    reached = run(fluid_sweep(axes=axes, chunk=9), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (9, 0)
    data = open_sweep(tmp_path / "sweep.zarr").isel(seed=0)
    for count in (1, 4):
        own = single(simulate_fluid, {ALPHA: 6, "vegas.count": count})
        compare(data.sel({ALPHA: 6, "vegas.count": count}), own, 1e-8)


def test_a_point_that_cannot_be_integrated_stops_nothing(tmp_path, monkeypatch):
    kept = fluid_batches.to_recording

    def record(network, solution, field):
        if network.flows["vegas"].law.alpha == 6:
            raise ZeroDivisionError("by nothing")
        return kept(network, solution, field)

    monkeypatch.setattr(fluid_batches, "to_recording", record)
    reached = run(fluid_sweep(), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (8, 2)
    data = open_sweep(tmp_path / "sweep.zarr").load()
    assert set(data["reason"].sel({ALPHA: 6}).values) == {"ZeroDivisionError: by nothing"}
    assert np.isfinite(data["ratio"].sel({ALPHA: [2, 4, 12]})).all()


def test_a_chunk_is_begun_before_the_one_before_it_is_waited_for(monkeypatch):
    """So that equations are built while others are solved."""
    order: list[str] = []
    monkeypatch.setattr(fluid_batches, "begin_chunk", lambda _, chunk: order.append("begin"))
    monkeypatch.setattr(fluid_batches, "finish_chunk", lambda _, begun: order.append("finish"))
    plan = fluid_sweep()
    chunks = list(plan.chunks())
    found = list(fluid_batches.compute_chunks(plan, chunks))
    assert [chunk for chunk, _ in found] == chunks
    assert order == ["begin", *["begin", "finish"] * (len(chunks) - 1), "finish"]


@pytest.mark.slow
def test_traffic_may_be_swept_and_be_different(tmp_path):
    """Sessions with Pareto on and off times, whose numbers are traced."""
    flows = {"reno": Flows(4, Reno(), base_rtt=0.03), "vegas": Flows(4, Vegas(2, 4), base_rtt=0.03)}
    sessions = OnOff(0.03, 0.07, 400.0, mean_gap=0.5, mean_size=0.1)
    given = {name: replace(group, traffic=sessions) for name, group in flows.items()}
    model = Model(replace(MODEL.network, flows=given), 4.0, 1.0)
    axes = [Numbers("vegas.mean_gap_s", [0.2, 0.5])]
    reached = run(Sweep(model, axes, fine=True), tmp_path / "sweep.zarr")
    assert reached.failed == 0
    data = open_sweep(tmp_path / "sweep.zarr").isel(seed=0)
    own = summarise(simulate_fluid(model.network, 4.0, warmup=1.0, tolerance=1.0), model.network)
    compare(data.sel({"vegas.mean_gap_s": 0.5}), own, 1e-8)


PROGRAM = """
import sys
import jax
{before}
from tests.sweep.test_fluid import fluid_sweep
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.sweep import fluid_batches, run
keep_compiled_equations()
reached = run(fluid_sweep(), sys.argv[1], multi_host={shared})
print(fluid_batches.devices().size, jax.process_count(), reached.done)
"""


def started(path, before="", *, shared=False, **more):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(before=before, shared=shared), path],
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_devices_give_the_results_of_one(swept, tmp_path):
    path = tmp_path / "sweep.zarr"
    process = started(path, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    out, errors = process.communicate(timeout=300)
    assert out.split() == ["2", "1", "8"], errors
    one, two = open_sweep(swept).load(), open_sweep(path).load()
    for name in METRICS:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_processes_of_a_jax_job_share_the_chunks(swept, tmp_path, monkeypatch):
    """One after the other in this process, as if each were one of two."""
    path, done = tmp_path / "sweep.zarr", []
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    for number in range(2):
        monkeypatch.setattr(jax, "process_index", lambda number=number: number)
        done.append(run(fluid_sweep(), path, multi_host=True).done)
    assert done == [4, 4]
    assert files_of(path) == files_of(swept)


@pytest.mark.slow
def test_two_processes_of_a_jax_job_share_the_chunks(swept, tmp_path):
    path = tmp_path / "sweep.zarr"
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    job = "jax.distributed.initialize('localhost:{}', 2, {})"
    both = [started(path, job.format(port, number), shared=True) for number in range(2)]
    ends = [process.communicate(timeout=300) for process in both]
    shares = [out.split() for out, _ in ends]
    assert [share[:2] for share in shares] == [["1", "2"], ["1", "2"]], ends
    assert sum(int(share[2]) for share in shares) == 8
    assert files_of(path).keys() == files_of(swept).keys()
    one, two = open_sweep(swept).load(), open_sweep(path).load()
    np.testing.assert_allclose(two["ratio"], one["ratio"], rtol=1e-9)

"""Fluid sweeps: the numbers of single runs, on one device, on two, and in two processes."""

from __future__ import annotations

import socket
import subprocess
import sys

import numpy as np
import pytest

from tests.sweep.small import ALPHA, MODEL, environment, files_of, small_sweep
from vegasfluid import simulate_density, simulate_fluid
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.results import sum_up
from vegasfluid.sweep import Numbers, Sweep, fluid_batches, open_sweep, run
from vegasfluid.sweep.axes import with_numbers
from vegasfluid.sweep.summary import METRICS

CAPACITY = "bottleneck.capacity_mbps"


@pytest.fixture(scope="module", autouse=True)
def kept_equations():
    keep_compiled_equations()


def fluid_sweep(**options) -> Sweep:
    """Three alphas and two capacities, two seconds each."""
    axes = [Numbers(ALPHA, [2, 6, 12]), Numbers(CAPACITY, [9, 12])]
    usual = {"axes": axes, "engine": "fluid", "seeds": (1,), "until": 4.0, "chunk": 4}
    return small_sweep(**(usual | options))


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    path = tmp_path_factory.mktemp("fluid") / "sweep.zarr"
    run(fluid_sweep(), path)
    return path


def single(simulate, values):
    network = with_numbers(MODEL.network, values)
    return sum_up(simulate(network, 4.0, warmup=1.0), network)


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


def test_the_density_model(tmp_path):
    axes = [Numbers(ALPHA, [2, 6])]
    run(fluid_sweep(engine="density", axes=axes, chunk=2), tmp_path / "sweep.zarr")
    own = single(simulate_density, {ALPHA: 6})
    compare(open_sweep(tmp_path / "sweep.zarr").sel({ALPHA: 6}).isel(seed=0), own, 1e-6)


def test_a_ladder_of_steps_needs_few_functions():
    places = np.geomspace(0.01, 1.0, 200)
    below = [fluid_batches.on_ladder(of, 0.1) for of in places]
    above = [fluid_batches.on_ladder(of, 0.1, up=True) for of in places]
    assert np.all((below <= places * (1 + 1e-9)) & (above >= places * (1 - 1e-9)))
    assert np.min(below / places) > 2**-0.25 - 1e-9
    assert len({f"{of:.9g}" for of in below}) < 30


def test_networks_of_another_structure_are_batches_of_their_own(tmp_path):
    """A class with one flow more begins in other parts, so its equations have other groups."""
    axes = [Numbers("vegas.count", [1, 2, 4]), Numbers(ALPHA, [2, 6])]
    reached = run(fluid_sweep(axes=axes, chunk=6), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (6, 0)
    data = open_sweep(tmp_path / "sweep.zarr").isel(seed=0)
    for count in (1, 4):
        own = single(simulate_fluid, {ALPHA: 6, "vegas.count": count})
        compare(data.sel({ALPHA: 6, "vegas.count": count}), own, 1e-8)


def test_a_point_that_cannot_be_integrated_stops_nothing(tmp_path, monkeypatch):
    kept = fluid_batches.record

    def record(network, solution, system):
        if network.flows["vegas"].law.alpha == 6:
            raise ZeroDivisionError("by nothing")
        return kept(network, solution, system)

    monkeypatch.setattr(fluid_batches, "record", record)
    reached = run(fluid_sweep(), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (6, 2)
    data = open_sweep(tmp_path / "sweep.zarr").load()
    assert set(data["reason"].sel({ALPHA: 6}).values) == {"ZeroDivisionError: by nothing"}
    assert np.isfinite(data["ratio"].sel({ALPHA: [2, 12]})).all()


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


def test_two_devices_say_what_one_says(swept, tmp_path):
    path = tmp_path / "sweep.zarr"
    process = started(path, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    out, said = process.communicate(timeout=300)
    assert out.split() == ["2", "1", "6"], said
    one, two = open_sweep(swept).load(), open_sweep(path).load()
    for name in METRICS:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-9, atol=1e-12, err_msg=name)


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
    assert sum(int(share[2]) for share in shares) == 6
    assert files_of(path).keys() == files_of(swept).keys()
    one, two = open_sweep(swept).load(), open_sweep(path).load()
    np.testing.assert_allclose(two["ratio"], one["ratio"], rtol=1e-9)

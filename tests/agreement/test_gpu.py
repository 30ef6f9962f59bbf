"""The same numbers on a GPU as on the CPU; without a GPU the tests are skipped."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from benchmarks.gpu import JOBS, measure, spent_on

FEW = 4
needs_gpu = pytest.mark.skipif(
    jax.default_backend() != "gpu", reason="JAX sees no GPU (python -m benchmarks.gpu times it)"
)


@needs_gpu
@pytest.mark.parametrize("name", JOBS)
def test_a_gpu_finds_what_the_cpu_does(name):
    cpu, gpu = (spent_on(name, FEW, device)["found"] for device in ("cpu", "gpu"))
    assert np.max(np.abs(gpu - cpu)) <= JOBS[name].at_most * np.max(np.abs(cpu))


@pytest.mark.skipif(jax.default_backend() == "gpu", reason="JAX sees a GPU")
def test_without_a_gpu_the_benchmark_ends_with_one_line():
    with pytest.raises(SystemExit, match=r"^benchmarks\.gpu needs a GPU, but JAX has .*Cpu"):
        measure(False)


@pytest.mark.study
@pytest.mark.parametrize("name", JOBS)
def test_every_job_differs_between_its_instances(name):
    """So that a batch that did one instance over and over would not be called the same."""
    found = np.asarray(JOBS[name].prepare(FEW)())
    instances = found.reshape(len(found), -1)
    assert np.all(np.isfinite(instances))
    assert len(np.unique(instances[:, -1])) == len(instances) >= FEW

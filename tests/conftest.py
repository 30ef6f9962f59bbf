"""What all tests share: a fresh folder for compiled code, JAX's settings, the reference runs."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORKER = "PYTEST_XDIST_WORKER" in os.environ
if not WORKER:  # the workers inherit the folder, so a run compiles each kernel once
    os.environ["VEGASFLUID_CACHE_DIR"] = tempfile.mkdtemp(prefix="vegasfluid-tests-")

import jax  # noqa: E402 (after the folder is chosen)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

gc.set_threshold(50_000, 20, 20)  # JAX traces millions of objects: collecting took 7 % of the time

from tests.packet.conservation import Watch  # noqa: E402
from vegasfluid.packet import simulate  # noqa: E402

MAPPINGS = Path("/proc/self/maps")
MANY_MAPPINGS = 20000
"""Linux allows a process 65530 by default; each compiled function takes several."""
REFERENCE = Path(__file__).parents[2] / "shared" / "reference" / "ns2" / "runs.jsonl"


def pytest_unconfigure() -> None:
    """The first process removes the folder when the run is over."""
    if not WORKER:
        shutil.rmtree(os.environ["VEGASFLUID_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def compiled_code_is_let_go() -> Iterator[None]:
    """After a file of tests, before a process has too many mappings: then LLVM crashes."""
    yield
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MANY_MAPPINGS:
        jax.clear_caches()


@pytest.fixture(scope="module")
def compiled_quickly() -> Iterator[None]:
    """For files that compile much and compute little: LLVM's passes take two thirds of the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="session")
def reference() -> dict[str, dict[str, Any]]:
    """The reference runs of ns-2.35 by name of the scenario."""
    if not REFERENCE.is_file():
        pytest.skip(f"the reference runs are not here: {REFERENCE}")
    runs = (json.loads(line) for line in REFERENCE.read_text().splitlines())
    return {run["scenario"]["name"]: run for run in runs}


@pytest.fixture(autouse=True)
def every_run_is_conserved(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test makes or loses a packet: every run of the packet simulator is held to that."""
    watch = Watch(simulate.lay_out)
    monkeypatch.setattr(simulate, "lay_out", watch)
    yield
    watch.check_all()

"""A process that runs tests: how code is compiled, how much memory it may take, the reference
runs, and the conservation of packets.
"""

from __future__ import annotations

import ctypes
import gc
import json
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import psutil
import pytest

from tests.packet.conservation import with_all_checks
from tests.paths import NS2_RUNS
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.lanes import cpu as lanes_cpu
from vegasfluid.packet import simulate
from vegasfluid.packet.jit import kernel

MOST_MEMORY = 1.9 * 2**30
"""Bytes that a worker may hold after a test, before it lets go of its compiled programs."""
STEP = 2**28
"""Bytes that it may hold beyond what was left the last time."""
PROCESS = psutil.Process()

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Lowered operations without the lines they come from: lowering takes a third less of the time.
jax.config.update("jax_traceback_in_locations_limit", 0)
keep_compiled_equations()

gc.set_threshold(50_000, 20, 20)  # JAX traces millions of objects: collecting took 7 % of the time


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What is imported and collected stays: collections of garbage need not look at it again."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Long tests run optimised code; the others spend more on LLVM's passes than they gain.

    These run XLA's code without optimisations, but lane kernels at LLVM's level 1: they run in less
    than half the time of level 0, and compile in at most half a second more.
    Set before any fixture of the test, so that what a fixture compiles is compiled as for its test.
    """
    marked = {mark.name for mark in item.iter_markers()}
    long = bool(marked & {"slow", "study", "optimised"})
    optimised = long and "unoptimised" not in marked
    jax.config.update("jax_disable_most_optimizations", not optimised)
    lanes_cpu.optimisation_level = lambda: 2 if optimised else 1


class Memory:
    """Lets go of compiled programs before a worker holds too many.

    Each takes several memory mappings, too, and LLVM crashes where Linux refuses another one.
    """

    bound = MOST_MEMORY

    def let_go(self) -> None:
        """Do so above the bound, which moves up with what cannot be freed."""
        if resident() <= self.bound:
            return
        jax.clear_caches()
        eqx.clear_caches()
        kernel.KERNELS.clear()
        gc.collect()
        return_memory()
        self.bound = max(MOST_MEMORY, resident() + STEP)


MEMORY = Memory()


def pytest_runtest_teardown() -> None:
    """After each test."""
    MEMORY.let_go()


def resident() -> int:
    """Bytes that this process holds in memory."""
    return PROCESS.memory_info().rss


def return_memory() -> None:
    """Give memory that is free back to the system; the C library of Linux keeps it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@pytest.fixture(scope="session")
def reference() -> dict[str, dict[str, Any]]:
    """The reference runs of ns-2.35 by name of the scenario."""
    if not NS2_RUNS.is_file():
        pytest.skip(f"the reference runs are not here: {NS2_RUNS}")
    runs = (json.loads(line) for line in NS2_RUNS.read_text().splitlines())
    return {run["scenario"]["name"]: run for run in runs}


@pytest.fixture(autouse=True, scope="session")
def every_run_is_conserved() -> Iterator[None]:
    """Every run of the packet simulator is checked for conservation of packets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "executed", with_all_checks(simulate.executed))
        yield

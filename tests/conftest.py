"""What all tests share: where compiled code is kept and how it is compiled, how much memory a
worker may take, the reference runs, and the conservation of packets.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest
from packaging.version import Version

from tests.parts import in_part, parsed_part
from tests.paths import NS2_RUNS, ROOT

COMPILED = Path(os.environ.get("TESTS_COMPILED") or ROOT / "build" / "compiled-for-tests")
"""Compiled code is kept from run to run, for all workers, here or in $TESTS_COMPILED."""
MOST_COMPILED = 2**30
"""Bytes; when the folder outgrows this it is emptied before the next run."""
MOST_MEMORY = 1.9 * 2**30
"""Bytes that a worker may hold after a test, before it lets go of its compiled programs."""

STEP = 2**28
"""Bytes that it may hold beyond what was left the last time."""
WORKER_MEMORY = 2.3 * 2**30
"""Bytes to count on for each worker: what it holds, and what one test may need beyond that."""

os.environ["VEGASFLUID_CACHE_DIR"] = str(COMPILED)
# XLA's older code generator compiles in three quarters of the time; from JAX 0.11 on there is none.
# Workers inherit the flag: given twice it would be another key for compiled code.
FLAGS, OLDER = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_use_fusion_emitters=false"
if OLDER not in FLAGS and Version(version("jaxlib")) < Version("0.11"):
    os.environ["XLA_FLAGS"] = f"{FLAGS} {OLDER}".strip()

import equinox as eqx  # noqa: E402 (after JAX's flags are set)
import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Lowered operations without the lines they come from: lowering takes a third less of the time.
jax.config.update("jax_traceback_in_locations_limit", 0)

gc.set_threshold(50_000, 20, 20)  # JAX traces millions of objects: collecting took 7 % of the time

from tests.packet.conservation import with_all_checks  # noqa: E402
from vegasfluid.caches import files_in, keep_compiled_equations  # noqa: E402
from vegasfluid.lanes import cpu as lanes_cpu  # noqa: E402
from vegasfluid.packet import simulate  # noqa: E402
from vegasfluid.packet.jit import kernel  # noqa: E402
from vegasfluid.parallel import processors  # noqa: E402

keep_compiled_equations()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/8` runs the second of eight parts of the tests that are chosen."""
    parser.addoption("--part", type=parsed_part, default=(1, 1), metavar="NUMBER/COUNT")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other parts."""
    number, count = config.getoption("--part")
    others = [item for item in items if not in_part(item.nodeid, number, count)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if in_part(item.nodeid, number, count)]


def pytest_configure(config: pytest.Config) -> None:
    """The first process empties a folder of compiled code that has grown too large."""
    if not hasattr(config, "workerinput"):
        size = sum(file.stat().st_size for file in files_in(COMPILED))
        if size > MOST_COMPILED:
            shutil.rmtree(COMPILED, ignore_errors=True)


def pytest_xdist_auto_num_workers() -> int:
    """A worker for each core, as far as the memory reaches."""
    return max(1, min(processors(), int(psutil.virtual_memory().total // WORKER_MEMORY)))


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
    return psutil.Process().memory_info().rss


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


@pytest.fixture(autouse=True)
def every_run_is_conserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of the packet simulator is checked for conservation of packets."""
    monkeypatch.setattr(simulate, "executed", with_all_checks(simulate.executed))

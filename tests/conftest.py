"""Options of the tests, and where compiled code is kept; all else is in `tests.in_process`.

The process that only hands tests to workers (`-n`) imports nothing heavy.
"""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest
from packaging.version import Version

from tests.parts import in_part, parsed_part
from tests.paths import ROOT
from vegasfluid.caches import files_in
from vegasfluid.parallel import processors

COMPILED = Path(os.environ.get("TESTS_COMPILED") or ROOT / "build" / "compiled-for-tests")
"""Compiled code is kept from run to run, for all workers, here or in $TESTS_COMPILED."""
MOST_COMPILED = 2**30
"""Bytes; when the folder outgrows this it is emptied before the next run."""
WORKER_MEMORY = 2.3 * 2**30
"""Bytes to count on for each worker: what it holds, and what one test may need beyond that."""

os.environ["VEGASFLUID_CACHE_DIR"] = str(COMPILED)
# XLA's older code generator compiles in three quarters of the time; from JAX 0.11 on there is none.
# Workers inherit the flag: given twice it would be another key for compiled code.
FLAGS, OLDER = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_use_fusion_emitters=false"
if OLDER not in FLAGS and Version(version("jaxlib")) < Version("0.11"):
    os.environ["XLA_FLAGS"] = f"{FLAGS} {OLDER}".strip()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/8` runs the second of eight parts of the tests that are chosen.

    `--delay-solver xla` lets XLA solve the delay equations of tests/dde/adaptive.
    """
    parser.addoption("--part", type=parsed_part, default=(1, 1), metavar="NUMBER/COUNT")
    parser.addoption("--delay-solver", choices=("lanes", "xla"), default="lanes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other parts."""
    number, count = config.getoption("--part")
    others = [item for item in items if not in_part(item.nodeid, number, count)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if in_part(item.nodeid, number, count)]


def pytest_configure(config: pytest.Config) -> None:
    """The first process empties a folder of compiled code that has grown too large.

    Those that run tests prepare for it.
    """
    worker = hasattr(config, "workerinput")
    if not worker:
        size = sum(file.stat().st_size for file in files_in(COMPILED))
        if size > MOST_COMPILED:
            shutil.rmtree(COMPILED, ignore_errors=True)
    if worker or config.getoption("dist", "no") == "no":
        config.pluginmanager.import_plugin("tests.in_process")


def pytest_xdist_auto_num_workers() -> int:
    """A worker for each core, as far as the memory reaches."""
    return max(1, min(processors(), int(psutil.virtual_memory().total // WORKER_MEMORY)))

"""Kernels of the packet engine for a network's rules: compiled, cached on disk, or interpreted."""

from __future__ import annotations

import hashlib
import inspect
import threading
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit

from vegasfluid import clock
from vegasfluid.caches import cache_folders, usable_cache
from vegasfluid.packet import engine
from vegasfluid.packet.jit import self_test
from vegasfluid.packet.jit.specialise import open_names, specialise
from vegasfluid.packet.rules import Rules, layout
from vegasfluid.packet.state import COUNTS, Simulation

__all__ = ["Kernel", "cache_folder", "compiled", "interpreted"]

Kernel = Callable[[Simulation], int]
"""Runs a simulation in place; returns `engine.COMPLETED` or `engine.RING_FULL`."""

FALLBACK = (
    f"Numba {numba.__version__} fails the self-test of the packet simulator, which falls back on "
    "plain Numba code: its results are the same, but it takes longer to compile and to run."
)
"""Warning that a kernel is compiled without Numba's internals."""

KERNELS: dict[tuple[Any, ...], Kernel] = {}
"""Kernels of this process, by the rules that they are compiled for."""
LOCK = threading.Lock()
"""Held while a kernel is looked up or compiled, so that no thread compiles the same one again."""


def interpreted(rules: Rules) -> Kernel:
    """Kernel that runs the engine in plain Python, for the rules and features in use.

    It is slow, and the reference for the compiled one.
    """
    run: Any = engine.run
    return specialise(run, open_names(rules), lambda function: function, {})


def sources_of(functions: Sequence[Callable[..., Any]]) -> Iterator[bytes]:
    """Yield the source text of every module from which a kernel is made."""
    package = Path(inspect.getfile(engine)).parent.parent
    files = {Path(inspect.getfile(each)) for each in (clock, *functions)}
    for folder in ("packet", "congestion", "aqm", "traffic"):
        files.update((package / folder).rglob("*.py"))
    for file in sorted(files):
        yield file.read_bytes()


def cache_folder(rules: Rules) -> Path:
    """Folder of the cached machine code of a kernel for these rules.

    Its name is a hash of all sources, record types, and the version of Numba.
    """
    functions = rules.functions()
    digest = hashlib.sha256(numba.__version__.encode())
    for part in sources_of(functions):
        digest.update(part)
    for function in functions:
        digest.update(f"{function.__module__}.{function.__qualname__}".encode())
    digest.update(repr((rules.features, layout(rules))).encode())
    return cache_folders()["numba"] / digest.hexdigest()[:16]


def compiled(rules: Rules) -> Kernel:
    """Kernel that runs the packet engine as machine code, for the rules and features in use.

    At the first call in a process it is compiled, or loaded from the cache folder; later calls with
    the same functions, features and record layout return the same kernel.
    """
    key = (*rules.functions(), rules.features, repr(layout(rules)))
    with LOCK:
        if key not in KERNELS:
            KERNELS[key] = compile_kernel(rules)
    return KERNELS[key]


def compile_kernel(rules: Rules) -> Kernel:
    """Kernel for these rules, compiled or loaded from the cache on disk.

    If the self-test of Numba's internals fails, it is compiled without them, after a warning.
    """
    if not self_test.internals_work():
        warn_of_fallback()
        return plain_kernel(rules)
    from vegasfluid.packet.jit.optimised import optimised_kernel

    folder, run = cache_folder(rules), engine.run
    return optimised_kernel(
        run,  # type: ignore[arg-type]
        open_names(rules),
        layout(rules),
        called=engine.OUT_OF_LINE,
        mark=f"_{folder.name}",
        folder=None if usable_cache("numba") is None else folder,
    )


@cache
def warn_of_fallback() -> None:
    """Warn once per process that kernels are compiled by plain Numba."""
    warnings.warn(FALLBACK, RuntimeWarning, stacklevel=2)


PlainSimulation = namedtuple("PlainSimulation", (*Simulation._fields, *COUNTS))
"""A `Simulation` whose sizes are fields, as Numba does not know properties."""


def plain_kernel(rules: Rules) -> Kernel:
    """Kernel compiled by `njit` alone, without Numba's internals and without a cache."""
    translate = njit(error_model="numpy", nogil=True)
    run: Any = engine.run
    kernel = specialise(run, open_names(rules), translate, {})

    def run_plain(sim: Simulation) -> int:
        """Run the kernel on plain structured arrays with the memory of the simulation `sim`.

        Returns:
            COMPLETED or RING_FULL.
        """
        types = layout(rules)
        arrays = {
            name: np.asarray(array).view(types[name], np.ndarray)
            for name, array in zip(Simulation._fields, sim, strict=True)
        }
        return kernel(PlainSimulation(**arrays, **{name: getattr(sim, name) for name in COUNTS}))

    return run_plain

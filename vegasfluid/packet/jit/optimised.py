"""Kernels by Numba's internals: record access by address, deferred code, no reference counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit

from vegasfluid.packet.jit.deferred_codegen import DeferredCompiler
from vegasfluid.packet.jit.machine_code import kept_in
from vegasfluid.packet.jit.record_access import SIGNATURE, record_accessors, table_of
from vegasfluid.packet.jit.specialise import specialise
from vegasfluid.packet.state import Simulation

__all__ = ["optimised_kernel"]

OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "boundscheck": False,
    "nogil": True,
    "_nrt": False,
}
"""Numba's options. A kernel allocates nothing, so it needs no reference counts (`_nrt`)."""

INNER_OPTIONS: dict[str, Any] = OPTIONS | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": DeferredCompiler,
}
"""Options for functions that only machine code calls."""


def optimised_kernel(
    function: FunctionType,
    values: Mapping[str, Any],
    layout: Mapping[str, np.dtype],
    called: tuple[str, ...] = (),
    mark: str = "",
    folder: Path | None = None,
) -> Callable[[Simulation], int]:
    """Compile a function of a simulation, and all functions that it calls, as one unit.

    Args:
        function: takes a `Simulation` and returns an integer.
        values: replacements by the name of a global, in every function.
        layout: the record type of each array of the simulation.
        called: names of functions that are called; LLVM inlines all others (inlined by Numba, they
            would take three times as long to compile).
        mark: appended to function names. Each process numbers functions of equal names anew:
            without a mark, a cached kernel and a new one could use one name for different
            functions, of which the linker would take the first.
        folder: folder that keeps the machine code for other processes; None: it is not kept.

    Returns:
        The compiled function, which changes a `Simulation` in place and returns the integer.
    """

    def build(cache: bool) -> Any:
        """The function for Numba to compile; `cache`: whether Numba keeps its machine code."""
        return dispatcher(function, values, layout, called, mark, cache)

    kernel = build(cache=False) if folder is None else kept_in(folder, build, SIGNATURE)

    def run(sim: Simulation) -> int:
        """Run the kernel on a simulation, in place, and return its result."""
        return kernel(table_of(sim))

    return run


def dispatcher(
    function: FunctionType,
    values: Mapping[str, Any],
    layout: Mapping[str, np.dtype],
    called: tuple[str, ...],
    mark: str,
    cache: bool,
) -> Any:
    """Numba's function of a table of addresses, compiled when it is called.

    Args:
        function: takes a `Simulation` and returns an integer.
        values: replacements of globals, by name.
        layout: the record type of each array of the simulation.
        called: names of functions that are called, not inlined.
        mark: appended to function names.
        cache: whether Numba keeps the machine code in its cache folder.
    """
    inline = njit(forceinline=True, **INNER_OPTIONS)
    call = njit(forceinline=False, **INNER_OPTIONS)  # or the caller's option would be its own
    outermost = njit(cache=cache, **OPTIONS)

    def translate(copy: FunctionType) -> Any:
        """Decorate a specialised function for Numba: as outermost, called or inlined."""
        copy.__qualname__ += mark
        if copy.__name__ == function.__name__:
            return outermost(copy)
        return (call if copy.__name__ in called else inline)(copy)

    return specialise(function, {**values, **record_accessors(layout)}, translate, {})

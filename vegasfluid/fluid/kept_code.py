"""Machine code of single fluid runs, kept in memory and on disk, and called without JAX.

JAX takes two to three seconds to trace and compile a network's equations, in each process anew. One
program serves all networks that differ in numbers only. It is kept in the user's cache folder,
unless its equations are from outside this package, whose changes would not be noticed.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax
import llvmlite.binding as llvm
import numpy as np
from jax.core import Tracer

import vegasfluid
from vegasfluid.caches import usable_cache
from vegasfluid.lanes import cpu
from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.direct import Code, DirectKernel, compile_directly

__all__ = ["computed_directly"]

KERNELS: dict[Any, DirectKernel | None] = {}
"""Loaded programs by function, structure, shapes and types of the arguments and optimisation level;
None where a program cannot be translated."""
LOCK = threading.Lock()
"""Locked while a program is looked up or compiled, so that each is compiled once."""


def computed_directly(function: Callable[..., Any], *arguments: Any) -> list[np.ndarray] | None:
    """Leaves of the results of a function of pytrees of arrays, computed without JAX.

    Args:
        function: function of the arguments; a function of this package, without closure.
        arguments: pytrees of arrays.

    Returns:
        The results as NumPy arrays. None where JAX has to compute them: arguments are traced, JAX
        uses a GPU or does not compile, the system is Windows, or the function cannot be translated.
    """
    leaves, tree = jax.tree.flatten(arguments)
    if any(isinstance(leaf, Tracer) for leaf in leaves) or not compiles_for_this_processor():
        return None
    arrays = [as_jax_would(leaf) for leaf in leaves]
    kinds = tuple((array.shape, array.dtype.str) for array in arrays)
    key = (function, tree, kinds, cpu.optimisation_level())
    with LOCK:
        if key not in KERNELS:
            KERNELS[key] = kernel_of(function, tree, arrays)
        kernel = KERNELS[key]
    return None if kernel is None else kernel(arrays)


def compiles_for_this_processor() -> bool:
    """Whether JAX would compile functions for this machine's CPU; always False on Windows."""
    interpreted = jax.config.jax_disable_jit  # type: ignore[attr-defined]
    return not interpreted and sys.platform != "win32" and jax.default_backend() == "cpu"


def as_jax_would(leaf: Any) -> np.ndarray:
    """A number or array as a NumPy array of the dtype that it has in JAX (perhaps of 32 bits)."""
    array = np.asarray(leaf)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def kernel_of(
    function: Callable[..., Any], tree: Any, arrays: list[np.ndarray]
) -> DirectKernel | None:
    """The program of a function for arguments of these shapes, from the disk or compiled.

    Args:
        function: function of pytrees.
        tree: structure of its arguments.
        arrays: their leaves.

    Returns:
        The program, which is also written to the disk if allowed; None if it cannot be translated.
    """
    path = file_of(function, tree, arrays)
    content = None if path is None else cpu.read_cached(path)
    if content is not None:
        return DirectKernel(Code.from_bytes(content))
    try:
        code = compile_directly(function, *jax.tree.unflatten(tree, arrays))
    except NoLaneKernel:
        return None
    if path is not None:
        cpu.write_cached(path, code.to_bytes())
    return DirectKernel(code)


def file_of(function: Callable[..., Any], tree: Any, arrays: list[np.ndarray]) -> Path | None:
    """The file of a program; None if it must not be kept, or no cache folder can be used.

    It must not be kept if classes from outside this package, or addresses, determine it.

    Its name is a hash of all that the program depends on: the function, the structure of its
    arguments, their shapes, the sources of this package, versions and the processor.
    """
    types = list(types_in(tree))
    if not all(known(each) for each in types):
        return None
    names = [f"{each.__module__}.{each.__qualname__}" for each in types]
    shapes = [(array.shape, array.dtype.str) for array in arrays]
    what = f"{function.__module__}.{function.__qualname__} {tree} {names} {shapes}"
    if " at 0x" in what:  # an address in place of a value
        return None
    features = llvm.get_host_cpu_features().flatten()
    where = f"{jax.__version__} {cpu.processor()} {features} {cpu.optimisation_level()}"
    digest = hashlib.sha256(f"{what} {where} {sources()}".encode()).hexdigest()[:32]
    folder = usable_cache("fluid")
    return None if folder is None else folder / f"{digest}.code"


def types_in(tree: Any) -> Iterator[type]:
    """The types of all nodes of the structure of a pytree."""
    data = tree.node_data()
    if data is not None:
        yield data[0]
        for child in tree.children():
            yield from types_in(child)


def known(node: type) -> bool:
    """Whether a class is Python's or this package's, so that its source is known to be the same."""
    return node.__module__.split(".")[0] in ("builtins", "vegasfluid")


@cache
def sources() -> str:
    """Hash of all modules of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(vegasfluid.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()

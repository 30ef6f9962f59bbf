"""From plain Python rules to machine code, and to a cache that never goes stale.

The engine and the rules of the laws are plain functions. Here they are copied with their globals
rebound: a called function becomes its compiled copy, the names `on_ack`, `decide`, ... become a
switch over the laws that a network uses, and the names of `features` become what it asks for.
Numba's own cache looks at the outermost function only, so ours is a folder for each hash of all
the sources that went in.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba import njit

from vegasfluid.caches import cache_folders
from vegasfluid.packet import engine
from vegasfluid.packet.addresses import addressed
from vegasfluid.packet.bindings import bindings
from vegasfluid.packet.linking import LinkedCompiler
from vegasfluid.packet.rules import Rules, layout

__all__ = ["compiled", "interpreted"]

Kernel = Callable[..., int]
FAST: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True, "_nrt": False}
"""Numba's options. The kernel allocates nothing, so arrays need no reference counts (`_nrt`):
with them, more than half of the time went into locked increments."""

INNER: dict[str, Any] = FAST | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": LinkedCompiler,
}
"""For what only machine code calls."""


def globals_of(function: FunctionType) -> set[str]:
    """The global names that a function reads (its attributes have names, too)."""
    read = dis.get_instructions(function)
    return {instruction.argval for instruction in read if instruction.opname == "LOAD_GLOBAL"}


def rebound(
    function: FunctionType,
    bound: dict[str, Any],
    translate: Callable[[FunctionType], Any],
    done: dict[FunctionType, Any],
) -> Any:
    """A copy of `function` whose callees are copies too, each passed through `translate`."""
    if function not in done:
        namespace = dict(function.__globals__)
        for name in globals_of(function):
            value = bound.get(name, namespace.get(name))
            if isinstance(value, FunctionType):
                value = rebound(value, bound, translate, done)
            if name in bound or name in namespace:
                namespace[name] = value
        copy = FunctionType(function.__code__, namespace, function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        done[function] = translate(copy)
    return done[function]


def interpreted(rules: Rules) -> Kernel:
    """The engine as plain Python: slow, and the oracle of the compiled one."""
    return rebound(engine.run, bindings(rules), lambda f: f, {})  # type: ignore[arg-type]


def sources_of(functions: Sequence[Callable[..., Any]]) -> Iterator[bytes]:
    """The source of every module that the kernel is made from."""
    package = Path(inspect.getfile(engine)).parent.parent
    files = {Path(inspect.getfile(f)) for f in functions}
    for folder in ("packet", "congestion", "aqm", "traffic"):
        files.update((package / folder).rglob("*.py"))
    for file in sorted(files):
        yield file.read_bytes()


def cache_folder(rules: Rules) -> Path:
    """Where the machine code for these rules is kept."""
    functions = rules.functions()
    digest = hashlib.sha256(numba.__version__.encode())
    for part in sources_of(functions):
        digest.update(part)
    for function in functions:
        digest.update(f"{function.__module__}.{function.__qualname__}".encode())
    digest.update(repr((rules.features, layout(rules))).encode())
    return cache_folders()["numba"] / digest.hexdigest()[:16]


@contextlib.contextmanager
def numba_cache_in(folder: Path) -> Iterator[None]:
    """Let Numba keep what is decorated inside in `folder`."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def compiled(rules: Rules) -> Kernel:
    """The engine as machine code, for the rules in use; compiled once a process."""
    key = (*rules.functions(), rules.features, repr(layout(rules)))
    with LOCK:
        if key not in KERNELS:
            KERNELS[key] = compile_kernel(rules)
    return KERNELS[key]


KERNELS: dict[tuple[Any, ...], Kernel] = {}
LOCK = threading.Lock()


def compile_kernel(rules: Rules) -> Kernel:
    """Translate the engine: the outermost function is cached, and what most packets reach is
    inlined by LLVM (by Numba it would take three times as long to compile).

    Names carry the kernel's own mark. Numba tells functions of one name apart by numbers that
    begin anew in each process, so that a kernel that comes from the cache and one that is compiled
    here could have the same names for different functions, and the linker would take the first.
    """
    inline, call = njit(forceinline=True, **INNER), njit(**INNER)
    folder = cache_folder(rules)
    with numba_cache_in(folder):
        outermost = njit(cache=True, **FAST)

        def translate(function: FunctionType) -> Any:
            function.__qualname__ += f"_{folder.name}"
            if function.__name__ == "run":
                return outermost(function)
            return (call if function.__name__ in engine.SELDOM else inline)(function)

        bound = bindings(rules) | addressed(layout(rules))
        return rebound(engine.run, bound, translate, {})  # type: ignore[arg-type]

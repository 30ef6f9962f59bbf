"""From plain Python rules to machine code, and to a cache that never goes stale.

The engine and the rules of the laws are plain functions. Here they are copied with their globals
rebound: a called function becomes its compiled copy, and the names `on_ack`, `drops`, ... become
a switch over the laws that a network uses. Numba's own cache looks at the outermost function
only, so ours is a folder for each hash of all the sources that went in.
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

from vegasfluid.aqm.law import AdmissionRule
from vegasfluid.caches import cache_root
from vegasfluid.congestion.law import PacketRules
from vegasfluid.packet import engine

__all__ = ["compiled", "interpreted"]

Kernel = Callable[..., int]
FAST = {"error_model": "numpy", "boundscheck": False, "nogil": True, "_nrt": False}
"""Numba's options. The kernel allocates nothing, so arrays need no reference counts (`_nrt`):
with them, more than half of the time went into locked increments."""


def switch(name: str, functions: Sequence[Callable], arguments: str) -> Callable[..., Any]:
    """A function that calls the i-th of `functions`, where i is its first argument."""
    lines = [f"def {name}(i, {arguments}):"]
    for i in range(len(functions)):
        choice = f"if i == {i}: " if i < len(functions) - 1 else ""
        lines.append(f"    {choice}return choice{i}({arguments})")
    namespace: dict[str, Any] = {f"choice{i}": f for i, f in enumerate(functions)}
    exec("\n".join(lines), namespace)
    return namespace[name]


def bindings(rules: Sequence[PacketRules], admission: AdmissionRule) -> dict[str, Callable]:
    """The engine's open names, bound to the rules in use."""
    return {
        "on_ack": switch("on_ack", [r.on_ack for r in rules], "flow, now, acked"),
        "on_duplicate_ack": switch(
            "on_duplicate_ack", [r.on_duplicate_ack for r in rules], "flow, now"
        ),
        "on_timeout": switch("on_timeout", [r.on_timeout for r in rules], "flow, now"),
        "drops": switch("drops", [admission.drops], "queue, waiting, idle_packets"),
    }


def globals_of(function: FunctionType) -> set[str]:
    """The global names that a function reads (its attributes have names, too)."""
    read = dis.get_instructions(function)
    return {instruction.argval for instruction in read if instruction.opname == "LOAD_GLOBAL"}


def rebound(
    function: FunctionType,
    bound: dict[str, Callable],
    translate: Callable[[FunctionType], Any],
    done: dict[FunctionType, Any],
) -> Any:
    """A copy of `function` whose callees are copies too, each passed through `translate`."""
    if function not in done:
        namespace = dict(function.__globals__)
        for name in globals_of(function):
            callee = bound.get(name, namespace.get(name))
            if isinstance(callee, FunctionType):
                namespace[name] = rebound(callee, bound, translate, done)
        copy = FunctionType(function.__code__, namespace, function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        done[function] = translate(copy)
    return done[function]


def interpreted(rules: Sequence[PacketRules], admission: AdmissionRule) -> Kernel:
    """The engine as plain Python: slow, and the oracle of the compiled one."""
    return rebound(engine.run, bindings(rules, admission), lambda f: f, {})  # type: ignore[arg-type]


def sources_of(functions: Sequence[Callable[..., Any]]) -> Iterator[bytes]:
    """The source of every module that the kernel is made from."""
    package = Path(inspect.getfile(engine)).parent.parent
    files = {Path(inspect.getfile(f)) for f in functions}
    for folder in ("packet", "congestion", "aqm"):
        files.update((package / folder).rglob("*.py"))
    for file in sorted(files):
        yield file.read_bytes()


def cache_folder(rules: Sequence[PacketRules], admission: AdmissionRule) -> Path:
    """Where the machine code for these rules is kept."""
    functions = [f for r in rules for f in (r.on_ack, r.on_duplicate_ack, r.on_timeout)]
    functions.append(admission.drops)
    digest = hashlib.sha256(numba.__version__.encode())
    for part in sources_of(functions):
        digest.update(part)
    for function in functions:
        digest.update(f"{function.__module__}.{function.__qualname__}".encode())
    return cache_root() / "numba" / digest.hexdigest()[:16]


@contextlib.contextmanager
def numba_cache_in(folder: Path) -> Iterator[None]:
    """Let Numba keep what is decorated inside in `folder`."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def compiled(rules: Sequence[PacketRules], admission: AdmissionRule) -> Kernel:
    """The engine as machine code, for the laws in use; compiled once a process.

    Args:
        rules: the laws' rules, in the order of the numbers in `flow.law`.
        admission: the rule of the queue.
    """
    key = (*(r.on_ack for r in rules), admission.drops)
    with LOCK:
        if key not in KERNELS:
            KERNELS[key] = compile_kernel(rules, admission)
    return KERNELS[key]


KERNELS: dict[tuple[Callable, ...], Kernel] = {}
LOCK = threading.Lock()


def compile_kernel(rules: Sequence[PacketRules], admission: AdmissionRule) -> Kernel:
    """Translate the engine: the outermost function is cached, small ones go inline."""
    inline, call = njit(inline="always", **FAST), njit(**FAST)
    with numba_cache_in(cache_folder(rules, admission)):
        outermost = njit(cache=True, **FAST)

        def translate(function: FunctionType) -> Any:
            if function.__name__ == "run":
                return outermost(function)
            return (call if function.__name__ in engine.SELDOM else inline)(function)

        return rebound(engine.run, bindings(rules, admission), translate, {})  # type: ignore[arg-type]

"""Lane kernels that are called with NumPy arrays, without JAX.

JAX traces, lowers and compiles a function anew in each process, even if its machine code is cached.
The code of such a kernel is a string of bytes that another process can load and call at once.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.lanes import cpu
from vegasfluid.lanes.handler import rounding_calls
from vegasfluid.lanes.program import KERNEL, cpu_program
from vegasfluid.lanes.tracing import traced, without_constants

__all__ = ["Code", "DirectKernel", "compile_directly"]

ENTRY = "lanes_entry"
"""Name of the function that is called."""
FLUSHED = 0x8040
"""Bits of x86-64's floating-point mode that make subnormal numbers 0, as XLA's calls have it."""


class Kind(NamedTuple):
    """The shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: str
    """NumPy's code of the dtype, such as `<f8`."""

    @classmethod
    def of(cls, array: Any) -> Kind:
        """Shape and dtype of an array, or of a variable of a traced function."""
        return cls(tuple(array.shape), np.dtype(array.dtype).str)

    @property
    def size(self) -> int:
        """Size of the elements of such an array, bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class Code(NamedTuple):
    """The machine code of a function for one lane, with what its calls need.

    Args:
        machine_code: object file for this processor.
        scratch: memory that a call needs, bytes.
        arguments: shape and dtype of each leaf of its arguments.
        results: shape and dtype of each leaf of its results.
        constants: arrays of the traced function, which the code expects before the arguments.
    """

    machine_code: bytes
    scratch: int
    arguments: tuple[Kind, ...]
    results: tuple[Kind, ...]
    constants: tuple[np.ndarray, ...]

    def to_bytes(self) -> bytes:
        """All of it as bytes: a line of JSON, the constants, the object file."""
        kinds = {
            "scratch": self.scratch,
            "arguments": self.arguments,
            "results": self.results,
            "constants": [Kind.of(array) for array in self.constants],
        }
        data = [np.ascontiguousarray(array).tobytes() for array in self.constants]
        return b"".join([json.dumps(kinds).encode(), b"\n", *data, self.machine_code])

    @classmethod
    def from_bytes(cls, content: bytes) -> Code:
        """The code that `to_bytes` wrote."""
        line, rest = content.split(b"\n", 1)
        head = json.loads(line)
        kinds = {
            name: tuple(Kind(tuple(shape), dtype) for shape, dtype in head[name])
            for name in ("arguments", "results", "constants")
        }
        constants = []
        for kind in kinds["constants"]:
            array = np.frombuffer(rest[: kind.size], kind.dtype).reshape(kind.shape)
            constants.append(array)
            rest = rest[kind.size :]
        return cls(rest, head["scratch"], kinds["arguments"], kinds["results"], tuple(constants))


def compile_directly(function: Callable[..., Any], *examples: Any) -> Code:
    """Compile a function to machine code that needs no JAX when it runs.

    Args:
        function: maps pytrees of arrays to a pytree of arrays; JAX must be able to trace it.
        examples: arguments of it, pytrees of arrays. Only their shapes and dtypes matter.

    Returns:
        The code, for a `DirectKernel`. It runs on processors of this kind only.

    Raises:
        NoLaneKernel: if something in the function cannot be translated.
    """
    closed, _ = traced(function, *examples)
    jaxpr = without_constants(closed)
    program = cpu_program(jaxpr, (False,) * len(jaxpr.invars), 1)
    kinds = [Kind.of(variable.aval) for variable in closed.jaxpr.invars]
    return Code(
        cpu.object_file(f"{program.text}\n{entry_text()}"),
        program.scratch,
        tuple(kinds),
        tuple(Kind.of(variable.aval) for variable in jaxpr.outvars),
        tuple(np.asarray(constant) for constant in closed.consts),
    )


def entry_text() -> str:
    """The function that is called, in LLVM's language: it runs one lane of the kernel.

    On x86-64 it makes subnormal numbers 0 meanwhile, as XLA does.
    """
    declared, get, put = rounding_calls() or ("", "", "")
    flushed = [
        "  %mode = alloca i32",
        "  %flushed = alloca i32",
        get.format("mode"),
        "  %old = load i32, ptr %mode",
        f"  %new = or i32 %old, {FLUSHED}",
        "  store i32 %new, ptr %flushed",
        put.format("flushed"),
    ]
    lines = [
        declared,
        f"define void @{ENTRY}(ptr %buffers, ptr %scratch) nounwind {{",
        "entry:",
        *(flushed if declared else ()),
        f"  call void @{KERNEL}(ptr %buffers, ptr %scratch, i64 0, i64 1)",
        put.format("mode") if declared else "",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


class DirectKernel:
    """A function's machine code, loaded into memory.

    Args:
        code: the machine code.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        address = cpu.loaded(code.machine_code, ENTRY)
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)

    def __call__(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of the function for these arguments.

        Args:
            arguments: the leaves of its arguments, in the order of `jax.tree.leaves`, with exactly
                the shapes and dtypes for which it was compiled.

        Returns:
            The leaves of its results, as new arrays.
        """
        code = self._code
        assert [Kind.of(array) for array in arguments] == list(code.arguments)
        given = [np.ascontiguousarray(array) for array in (*code.constants, *arguments)]
        results = [np.empty(kind.shape, kind.dtype) for kind in code.results]
        scratch = np.empty(code.scratch, np.uint8)
        pointers = [array.ctypes.data for array in (*given, *results)]
        buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        self._entry(ctypes.addressof(buffers), scratch.ctypes.data)
        return results

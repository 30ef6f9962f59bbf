"""Machine code for the CPU: compiled by LLVM, cached on disk, registered with XLA."""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import jax
import llvmlite
import llvmlite.binding as llvm

from vegasfluid.lanes.handler import HANDLER, handler_text, interface_version
from vegasfluid.lanes.program import Program
from vegasfluid.output_files import write_bytes
from vegasfluid.private_folders import private_folder

__all__ = ["loaded", "loaded_handler", "machine", "native_width", "object_file"]
__all__ += ["optimised", "processor", "read_cached", "register"]
__all__ += ["write_cached"]

FOLDER = "lanes"
"""Folder of machine code in JAX's compilation cache, if JAX has one."""
ORDER = "-pre-RA-sched"
"""LLVM's option for the order of instructions; it applies to the process, so it is reset."""
DIGEST = 32
"""Bytes of the SHA-256 digest at the start of a cached file, which detects damaged files."""
VECTOR_BITS = (("avx512f", 512), ("avx2", 256))
"""Processor features with the width of their vectors, bits."""


@cache
def native_width() -> int:
    """Number of doubles in this processor's vectors: 8, 4 or 2."""
    features = llvm.get_host_cpu_features()
    return next((bits // 64 for name, bits in VECTOR_BITS if features.get(name)), 2)


def optimisation_level() -> int:
    """LLVM's optimisation level: 2, or 0 where JAX's `jax_disable_most_optimizations` is set."""
    return 0 if jax.config.read("jax_disable_most_optimizations") else 2


def processor() -> str:
    """The processor and the version of llvmlite that compiles for it, as part of a file's name."""
    return f"{llvm.get_host_cpu_name()}-{llvmlite.__version__}"


@cache
def machine(level: int) -> Any:
    """LLVM's target machine for this processor, at an optimisation level from 0 to 3."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    # Without this feature LLVM would halve vectors of 512 bits.
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=f"{features},-prefer-256-bit", opt=level, jit=True
    )


def optimised(text: str, target: Any, level: int = 2) -> Any:
    """LLVM's module of a program text, after optimisation.

    Args:
        text: program in LLVM's language.
        target: LLVM's target machine.
        level: optimisation level, from 0 to 3.
    """
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = False
    options.loop_vectorization = "llvm.loop.vectorize" in text
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module


REGISTERED: set[str] = set()
"""Names of the programs registered with XLA, which accepts each name once."""


def register(program: Program) -> str:
    """Compile a program, or load its cached machine code, and register it with XLA.

    Returns:
        The name under which XLA calls it.
    """
    name = f"{__name__}.{program.name}_{program.width}_{optimisation_level()}"
    if name not in REGISTERED:
        handler = loaded_handler(machine_code(program))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
        REGISTERED.add(name)
    return name


def machine_code(program: Program) -> bytes:
    """The object file of a program and of the handler that XLA calls; from the cache if there."""
    path = cache_file(program)
    if path is not None and (cached := read_cached(path)) is not None:
        return cached
    code = object_file(f"{program.text}\n{handler_text(program)}")
    if path is not None:
        write_cached(path, code)
    return code


def object_file(text: str) -> bytes:
    """The object file (machine code for this processor) of a text in LLVM's language."""
    level = optimisation_level()
    target = machine(level)
    return emitted(optimised(text, target, level), target)


def emitted(module: Any, target: Any) -> bytes:
    """The object file (machine code) of an LLVM module for a target machine.

    The time of LLVM's default instruction scheduling grows with the square of a block's length. A
    lane kernel has a few blocks of thousands of instructions, and fast scheduling is as good here.
    """
    llvm.set_option("vegasfluid", f"{ORDER}=fast")
    try:
        code: bytes = target.emit_object(module)
    finally:
        llvm.set_option("vegasfluid", f"{ORDER}=default")
    return code


def cache_file(program: Program) -> Path | None:
    """The cache file of a program's machine code in JAX's compilation cache; None without one.

    It is also None if the cache is at a URL, and, with a warning, if the folder cannot be written
    to or other users can write to it. The file's name has the program's hash, the processor, the
    optimisation level, and the versions of llvmlite and XLA's interface.
    """
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if not folder or "://" in str(folder):
        return None
    compiler = f"{processor()}-{interface_version()}-{optimisation_level()}"
    place = private_folder(Path(folder) / FOLDER)
    return place and place / f"{program.name}-{program.width}-{compiler}.o"


def read_cached(path: Path) -> bytes | None:
    """The machine code in a cache file, without its digest; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def write_cached(path: Path, code: bytes) -> None:
    """Write machine code and its digest to a cache file; errors of the disk are ignored.

    The file is replaced atomically, so that another process never reads half of it.
    """
    try:
        write_bytes(path, hashlib.sha256(code).digest() + code)
    except OSError:
        return  # A full or read-only disk: the next process compiles it again.


ENGINES: list[Any] = []
"""LLVM's engines, which own the loaded machine code: kept, as it may run until the process ends."""


def loaded_handler(code: bytes) -> Any:
    """The function that XLA calls, from an object file loaded into memory, as a C function."""
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(loaded(code, HANDLER))


def loaded(code: bytes, name: str) -> int:
    """The address of the function `name` of an object file, which is loaded into memory."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(2))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    ENGINES.append(engine)
    address: int = engine.get_function_address(name)
    return address

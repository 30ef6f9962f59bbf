"""Machine code for the CPU: compiled by LLVM, cached on disk, run by threads, called by XLA.

XLA calls a handler by the C interface of its foreign functions (FFI). The handler is written in
LLVM's language too, so no C compiler is needed. It starts POSIX threads; each of them takes the
next group of lanes when it has finished one.

Source: XLA's header `xla/ffi/api/c_api.h` (jax.ffi.include_dir()), for the layout of call frames.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import jax
import llvmlite
import llvmlite.binding as llvm

from vegasfluid.lanes.program import KERNEL, Program
from vegasfluid.output_files import write_bytes
from vegasfluid.private_folders import private_folder

__all__ = ["native_width", "optimised", "register"]

HANDLER = "lanes_handler"
"""Name of the function that XLA calls."""
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
    options.loop_vectorization = False
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
        handler = loaded(machine_code(program))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
        REGISTERED.add(name)
    return name


def machine_code(program: Program) -> bytes:
    """The object file of a program and of the handler that XLA calls; from the cache if there."""
    path = cache_file(program)
    if path is not None and (cached := read_cached(path)) is not None:
        return cached
    level = optimisation_level()
    text, target = f"{program.text}\n{handler_text(program)}", machine(level)
    code = emitted(optimised(text, target, level), target)
    if path is not None:
        write_cached(path, code)
    return code


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
    """The cache file of a program's machine code; None if JAX has no local cache folder of ours.

    Other users must not be able to write to the folder (`private_folder`, which warns).
    Its name has the program's hash, the processor, and the versions of llvmlite and XLA's
    interface.
    """
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if not folder or "://" in str(folder):
        return None
    compiler = f"{llvm.get_host_cpu_name()}-{llvmlite.__version__}-{interface_version()}"
    compiler += f"-{optimisation_level()}"
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
    """Write machine code and its digest to a cache file; nothing if the disk is full or read-only.

    The file is replaced atomically, so that another process never reads half of it.
    """
    try:
        write_bytes(path, hashlib.sha256(code).digest() + code)
    except OSError:
        return  # A full or read-only disk: the next process compiles it again.


ENGINES: list[Any] = []
"""LLVM's engines, which own the loaded machine code; XLA may call it until the process ends."""


def loaded(code: bytes) -> Any:
    """The function that XLA calls, from an object file loaded into memory, as a C function."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(2))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    ENGINES.append(engine)
    address = engine.get_function_address(HANDLER)
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)


@cache
def interface_version() -> str:
    """The minor version of XLA's foreign-function interface, from its header; "1" if not found."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    match = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header.read_text())
    return match[1] if match else "1"


def field(name: str, frame: str, offset: int, kind: str = "ptr") -> str:
    """Lines of LLVM's language that load a field of a C structure.

    Args:
        name: name of the value that is loaded.
        frame: name of the pointer to the structure.
        offset: place of the field in the structure, bytes.
        kind: LLVM's type of the field.
    """
    return (
        f"  %{name}.at = getelementptr i8, ptr %{frame}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}.at"
    )


METADATA = """
  {extension}
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %describe, label %execute
describe:
{metadata}
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 {version}, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret ptr null
execute:
"""


def described() -> str:
    """Lines at the start of a handler, which answer XLA's question for its interface version."""
    return METADATA.format(
        extension=field("extension", "frame", 8),
        metadata=field("metadata", "extension", 24),
        version=interface_version(),
    )


def buffers(program: Program) -> str:
    """Lines that store the pointers of arguments, results and memory in the array `%buffers`.

    They read the pointers from XLA's call frame `%frame`.
    """
    lines = [field("arguments", "frame", 72), field("results", "frame", 112)]
    owners = [("arguments", number) for number in range(program.arguments)]
    owners += [("results", number) for number in range(program.results + 1)]
    for number, (owner, position) in enumerate(owners):
        lines += [
            field(f"b{number}", owner, 8 * position),
            field(f"d{number}", f"b{number}", 24),
            f"  %q{number} = getelementptr ptr, ptr %buffers, i64 {number}",
            f"  store ptr %d{number}, ptr %q{number}",
        ]
    return "\n".join(lines)


def attribute(name: str, number: int) -> str:
    """Lines that load attribute `number` of the call, a 64-bit integer, as the value `name`."""
    return "\n".join(
        [
            field(f"{name}.all", "frame", 160),
            field(f"{name}.scalar", f"{name}.all", 8 * number),
            field(f"{name}.value", f"{name}.scalar", 8),
            f"  %{name} = load i64, ptr %{name}.value",
        ]
    )


WORK = """
%work = type {{ ptr, ptr, i64, i64, i64, i32 }}
define internal void @groups(ptr %work, ptr %scratch) nounwind {{
entry:
  %buffers = load ptr, ptr %work
  %lanes.at = getelementptr %work, ptr %work, i32 0, i32 2
  %lanes = load i64, ptr %lanes.at
  %next = getelementptr %work, ptr %work, i32 0, i32 3
  br label %again
again:
  %first = atomicrmw add ptr %next, i64 {width} seq_cst
  %some = icmp slt i64 %first, %lanes
  br i1 %some, label %group, label %done
group:
  call void @{kernel}(ptr %buffers, ptr %scratch, i64 %first, i64 %lanes)
  br label %again
done:
  ret void
}}
{declared}
define internal ptr @thread(ptr %work) nounwind {{
  %mode = getelementptr %work, ptr %work, i32 0, i32 5
{set_mode}
  %number.at = getelementptr %work, ptr %work, i32 0, i32 4
  %number = atomicrmw add ptr %number.at, i64 1 seq_cst
  %offset = mul i64 %number, {bytes}
  %all.at = getelementptr %work, ptr %work, i32 0, i32 1
  %all = load ptr, ptr %all.at
  %scratch = getelementptr i8, ptr %all, i64 %offset
  call void @groups(ptr %work, ptr %scratch)
  ret ptr null
}}
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
define ptr @{handler}(ptr %frame) nounwind {{
entry:
{described}
  %buffers = alloca ptr, i64 {count}
  %work = alloca %work
{buffers}
{lanes}
{threads}
  %w0 = getelementptr %work, ptr %work, i32 0, i32 0
  store ptr %buffers, ptr %w0
  %w1 = getelementptr %work, ptr %work, i32 0, i32 1
  store ptr %d{last}, ptr %w1
  %w2 = getelementptr %work, ptr %work, i32 0, i32 2
  store i64 %lanes, ptr %w2
  %w3 = getelementptr %work, ptr %work, i32 0, i32 3
  store i64 0, ptr %w3
  %w4 = getelementptr %work, ptr %work, i32 0, i32 4
  store i64 0, ptr %w4
  %w5 = getelementptr %work, ptr %work, i32 0, i32 5
{get_mode}
  %others = sub i64 %threads, 1
  %names = alloca i64, i64 %threads
  %failed = alloca i32, i64 %threads
  br label %begin
begin:
  %k = phi i64 [0, %execute], [%k.next, %begun]
  %more = icmp slt i64 %k, %others
  br i1 %more, label %begun, label %own
begun:
  %k.name = getelementptr i64, ptr %names, i64 %k
  %k.failed = getelementptr i32, ptr %failed, i64 %k
  %k.code = call i32 @pthread_create(ptr %k.name, ptr null, ptr @thread, ptr %work)
  store i32 %k.code, ptr %k.failed
  %k.next = add i64 %k, 1
  br label %begin
own:
  %ignored = call ptr @thread(ptr %work)
  br label %wait
wait:
  %j = phi i64 [0, %own], [%j.next, %joined]
  %left = icmp slt i64 %j, %others
  br i1 %left, label %join, label %end
join:
  %j.failed = getelementptr i32, ptr %failed, i64 %j
  %j.code = load i32, ptr %j.failed
  %j.fine = icmp eq i32 %j.code, 0
  br i1 %j.fine, label %joining, label %joined
joining:
  %j.name.at = getelementptr i64, ptr %names, i64 %j
  %j.name = load i64, ptr %j.name.at
  %j.ignored = call i32 @pthread_join(i64 %j.name, ptr null)
  br label %joined
joined:
  %j.next = add i64 %j, 1
  br label %wait
end:
  ret ptr null
}}
"""


def rounding_mode() -> dict[str, str]:
    """Lines that copy XLA's floating-point mode to the threads (it flushes subnormals to 0).

    By their place in the handler: `declared`, `get_mode` and `set_mode`; empty except on x86-64.
    """
    if not llvm.get_default_triple().startswith("x86_64"):
        return {"declared": "", "get_mode": "", "set_mode": ""}
    get, put = "@llvm.x86.sse.stmxcsr", "@llvm.x86.sse.ldmxcsr"
    return {
        "declared": f"declare void {get}(ptr)\ndeclare void {put}(ptr)",
        "get_mode": f"  call void {get}(ptr %w5)",
        "set_mode": f"  call void {put}(ptr %mode)",
    }


def handler_text(program: Program) -> str:
    """The function that XLA calls, in LLVM's language: it runs the program's lanes in threads.

    The last result of the call is the memory that the program needs.
    """
    count = program.pointers + 1
    return WORK.format(
        width=program.width,
        kernel=KERNEL,
        handler=HANDLER,
        bytes=program.scratch * program.width,
        described=described(),
        count=count,
        buffers=buffers(program),
        lanes=attribute("lanes", 0),
        threads=attribute("threads", 1),
        last=count - 1,
        **rounding_mode(),
    )

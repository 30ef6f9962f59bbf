"""Machine code for NVIDIA GPUs: LLVM writes PTX, CUDA's driver compiles it, XLA launches it.

Each thread runs one lane from start to end, so one launch is a whole solve. CUDA's driver is
needed, but not its toolkit. The handler that XLA calls is written in LLVM's language and compiled
for the CPU, as in `handler`.

Sources: CUDA Driver API (cuLibraryLoadData, cuLaunchKernel); XLA's header `xla/ffi/api/c_api.h`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import jax
import llvmlite.binding as llvm

from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.cpu import REGISTERED, loaded_handler, machine, optimised
from vegasfluid.lanes.handler import HANDLER, attribute, buffers, described, field
from vegasfluid.lanes.program import KERNEL, Program

__all__ = ["register"]

THREADS = 32
"""Threads in a block: one warp, so that a few lanes use all multiprocessors."""
OLDEST = "sm_70"
"""Oldest supported GPU architecture; the driver compiles its PTX for newer ones."""
TRIPLE = "nvptx64-nvidia-cuda"
"""LLVM's name of the target."""


@cache
def target() -> Any:
    """LLVM's target machine for NVIDIA GPUs (from compute capability 7.0 on)."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    gpu = llvm.Target.from_triple(TRIPLE)
    return gpu.create_target_machine(cpu=OLDEST, features="+ptx70", opt=3)


@cache
def driver() -> Any:
    """CUDA's driver library, `libcuda.so.1`, loaded by ctypes.

    Raises:
        NoLaneKernel: if it cannot be loaded.
    """
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NoLaneKernel("CUDA's driver cannot be loaded") from error


def register(program: Program) -> str:
    """Compile a program for the GPU and register it with XLA.

    Returns:
        The name under which XLA calls it.

    Raises:
        NoLaneKernel: if CUDA's driver is missing or rejects the program.
    """
    name = f"{__name__}.{program.name}"
    if name not in REGISTERED:
        kernel = kernel_of(ptx(program))
        launch = ctypes.cast(driver().cuLaunchKernel, ctypes.c_void_p).value or 0
        text = handler_text(program, kernel, launch)
        host = machine(2)
        handler = loaded_handler(host.emit_object(optimised(text, host)))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="CUDA")
        REGISTERED.add(name)
    return name


def ptx(program: Program) -> str:
    """A program in PTX, the assembly language of NVIDIA GPUs."""
    text = f'target triple = "{TRIPLE}"\n{program.text}'
    assembly: str = target().emit_assembly(optimised(text, target()))
    return assembly


def kernel_of(text: str) -> int:
    """The driver's handle of the kernel in a PTX program, valid for all GPUs of this machine.

    Raises:
        NoLaneKernel: if CUDA's driver is missing or rejects the program.
    """
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    cuda = driver()
    cuda.cuInit(0)
    none = ctypes.c_void_p()
    code = cuda.cuLibraryLoadData(
        ctypes.byref(library), text.encode() + b"\0", none, none, 0, none, none, 0
    )
    if not code:
        code = cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, KERNEL.encode())
    if code:
        raise NoLaneKernel(f"CUDA's driver reports error {code}")
    return kernel.value or 0


LAUNCH = """
define ptr @{handler}(ptr %frame) nounwind {{
entry:
{described}
  %buffers = alloca ptr, i64 {count}
{buffers}
{lanes}
  %asking = alloca [32 x i8], align 8
  store i64 32, ptr %asking
  %a1 = getelementptr i8, ptr %asking, i64 8
  store ptr null, ptr %a1
{context}
  %a2 = getelementptr i8, ptr %asking, i64 16
  store ptr %context, ptr %a2
{api}
{stream_of}
  %error = call ptr %stream_of(ptr %asking)
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %fail, label %fine
fail:
  ret ptr %error
fine:
{stream}
  %number = alloca i64
  store i64 %lanes, ptr %number
  %parameters = alloca ptr, i64 {parameters}
{pointers}
  %last = getelementptr ptr, ptr %parameters, i64 {count}
  store ptr %number, ptr %last
  %more = add i64 %lanes, {less}
  %blocks64 = udiv i64 %more, {threads}
  %blocks = trunc i64 %blocks64 to i32
  %kernel = inttoptr i64 {kernel} to ptr
  %launch = inttoptr i64 {launch} to ptr
  %code = call i32 %launch(ptr %kernel, i32 %blocks, i32 1, i32 1, i32 {threads}, i32 1, i32 1,
    i32 0, ptr %stream, ptr %parameters, ptr null)
  %refused = icmp ne i32 %code, 0
  br i1 %refused, label %broken, label %launched
launched:
  ret ptr null
broken:
  %making = alloca [32 x i8], align 8
  store i64 28, ptr %making
  %m1 = getelementptr i8, ptr %making, i64 8
  store ptr null, ptr %m1
  %m2 = getelementptr i8, ptr %making, i64 16
  store ptr @message, ptr %m2
  %m3 = getelementptr i8, ptr %making, i64 24
  store i32 13, ptr %m3
{make}
  %made = call ptr %make(ptr %making)
  ret ptr %made
}}
@message = private constant [34 x i8] c"lane kernel: CUDA cannot launch it\\00"
"""
"""Template of the handler, which launches the kernel, in LLVM's language."""


def handler_text(program: Program, kernel: int, launch: int) -> str:
    """The function that XLA calls, in LLVM's language: it launches the kernel on XLA's stream.

    Args:
        program: the lane kernel, for its numbers of arguments and results.
        kernel: CUDA's handle of the compiled kernel.
        launch: address of CUDA's function `cuLaunchKernel`.
    """
    count = program.pointers + 1
    pointers = [
        f"  %r{n} = getelementptr ptr, ptr %parameters, i64 {n}\n  store ptr %q{n}, ptr %r{n}"
        for n in range(count)
    ]
    text = LAUNCH.format(
        handler=HANDLER,
        described=described(),
        count=count,
        buffers=buffers(program),
        lanes=attribute("lanes", 0),
        context=field("context", "frame", 24),
        api=field("api", "frame", 16),
        stream_of=field("stream_of", "api", 80),
        stream=field("stream", "asking", 24),
        make=field("make", "api", 48),
        parameters=count + 1,
        pointers="\n".join(pointers),
        less=THREADS - 1,
        threads=THREADS,
        kernel=kernel,
        launch=launch,
    )
    return text.replace("[34 x i8]", f"[{len('lane kernel: CUDA cannot launch it') + 1} x i8]")

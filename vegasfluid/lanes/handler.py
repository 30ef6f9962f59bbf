"""The handler by which XLA calls a lane kernel, in LLVM's language, so no C compiler is needed.

XLA calls it by the C interface of its foreign functions (FFI). It starts POSIX threads; each of
them takes the next group of lanes when it has finished one.

Source: XLA's header `xla/ffi/api/c_api.h` (jax.ffi.include_dir()), for the layout of call frames.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jax
import llvmlite.binding as llvm

from vegasfluid.lanes.program import KERNEL, Program

__all__ = ["HANDLER", "attribute", "buffers", "described", "field", "handler_text"]
__all__ += ["interface_version", "rounding_calls"]

HANDLER = "lanes_handler"
"""Name of the function that XLA calls."""


@cache
def interface_version() -> str:
    """The minor version of XLA's foreign-function interface, from its header; else "1"."""
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
"""Template of the lines that answer XLA's question for its interface version (LLVM's language)."""


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
"""Template of the handler and of the function that each of its threads runs, in LLVM's language."""


def rounding_calls() -> tuple[str, str, str] | None:
    """Lines with declarations, and the calls that read and set the floating-point mode.

    `{}` in the calls stands for the name of a pointer to 32 bits. None if the processor is not
    x86-64.
    """
    if not llvm.get_default_triple().startswith("x86_64"):
        return None
    get, put = "@llvm.x86.sse.stmxcsr", "@llvm.x86.sse.ldmxcsr"
    declared = f"declare void {get}(ptr)\ndeclare void {put}(ptr)"
    return declared, f"  call void {get}(ptr %{{}})", f"  call void {put}(ptr %{{}})"


def rounding_mode() -> dict[str, str]:
    """Lines that copy XLA's floating-point mode to the threads (it flushes subnormals to 0).

    The keys are their places in the handler: `declared`, `get_mode` and `set_mode`. The lines are
    empty if the processor is not x86-64.
    """
    declared, get, put = rounding_calls() or ("", "", "")
    return {"declared": declared, "get_mode": get.format("w5"), "set_mode": put.format("mode")}


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

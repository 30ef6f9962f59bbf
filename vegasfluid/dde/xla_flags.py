"""An XLA flag for its CPU backend: loops compiled as one function, not run kernel by kernel.

Since jaxlib 0.4.32 the body of a loop runs kernel by kernel. For a delay equation with few states
this overhead is most of the run time. XLA compiles a loop as one function if the loop's state is
small. A history ring is larger than the default bound, so the flag raises the bound. The fluid
models of Weigle and Feng's networks 2 and 4 then take 19 to 20 times less CPU time, and 25 to 31
times less with a derivative (`python -m benchmarks.speed`).
"""

from __future__ import annotations

import os

__all__ = ["prefer_compiled_loops"]

OPTION = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000"
"""Bound on a loop's state, bytes: 1 GB, more than any history ring."""


def prefer_compiled_loops() -> None:
    """Set $XLA_FLAGS so that XLA's CPU backend compiles loops as one function each.

    That holds for loops with a state up to 1 GB. Nothing changes if $XLA_FLAGS already has extra
    backend options. XLA reads its flags at first use, so this has no effect in a process that has
    already used JAX. Results are the same either way.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {OPTION}".strip()

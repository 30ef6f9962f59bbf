"""Loops of small steps on XLA's CPU backend: one compiled loop instead of many small kernels.

Since jaxlib 0.4.32 a loop's body is run kernel by kernel, which for a delay equation of a few
states is most of the time. XLA compiles a loop as one function where what the loop carries is
small; a history ring is not, so the bound is raised. On the fluid models of Weigle and Feng's
networks 2 and 4 that takes 19 to 20 times less CPU time, and 25 to 31 times less with a derivative
(`python -m benchmarks.speed`).
"""

from __future__ import annotations

import os

__all__ = ["prefer_compiled_loops"]

OPTION = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000"


def prefer_compiled_loops() -> None:
    """Ask XLA for compiled loops, unless $XLA_FLAGS already holds backend options.

    XLA reads its flags when it is first used, so this has no effect on a process that has used
    JAX before; results are the same either way.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {OPTION}".strip()

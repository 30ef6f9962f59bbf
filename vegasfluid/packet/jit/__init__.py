"""The packet engine as machine code: all code that depends on Numba's internals.

The engine (`vegasfluid.packet.engine`) and the packet rules of congestion controls, queue
disciplines and traffic sources are plain Python functions. `compiled` makes one kernel of them for
the rules and features that a network uses; `interpreted` makes the same kernel in plain Python,
the reference in the tests.

* `specialise` copies functions with their globals replaced, found in their bytecode: packet rules
  by dispatchers (made with `exec`) over those in use, features by constants. Without it, every
  kernel would contain all rules and features.
* `record_access` passes the arrays as one record of addresses, which LLVM instructions read.
  Without it, a kernel takes 3 times as long to compile and 20 times as long to run.
* `deferred_codegen` leaves the optimisation of inner functions to the outermost one. Without it, a
  kernel takes 1.5 times as long to compile. It also turns off Numba's timers and records of
  compiler passes, which take a fifth of the rest.
* `optimised` turns off reference counts (`_nrt`), as a kernel allocates nothing. Without that, it
  takes a seventh longer to compile; kernels without `record_access` run 4 times as long.
* `kernel` keeps machine code in a folder named by a hash of all sources. Numba's own cache checks
  the outermost function only, and would run stale code. `machine_code` verifies what it loads.

`specialise` and `kernel` use documented features alone. The others use parts of Numba without a
public interface. `self_test` tries them on a small function; if that fails, `compiled` warns once
and falls back on plain `njit`. The results are the same, but a kernel takes 5 times as long to
compile and 100 times as long to run, and is not cached. (Factors: Weigle and Feng's network 2,
CPU seconds, Numba 0.68; 5 s to compile and 0.07 s for a run of 200 s.)
"""

from vegasfluid.packet.jit.kernel import Kernel, cache_folder, compiled, interpreted
from vegasfluid.packet.jit.specialise import open_names, specialise

__all__ = ["Kernel", "cache_folder", "compiled", "interpreted", "open_names", "specialise"]

"""The packet engine as machine code: everything that depends on Numba's internals.

The engine (`vegasfluid.packet.engine`) and the packet rules of congestion controls, queue
disciplines and traffic sources are plain Python functions. `compiled` makes one kernel of them for
the rules and features that a network uses; `interpreted` makes the same kernel in plain Python,
the reference in the tests.

* `specialise` copies functions with their globals replaced: rules by dispatchers over those in use,
  features by constants. Code for unused features is never compiled.
* `record_access` hands the run to machine code as one record of addresses, and LLVM instructions
  read the arrays: half the compile time.
* `deferred_codegen` compiles inner functions to LLVM code only, which the outermost one optimises
  once: half the compile time.
* `optimised` sets Numba's options: no reference counts (`_nrt`), which took more than half of the
  run time; functions of every packet are inlined.
* `kernel` keys the cache on disk by a hash of all sources, as Numba's own cache checks the
  outermost function only and would run stale code.

`specialise` and `kernel` use documented features alone. The others use parts of Numba without a
public interface: `self_test` runs them on a small function, and where that fails (with another
Numba, say) `compiled` warns once and falls back on plain `njit`, which gives the same results but
compiles longer and runs slower.
"""

from vegasfluid.packet.jit.kernel import Kernel, cache_folder, compiled, interpreted
from vegasfluid.packet.jit.specialise import open_names, specialise

__all__ = ["Kernel", "cache_folder", "compiled", "interpreted", "open_names", "specialise"]

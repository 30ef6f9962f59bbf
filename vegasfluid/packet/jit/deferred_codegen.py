"""A Numba compiler for inner functions: LLVM code only, optimised and built in their caller.

Numba optimises each function, makes machine code of it, and optimises it once more as a part of
every caller. Here LLVM optimises all functions once, in the outermost one: half the compile time.
Compiler passes that find nothing to do in the engine's functions are left out, which takes another
quarter off, and so are Numba's records of the time that each pass and each call of LLVM takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from numba.core import event
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

__all__ = ["DeferredCompiler", "without_timers"]

INSTALL_TIMER = event.install_timer
"""Numba's function that starts a timer; threads that compile at the same time all restore it."""


@contextmanager
def without_timers() -> Iterator[None]:
    """Context in which Numba does not time its lock and LLVM's.

    A function is compiled while its callers are: each of them times each of LLVM's calls, which
    takes a seventh of the whole time.
    """
    event.install_timer = lambda *_: nullcontext()
    try:
        yield
    finally:
        event.install_timer = INSTALL_TIMER


class DeferredLibrary:
    """Mixin for Numba's library of a function's code: neither optimises nor builds it."""

    stays_call = False
    """Whether the function is called, not inlined: LLVM would inline all into the outermost one."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add LLVM code to the library, marked `noinline` if `stays_call` is set."""
        if self.stays_call:
            for each in ir_module.functions:
                if not each.is_declaration:
                    each.attributes.add("noinline")
        super().add_ir_module(ir_module)  # type: ignore[misc]

    def _optimize_final_module(self) -> None:
        """Do not optimise the LLVM code: the library of the caller does it."""

    def _finalize_final_module(self) -> None:
        """Mark the library as complete, so that callers link it."""
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class Registration(AnalysisPass):
    """Compiler pass that registers a function without an address, so that callers link its code."""

    _name = "vegasfluid_registration"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Register the compiled function with Numba under a unique key, so that callers link it.

        Numba keys functions by `cfunc`, which ours do not have: a new bound method is a unique key.

        Returns:
            True: the pass has changed the compiler's state.
        """
        key = [].append
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=key)
        return True


PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    Registration,
    NoPythonBackend,
)
"""Compiler passes in their order. Of Numba's usual ones those for closures, `with`, exceptions,
functions inlined by Numba, literal arguments and array expressions are left out."""


class Passes(PassManager):
    """Compiler passes in their order, run without Numba's checks and records of each of them."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:  # noqa: N802
        """Run one compiler pass without Numba's record of it.

        Writing the types of its function as text for that record takes longer than some passes.

        Args:
            index: number of the pass.
            pss: the pass.
            internal_state: the compiler's state.
        """
        pss.analysis = self._analysis
        for part in (pss.run_initialization, pss.run_pass, pss.run_finalizer):
            part(internal_state)


class DeferredCompiler(CompilerBase):
    """Numba's compiler for a function whose code is optimised and built in its callers."""

    def define_pipelines(self) -> list[PassManager]:
        """The manager of the compiler passes, as the only element of a list.

        The passes write to a library whose code is neither optimised nor built.
        """
        library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
        library.__class__ = type("Library", (DeferredLibrary, type(library)), {})
        library.stays_call = not self.state.flags.forceinline
        self.state.library = library
        self.state.flags.no_compile = True
        manager = Passes("deferred")
        for each in PASSES:
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]

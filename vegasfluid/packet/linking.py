"""Functions that only other machine code calls: translated, and left for their caller to optimise.

Numba by itself optimises each function, makes machine code of it, and optimises it once more as a
part of every caller. Here LLVM sees all functions once, in the outermost one, which takes half of
the time.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["LinkedCompiler"]


class Linked:
    """What comes before Numba's own library of a function: nothing is optimised, nothing built."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class Registration(AnalysisPass):
    """Tell callers of the function, which has no address, where its code is to be linked from."""

    _name = "vegasfluid_registration"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Let a builtin that nobody calls stand for the function: each is known by its own."""
        known = [].append
        state.targetctx.insert_user_function(known, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=known)
        return True


class LinkedCompiler(CompilerBase):
    """Numba's compiler, for a function whose code is optimised and built in its callers."""

    def define_pipelines(self) -> list[PassManager]:
        """The usual passes, to a library that waits to be linked."""
        library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
        library.__class__ = type("LinkedLibrary", (Linked, type(library)), {})
        self.state.library = library
        self.state.flags.no_compile = True
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, "linked")
        manager.add_pass_after(Registration, NativeLowering)
        manager.finalize()
        return [manager]

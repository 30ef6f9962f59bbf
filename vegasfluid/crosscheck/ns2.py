"""The simulator ns-2.35 as a reference: it runs the script of `vegasfluid export --format ns2`."""

from __future__ import annotations

import shutil
from pathlib import Path

from vegasfluid.crosscheck.programs import run_program
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.errors import NotInstalled

__all__ = ["ns2"]


def ns2() -> Reference:
    """The reference ns-2.

    Raises:
        NotInstalled: if the program `ns` is not on the path.
    """
    program = shutil.which("ns")
    if program is None:
        raise NotInstalled("crosscheck", "--with ns2", "the program ns", "apt-get install ns2")

    def run(folder: Path, seed: int) -> str:
        """Run the scenario in `folder` with ns-2 and a seed; return its output."""
        return run_program([program, "scenario.tcl", str(seed)], folder)

    return Reference("ns-2", "ns2", run)

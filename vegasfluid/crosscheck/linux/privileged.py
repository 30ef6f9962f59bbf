"""The kernel of this machine as a reference: network namespaces, in real time, as root."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from vegasfluid.crosscheck.programs import ProgramFailed, run_program
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.errors import NotInstalled

__all__ = ["require_programs", "this_kernel"]

MISSING = 2
"""Exit status of the test where something is missing on the machine."""
REMEDY = "or --kernel PATH, a User Mode Linux kernel"
"""What a user can do instead where the kernel of this machine cannot run the test."""


def this_kernel() -> Reference:
    """The reference Linux with the kernel of this machine; its runs take their simulated time.

    Raises:
        NotInstalled: without root, on another system than Linux, or without `ip` and `tc`.
    """
    if platform.system() != "Linux" or os.geteuid() != 0:
        raise NotInstalled("crosscheck", "--with linux", "root on a Linux machine", REMEDY)
    require_programs()

    def run(folder: Path, seed: int) -> str:
        """Run the exported test in `folder` on this machine with a seed; return its output."""
        environment = {**os.environ, "PYTHON": sys.executable}
        try:
            return run_program(["sh", "test.sh", str(seed)], folder, environment=environment)
        except ProgramFailed as failure:
            if failure.status != MISSING:
                raise
            needed = f"a machine that can run its test: {failure.last.removeprefix('test.sh: ')}"
            raise NotInstalled("crosscheck", "--with linux", needed, REMEDY) from None

    return Reference(f"Linux {platform.release()}", "netns", run, parallel=False)


def require_programs() -> None:
    """Raise NotInstalled unless the programs that make network namespaces are on the path."""
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            remedy = "apt-get install iproute2"
            raise NotInstalled("crosscheck", "--with linux", f"the program {program}", remedy)

"""The simulator ns-3 as a reference: it runs the program of `vegasfluid export --format ns3`.

ns-3's bindings are the PyPI package `ns3`. They may be installed beside vegasfluid, or for another
Python, whose path is then the value of $VEGASFLUID_NS3_PYTHON.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from vegasfluid.crosscheck.programs import run_program
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.errors import NotInstalled

__all__ = ["PYTHON", "ns3"]

PYTHON = "VEGASFLUID_NS3_PYTHON"
"""Environment variable with the path of a Python that has ns-3."""


def ns3() -> Reference:
    """The reference ns-3.

    Raises:
        NotInstalled: if there is no Python with the package `ns3`.
    """
    given = os.environ.get(PYTHON)
    program = shutil.which(given) if given else sys.executable
    if program is None or (not given and importlib.util.find_spec("ns") is None):
        needed = "the Python package ns3" if not given else f"the Python that ${PYTHON} names"
        remedy = f"pip install ns3, or let ${PYTHON} name a Python that has it"
        raise NotInstalled("crosscheck", "--with ns3", needed, remedy)

    def run(folder: Path, seed: int) -> str:
        """Run the scenario in `folder` with ns-3 and a seed; return its output."""
        return run_program([program, "scenario.py", str(seed)], folder)

    return Reference("ns-3", "ns3", run)

"""Closed forms compared with the equilibrium solver, the fluid model and the packet simulator.

    python -m benchmarks.formulas [--json] [--full]
    python -m benchmarks.formulas --markdown [--full]

A row is a formula on a network: its value, the value at the equilibrium (`equilibrium`), at the end
of a long fluid run, and the mean of packet runs over several seeds, with relative differences. If a
formula depends on a quantity that the network itself determines (a loss ratio, a round-trip time),
it is evaluated for each engine with the value of that engine.

The targets are 1e-6 for the solver, 1 % for the fluid model and 10 % for the packet simulator where
the conditions of the formula hold. Rows where they do not hold have no target; remarks state why.
`--full` takes runs twice as long and ten seeds in place of three. `--markdown` prints the page
docs/validation/formulas.md.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.formulas.page import markdown
from benchmarks.formulas.table import measure, rows
from benchmarks.harness import run
from vegasfluid.caches import keep_compiled_equations


def main() -> None:
    """Print the figures, or with `--markdown` the page."""
    if "--markdown" not in sys.argv:
        run(measure, __doc__ or "")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the page")
    parser.add_argument("--full", action="store_true", help="the long version")
    full = parser.parse_args().full
    keep_compiled_equations()
    print(markdown(rows(full), full))


if __name__ == "__main__":
    main()

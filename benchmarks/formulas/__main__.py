"""Each closed form beside the solver of rest, a long run of the fluid, and the packet simulator.

    python -m benchmarks.formulas [--json] [--full]
    python -m benchmarks.formulas --markdown [--full]

A row is a formula on a network: its value, what `equilibrium` has there, what the end of a long
run of the fluid has, and the mean of packet runs over several seeds, with relative differences.
Where a formula speaks of what a network does by itself (a share of packets that is lost, a
round-trip time), it is asked with each engine's own: packets are held to the formula at what
packets have.

Wanted are 1e-6 of the solver, 1 % of the fluid and 10 % of packets, wherever the conditions of the
formula hold; rows in which they do not (told in the remarks) are shown without a target. `--full`
takes runs twice as long and ten seeds in place of three. `--markdown` prints the page
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
    """Figures, or the page."""
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

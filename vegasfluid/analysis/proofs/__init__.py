"""Proofs in interval arithmetic: certificates of a fair alpha, and uniqueness of equilibria.

`certify_alpha` encloses the one alpha of a Vegas class that gives the wanted ratio of rates, and
writes down what it proves; `verify` proves that again from the parameters. The theorem and its
proof are in `theorem`, its equations in `single_link`. `isolate_zeros` finds all equilibria of a
`MonotoneNetwork` by branch and prune.
"""

from __future__ import annotations

from vegasfluid.analysis.proofs.certificate import Certificate
from vegasfluid.analysis.proofs.certify import certify_alpha
from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.problem import FairAlphaProblem
from vegasfluid.analysis.proofs.verify import Verdict, matches, verify

__all__ = [
    "Certificate",
    "Enclosure",
    "FairAlphaProblem",
    "Verdict",
    "certify_alpha",
    "matches",
    "verify",
]

"""Proofs in interval arithmetic: certificates of a fair alpha, and uniqueness of equilibria.

`certify_alpha` (in `claim_search`) encloses the one alpha of a Vegas class that gives the wanted
ratio of rates, and returns a certificate. `verify` proves the certificate's claims again from its
parameters. The theorem and its proof are in `proof`, its equations in `single_link`.
`isolate_zeros` finds all equilibria of a `MonotoneNetwork` by branch and prune.
"""

from __future__ import annotations

from vegasfluid.analysis.proofs.certificate import Certificate
from vegasfluid.analysis.proofs.claim_search import certify_alpha
from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.problem import FairAlphaProblem
from vegasfluid.analysis.proofs.verify import Verification, matches, verify

__all__ = [
    "Certificate",
    "Enclosure",
    "FairAlphaProblem",
    "Verification",
    "certify_alpha",
    "matches",
    "verify",
]

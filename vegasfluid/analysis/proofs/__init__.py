"""Provably fair alpha: certificates in ball arithmetic, and a checker that proves them anew.

`certify_alpha` finds the one alpha of a Vegas class at which it gets its share, and writes down
what can be proven of it; `verify` proves that again from the parameters. The theorem and its proof
stand in `theorem`, the equations in `equations`, the windows of other laws in `windows`.
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

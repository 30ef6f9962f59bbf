"""A certificate: parameters, claims, and a sentence that says them; a small JSON document.

Every claim is a pair of decimals between which a number is said to be. Parameters are JSON
numbers, read as the doubles that the program computes with; units stand in the keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flint import arb

from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.problem import FairAlphaProblem
from vegasfluid.analysis.proofs.reading import (
    at_key,
    enclosures_from,
    problem_from,
    record,
    text,
)
from vegasfluid.analysis.proofs.theorem import Proof
from vegasfluid.analysis.proofs.writing import nested, problem_document, sentence
from vegasfluid.errors import InvalidInput

__all__ = ["FORMAT", "VERSION", "Certificate", "Key", "balls_of"]

FORMAT, VERSION = "vegasfluid alpha certificate", 1

Key = tuple[str, ...]
"""Where a claim stands in the document."""


def balls_of(proof: Proof) -> dict[Key, arb]:
    """What is proven, by its place among the claims."""
    equilibrium = proof.equilibrium
    found: dict[Key, arb] = {
        ("alpha_packets",): proof.alpha,
        ("alpha_below_packets",): proof.below,
        ("alpha_above_packets",): proof.above,
        ("alpha_packets_per_log_ratio",): proof.slope,
        ("queue_packets",): equilibrium.queue,
        ("drop_prob",): equilibrium.prob,
        ("climbing_share",): equilibrium.recovering,
    }
    for name in equilibrium.windows:
        found["classes", name, "cwnd_packets"] = equilibrium.windows[name]
        found["classes", name, "rtt_s"] = equilibrium.rtts[name]
        found["classes", name, "rate_packets_per_s"] = equilibrium.rates[name]
    return found


@dataclass(frozen=True)
class Certificate:
    """The claim that one alpha, and no other, gives the tuned class its share.

    Args:
        problem: the parameters.
        box: queues among which there is one rest with the ratio wanted, packets.
        claims: what is said of that rest and of alpha.
        software: what wrote it.
    """

    problem: FairAlphaProblem
    box: Enclosure
    claims: Mapping[Key, Enclosure]
    software: str

    @classmethod
    def of(cls, problem: FairAlphaProblem, proof: Proof) -> Certificate:
        """The claims that a proof allows, rounded outwards; of the box inwards."""
        claims = {key: Enclosure.around(ball) for key, ball in balls_of(proof).items()}
        return cls(problem, Enclosure.within(*proof.box), claims, running_software())

    @classmethod
    def read(cls, document: Any) -> Certificate:
        """The certificate in a JSON document; nothing in it is proven yet.

        Raises:
            InvalidInput: for a document that is none, with the first thing that is wrong.
        """
        if not isinstance(document, Mapping):
            raise InvalidInput("certificate", "the document", "a JSON object", document)
        for key, wanted in (("format", FORMAT), ("version", VERSION)):
            given = at_key(document, key, "")
            if given != wanted or isinstance(given, bool):
                raise InvalidInput("certificate", key, repr(wanted), given)
        keys = ("format", "version", "software", "statement", "problem", "claims")
        parts = record(document, "", keys)
        problem = problem_from(parts["problem"])
        claims = enclosures_from(parts["claims"], tuple(problem.groups))
        box = claims.pop(("box_packets",))
        return cls(problem, box, claims, text(parts["software"], "software"))

    @property
    def alpha(self) -> Enclosure:
        """The fair alpha, packets."""
        return self.claims["alpha_packets",]

    @property
    def statement(self) -> str:
        """What is claimed, in words."""
        return sentence(self.problem, self.claims)

    def document(self) -> dict[str, Any]:
        """As JSON would hold it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "software": self.software,
            "statement": self.statement,
            "problem": problem_document(self.problem),
            "claims": nested({("box_packets",): self.box, **self.claims}),
        }

    def save(self, path: Path) -> None:
        """Write it as a JSON file."""
        written = json.dumps(self.document(), indent=2, allow_nan=False)
        Path(path).write_text(written + "\n", encoding="utf-8")


def running_software() -> str:
    """Name and version of the program."""
    try:
        return f"vegasfluid {version('vegasfluid')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "vegasfluid"

"""A certificate: parameters, claims, and a sentence that states them; a small JSON document.

Every claim is a pair of decimals between which a number is claimed to lie. Parameters are JSON
numbers, read as the doubles that the program computes with; keys end in their units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flint import arb

from vegasfluid.analysis.proofs.enclosure import Enclosure, Key
from vegasfluid.analysis.proofs.problem import FairAlphaProblem
from vegasfluid.analysis.proofs.proof import Proof
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.output_files import write_text

__all__ = ["Certificate", "proven_intervals"]


def proven_intervals(proof: Proof) -> dict[Key, arb]:
    """The intervals that a proof encloses, by the keys that lead to each claim in the document.

    The last key ends in the unit. `alpha_packets` is at the wanted ratio, `alpha_below_packets` and
    `alpha_above_packets` at e^-epsilon and e^epsilon times it; `alpha_packets_per_log_ratio` is
    d alpha / d ln(ratio). `queue_packets`, `drop_prob` and `recovering_fraction` (of tuned flows
    whose windows grow back after a loss) follow. `cwnd_packets`, `rtt_s` and `rate_packets_per_s`
    of a flow of each class are below `classes` and the name of the class.
    """
    equilibrium = proof.equilibrium
    intervals: dict[Key, arb] = {
        ("alpha_packets",): proof.alpha,
        ("alpha_below_packets",): proof.below,
        ("alpha_above_packets",): proof.above,
        ("alpha_packets_per_log_ratio",): proof.slope,
        ("queue_packets",): equilibrium.queue,
        ("drop_prob",): equilibrium.prob,
        ("recovering_fraction",): equilibrium.recovering,
    }
    for name in equilibrium.windows:
        intervals["classes", name, "cwnd_packets"] = equilibrium.windows[name]
        intervals["classes", name, "rtt_s"] = equilibrium.rtts[name]
        intervals["classes", name, "rate_packets_per_s"] = equilibrium.rates[name]
    return intervals


@dataclass(frozen=True)
class Certificate:
    """The claim that one alpha, and no other, gives the tuned class the wanted ratio of rates.

    Args:
        problem: the parameters.
        box: range of queues in which exactly one equilibrium has the ratio, packets.
        claims: the claims about that equilibrium and about alpha, by the keys that lead to them in
            the document, which end in units.
        software: name and version of the program that wrote the certificate.
    """

    problem: FairAlphaProblem
    box: Enclosure
    claims: Mapping[Key, Enclosure]
    software: str

    @classmethod
    def of(cls, problem: FairAlphaProblem, proof: Proof) -> Certificate:
        """The certificate of what a proof encloses, with each interval as two decimals.

        Claims are rounded outwards, the box of queues inwards.

        Args:
            problem: the parameters.
            proof: what is proven about them.
        """
        claims = {key: Enclosure.around(ball) for key, ball in proven_intervals(proof).items()}
        return cls(problem, Enclosure.within(*proof.box), claims, running_software())

    @classmethod
    def read(cls, document: Any) -> Certificate:
        """The certificate in a JSON document; only its form is checked, and nothing in it proven.

        Args:
            document: a parsed JSON document.

        Raises:
            InvalidInput: for a document that is no certificate, with the first error.
        """
        from vegasfluid.analysis.proofs import schema  # pydantic, only where documents are read

        record = schema.read_document(document)
        problem = schema.problem_from(record.problem)
        claims = schema.claims_from(record.claims, tuple(problem.groups))
        box = claims.pop(("box_packets",))
        return cls(problem, box, claims, record.software)

    @property
    def alpha(self) -> Enclosure:
        """The claimed bounds of the alpha that gives the wanted ratio of rates, packets."""
        return self.claims["alpha_packets",]

    @property
    def statement(self) -> str:
        """The claims about alpha as an English sentence."""
        return statement(self.problem, self.claims)

    def document(self) -> dict[str, Any]:
        """The certificate as a JSON object.

        Returns:
            `format`, `version` and `software`; `statement`, the claims in words; `problem`, the
            parameters; `claims`, each with `low` and `high` as decimals in text. The key of a
            quantity ends in its unit, as in `alpha_packets`.
        """
        from vegasfluid.analysis.proofs import schema  # pydantic, only where documents are written

        return {
            "format": schema.FORMAT,
            "version": schema.VERSION,
            "software": self.software,
            "statement": self.statement,
            "problem": schema.problem_document(self.problem),
            "claims": schema.claims_document({("box_packets",): self.box, **self.claims}),
        }

    def save(self, path: Path) -> None:
        """Write the certificate as an indented JSON file.

        Args:
            path: the file to write; an existing one is replaced.
        """
        text = json.dumps(self.document(), indent=2, allow_nan=False)
        write_text(path, text + "\n")


def running_software() -> str:
    """Name and version of this package as a text such as `vegasfluid 1.0`."""
    try:
        return f"vegasfluid {version('vegasfluid')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "vegasfluid"


def statement(problem: FairAlphaProblem, claims: Mapping[Key, Enclosure]) -> str:
    """The claims about alpha as an English sentence, with the model and the numbers of flows.

    The wording is part of the format: a certificate whose sentence differs is not valid.

    Args:
        problem: the parameters.
        claims: the claims, among them those about alpha.
    """
    alpha, below, above = (claims[f"alpha{end}_packets",] for end in ("", "_below", "_above"))
    dialect = DIALECTS[problem.tuned.dialect]
    gap = dialect.alpha_offset - dialect.beta_offset
    smallest_beta = "alpha" if gap == 0 else f"alpha + {gap:g}"
    others = " and ".join(
        f"{flows.count} {name} ({flows.law})" for name, flows in problem.competitors.items()
    )
    model = f"loss process {problem.loss_process}; no repairs, timeouts or whole packets"
    return (
        f"In the fluid model ({model}) of {problem.tuned.count} {problem.tuned_name} flows "
        f"(Vegas, {problem.tuned.dialect}) with {others} flows behind RED, "
        f"a {problem.tuned_name} flow in equilibrium sends {problem.ratio!r} times the mean rate "
        f"of the other flows for exactly one alpha, whatever beta >= {smallest_beta}: it is "
        f"between {alpha.low} and {alpha.high} packets. The logarithm of the ratio is off by at "
        f"least {problem.epsilon!r} for every alpha above 0 and up to {below.low}, and for every "
        f"alpha from {above.high} packets; between {below.high} and {above.low} by less. "
        f"The ratio rises strictly with alpha."
    )

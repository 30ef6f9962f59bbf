"""The checker: proves every claim of a certificate anew, from its parameters alone.

It trusts no number of the document but the parameters, does not look for the answer where the
document says it is, and uses nothing of `search`. A claim holds if what is proven lies in it: so
a claim that is wider than need be is weaker, and holds; one that leaves out the truth does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vegasfluid.analysis.proofs.certificate import Certificate, balls_of
from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.supported_networks import fair_alpha_problem
from vegasfluid.analysis.proofs.theorem import NotProven, Proof, prove
from vegasfluid.analysis.proofs.writing import problem_document
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network

__all__ = ["Verdict", "matches", "verify"]


@dataclass(frozen=True)
class Verdict:
    """What became of a certificate.

    Args:
        certificate: that was checked.
        refused: why it does not hold, a line each; empty where it holds.
    """

    certificate: Certificate
    refused: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether everything that it claims is proven."""
        return not self.refused

    @property
    def digits(self) -> float:
        """To how many decimal digits alpha is claimed."""
        return self.certificate.alpha.digits


def verify(document: Mapping[str, Any] | Certificate) -> Verdict:
    """Prove a certificate from scratch, in ball arithmetic.

    Args:
        document: a certificate, or a JSON document that holds one.

    Raises:
        InvalidInput: for a document that is no certificate; one that is, but is wrong, is
            answered by a verdict.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
    >>> from vegasfluid.analysis.proofs import certify_alpha
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> vegas = Flows(5, Vegas(dialect="ns2"), base_rtt=0.04)
    >>> network = Network(link, {"vegas": vegas, "reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> document = certify_alpha(network).document()
    >>> verify(document).valid
    True
    >>> document["problem"]["tuned"]["flows"] = 6
    >>> verify(document).valid
    False
    """
    if isinstance(document, Certificate):
        document = document.document()
    certificate = Certificate.read(document)
    try:
        broken = broken_claims(certificate, prove(certificate.problem))
    except NotProven as reason:
        return Verdict(certificate, (str(reason),))
    if document["statement"] != certificate.statement:
        broken.append("statement is not the sentence that the claims make")
    return Verdict(certificate, tuple(broken))


def broken_claims(certificate: Certificate, proof: Proof) -> list[str]:
    """The claims that a proof does not bear out."""
    found = []
    for key, ball in balls_of(proof).items():
        claim = certificate.claims[key]
        if not ball.is_finite():
            found.append(f"{'.'.join(key)} is not enclosed")
        elif not claim.contains(ball):
            proven = Enclosure.around(ball)
            found.append(
                f"{'.'.join(key)} is proven to be between {proven.low} and {proven.high}, "
                f"but is claimed to be between {claim.low} and {claim.high}"
            )
    whole, claim = Enclosure.within(*proof.box), certificate.box
    if not (whole.bounds[0] <= claim.bounds[0] and claim.bounds[1] <= whole.bounds[1]):
        found.append(
            f"box_packets must be within {whole.low} and {whole.high}, "
            f"but is from {claim.low} to {claim.high}"
        )
    if not claim.contains(proof.equilibrium.queue):
        found.append("the queue at rest is not in box_packets")
    return found


def matches(document: Mapping[str, Any] | Certificate, network: Network) -> None:
    """Hold a certificate against a network: does it speak of this one?

    Only what the proof depends on is compared; the tuned class's alpha, beta and gamma are not.

    Args:
        document: a certificate, or a JSON document that holds one.
        network: the model.

    Raises:
        InvalidInput: for a document that is no certificate, a network that none could speak of,
            and the first parameter that differs.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
    >>> from vegasfluid.analysis.proofs import certify_alpha
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> vegas = Flows(5, Vegas(dialect="ns2"), base_rtt=0.04)
    >>> network = Network(link, {"vegas": vegas, "reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> matches(certify_alpha(network), network)
    """
    certificate = document if isinstance(document, Certificate) else Certificate.read(document)
    own = certificate.problem
    of_network = fair_alpha_problem(
        network,
        own.tuned_name,
        own.ratio,
        epsilon=own.epsilon,
        loss_process=own.loss_process,
    )
    compare("problem", problem_document(own), problem_document(of_network))


def compare(where: str, own: Any, of_network: Any) -> None:
    """Refuse the first value of the certificate that is another one in the network."""
    if isinstance(own, dict) and isinstance(of_network, dict):
        for key in own | of_network:
            missing = "missing"
            compare(f"{where}.{key}", own.get(key, missing), of_network.get(key, missing))
    elif own != of_network:
        allowed = f"{of_network!r} as in the model"
        raise InvalidInput("certificate", where, allowed, own)

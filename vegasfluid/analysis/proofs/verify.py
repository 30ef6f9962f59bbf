"""The checker: proves every claim of a certificate again, from its parameters alone.

It trusts no number of the document except the parameters, does not look for the answer where the
document says it is, and uses nothing of the search for claims (`claim_search`). A claim is valid if
the proven interval lies in it: a claim that is wider than necessary is weaker, but valid; one that
excludes the truth is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vegasfluid.analysis.proofs.certificate import Certificate, proven_intervals
from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.proof import NotProven, Proof, prove
from vegasfluid.analysis.proofs.supported_networks import fair_alpha_problem
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.network import Network

__all__ = ["Verification", "matches", "verify"]


@dataclass(frozen=True)
class Verification:
    """The result of checking a certificate.

    Args:
        certificate: the certificate.
        reasons: why it is not valid, one line each; empty if it is valid.
    """

    certificate: Certificate
    reasons: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether all claims of the certificate are proven, and its statement matches them."""
        return not self.reasons

    @property
    def digits(self) -> float:
        """The number of decimal digits to which alpha is claimed: -log10 of its relative width."""
        return self.certificate.alpha.digits


def verify(document: Mapping[str, Any] | Certificate) -> Verification:
    """Prove all claims of a certificate again, in interval arithmetic.

    Args:
        document: a certificate, or the JSON document of one.

    Returns:
        The certificate, whether it is `valid`, and the `reasons` if it is not: claims that do not
        contain what is proven, a part of the proof that fails, or a different `statement`.

    Raises:
        InvalidInput: for a document that is no certificate.

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
        reasons = unproven_claims(certificate, prove(certificate.problem))
    except NotProven as reason:
        return Verification(certificate, (str(reason),))
    if document["statement"] != certificate.statement:
        reasons.append("statement does not match the claims")
    return Verification(certificate, tuple(reasons))


def unproven_claims(certificate: Certificate, proof: Proof) -> list[str]:
    """The claims of a certificate that a proof of its parameters does not support, one line each.

    A claimed interval is supported if it contains the proven one. `box_packets`, the range of
    queues in which the equilibrium is claimed to be unique, is supported if the proven range
    contains it and it contains the equilibrium queue.

    Args:
        certificate: the claims.
        proof: what is proven about its parameters.
    """
    reasons = []
    for key, interval in proven_intervals(proof).items():
        claim = certificate.claims[key]
        if not interval.is_finite():
            reasons.append(f"{'.'.join(key)} is not enclosed")
        elif not claim.contains(interval):
            proven = Enclosure.around(interval)
            reasons.append(
                f"{'.'.join(key)} is proven to be between {proven.low} and {proven.high}, "
                f"but is claimed to be between {claim.low} and {claim.high}"
            )
    whole, claim = Enclosure.within(*proof.box), certificate.box
    if not (whole.bounds[0] <= claim.bounds[0] and claim.bounds[1] <= whole.bounds[1]):
        reasons.append(
            f"box_packets must be within {whole.low} and {whole.high}, "
            f"but is from {claim.low} to {claim.high}"
        )
    if not claim.contains(proof.equilibrium.queue):
        reasons.append("the equilibrium queue is not in box_packets")
    return reasons


def matches(document: Mapping[str, Any] | Certificate, network: Network) -> None:
    """Raise InvalidInput unless a certificate is about a given network.

    Only what the proof depends on is compared; the tuned class's alpha, beta and gamma are not.

    Args:
        document: a certificate, or the JSON document of one.
        network: the model.

    Raises:
        InvalidInput: for a document that is no certificate, a network that no certificate can be
            about, and the first parameter that differs.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
    >>> from vegasfluid.analysis.proofs import certify_alpha
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> vegas = Flows(5, Vegas(dialect="ns2"), base_rtt=0.04)
    >>> network = Network(link, {"vegas": vegas, "reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> matches(certify_alpha(network), network)
    """
    certificate = document if isinstance(document, Certificate) else Certificate.read(document)
    certified = certificate.problem
    modelled = fair_alpha_problem(
        network,
        certified.tuned_name,
        certified.ratio,
        epsilon=certified.epsilon,
        loss_process=certified.loss_process,
    )
    from vegasfluid.analysis.proofs.schema import problem_document  # pydantic, only where used

    require_equal("problem", problem_document(certified), problem_document(modelled))


def require_equal(path: str, certified: Any, modelled: Any) -> None:
    """Raise InvalidInput for the first value in a certificate that differs from the model's.

    A value that one of two tables lacks differs, too.

    Args:
        path: the keys that lead to the values, joined by dots.
        certified: the certificate's value, or a table (dict) of values.
        modelled: the model's value or table.
    """
    if isinstance(certified, dict) and isinstance(modelled, dict):
        for key in certified | modelled:
            values = (table.get(key, Words("missing")) for table in (certified, modelled))
            require_equal(f"{path}.{key}", *values)
    elif certified != modelled:
        raise InvalidInput("certificate", path, f"{modelled!r} as in the model", certified)

"""From a problem and claims to JSON and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vegasfluid.analysis.proofs.enclosure import Enclosure
from vegasfluid.analysis.proofs.keys import (
    COMPETITOR,
    CUBIC,
    PROBLEM,
    RED,
    TUNED,
    Table,
)
from vegasfluid.analysis.proofs.problem import CubicFlows, FairAlphaProblem
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["nested", "problem_document", "sentence"]


def fields_document(value: Any, table: Table) -> dict[str, Any]:
    """The fields of a table by their keys."""
    return {key: getattr(value, name) for name, key, _ in table}


def problem_document(problem: FairAlphaProblem) -> dict[str, Any]:
    """A problem as JSON holds it."""
    competitors = {
        name: fields_document(of, CUBIC if isinstance(of, CubicFlows) else COMPETITOR)
        for name, of in problem.competitors.items()
    }
    return {
        **fields_document(problem, PROBLEM),
        "red": fields_document(problem.red, RED),
        "tuned": {"name": problem.tuned_name, **fields_document(problem.tuned, TUNED)},
        "competitors": competitors,
    }


def nested(claims: Mapping[tuple[str, ...], Enclosure]) -> dict[str, Any]:
    """Claims as JSON holds them."""
    document: dict[str, Any] = {}
    for key, claim in claims.items():
        at = document
        for part in key[:-1]:
            at = at.setdefault(part, {})
        at[key[-1]] = {"low": claim.low, "high": claim.high}
    return document


def sentence(problem: FairAlphaProblem, claims: Mapping[tuple[str, ...], Enclosure]) -> str:
    """What is claimed, in words.

    Args:
        problem: the parameters.
        claims: among them those of alpha.
    """
    alpha, below, above = (claims[f"alpha{of}_packets",] for of in ("", "_below", "_above"))
    dialect = DIALECTS[problem.tuned.dialect]
    gap = dialect.alpha_offset - dialect.beta_offset
    room = "alpha" if gap == 0 else f"alpha + {gap:g}"
    others = " and ".join(
        f"{of.count} {name} ({of.law})" for name, of in problem.competitors.items()
    )
    model = f"loss process {problem.loss_process}; no repairs, timeouts or whole packets"
    return (
        f"In the fluid model ({model}) of {problem.tuned.count} {problem.tuned_name} flows "
        f"(Vegas, {problem.tuned.dialect}) with {others} flows behind RED, "
        f"a {problem.tuned_name} flow at rest sends {problem.ratio!r} times the mean rate of "
        f"the other flows for exactly one alpha, whatever beta >= {room}: it is between "
        f"{alpha.low} and {alpha.high} packets. The logarithm of the ratio is off by at least "
        f"{problem.epsilon!r} for every alpha above 0 and up to {below.low}, and for every alpha "
        f"from {above.high} packets; between {below.high} and {above.low} by less. "
        f"The ratio rises strictly with alpha."
    )

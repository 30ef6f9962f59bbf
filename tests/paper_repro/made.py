"""A claim and a paper made for tests."""

from __future__ import annotations

from typing import Any

from paper_repro.claims import Claim, Paper

__all__ = ["a_claim", "a_paper"]


def a_claim(**changed: Any) -> Claim:
    """The claim that a measure is 10, to a tenth, with other entries where given."""
    given = {
        "id": "a",
        "where": "section 1",
        "says": "it is 10",
        "measure": "figure1.it",
        "expect": {"equals": 10, "within_share": 0.1},
        "tolerance": "read off a figure",
    }
    return Claim.model_validate(given | changed)


def a_paper(*claims: Claim, **more: Any) -> Paper:
    """A paper with these claims."""
    given = {"title": "A", "authors": "N. N.", "year": 1999, "source": "here"}
    return Paper.model_validate(given | {"claim": list(claims)} | more)

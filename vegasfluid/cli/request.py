"""The request that options of `vegasfluid recommend` describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import ms
from vegasfluid.tuning import Constraints, objective_named

__all__ = ["request_from_options", "single_class"]


def request_from_options(
    goal: str,
    ratio: float,
    max_delay_ms: float | None,
    max_drop_share: float | None,
    min_utilisation: float | None,
    min_gain_margin: float | None,
) -> dict[str, Any]:
    """Keyword arguments of `tuning.recommend` for the goal and its constraints.

    Raises:
        InvalidInput: for an unknown goal, or a constraint out of range.
    """
    return {
        "ratio": ratio,
        "objective": objective_named(goal, ratio),
        "constraints": Constraints(
            queueing_delay=None if max_delay_ms is None else ms(max_delay_ms),
            drop_share=max_drop_share,
            utilisation=min_utilisation,
            gain_margin=min_gain_margin,
        ),
    }


def single_class(tune: Sequence[str], case: str) -> str | None:
    """Name of the class to tune, for commands that tune only one; None: not given.

    Raises:
        InvalidInput: if several classes are given.
    """
    names = dict.fromkeys(tune)
    if len(names) > 1:
        raise InvalidInput("recommend", "--tune", f"one class {case}", ", ".join(names))
    return next(iter(names), None)

"""What `vegasfluid recommend` is asked for, from its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import ms
from vegasfluid.tuning import Constraints, objective_named

__all__ = ["asked_for", "only_one"]


def asked_for(
    goal: str,
    ratio: float,
    max_delay_ms: float | None,
    max_drop_share: float | None,
    min_utilisation: float | None,
    min_gain_margin: float | None,
) -> dict[str, Any]:
    """The goal and its limits, as `recommend` takes them.

    Raises:
        InvalidInput: for a goal that there is not, or a limit that makes no sense.
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


def only_one(tune: Sequence[str], when: str) -> str | None:
    """The class to tune, where several cannot be.

    Raises:
        InvalidInput: where several are given.
    """
    names = dict.fromkeys(tune)
    if len(names) > 1:
        raise InvalidInput("recommend", "--tune", f"one class {when}", ", ".join(names))
    return next(iter(names), None)

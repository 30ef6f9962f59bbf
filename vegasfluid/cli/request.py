"""The request that options of `vegasfluid recommend` describe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.quantities import ms
from vegasfluid.tuning import Constraints, objective_named

__all__ = ["request_from_options", "required_model", "single_class"]


def required_model(model: str | None) -> str:
    """The model on the command line, which only `recommend --last` does without.

    Raises:
        InvalidInput: if there is none.
    """
    if model is None:
        allowed = "given: a model file, or the name of a built-in model"
        raise InvalidInput("recommend", "MODEL", allowed, Words("missing"))
    return model


def require_bound(option: str, bound: float | None, largest: float = math.inf) -> None:
    """Raise InvalidInput unless the value of an option, in its unit, is above 0 and finite.

    Args:
        option: its name, for the error message.
        bound: its value; None: not given.
        largest: largest allowed value.
    """
    if bound is None or (0 < bound <= largest and math.isfinite(bound)):
        return
    at_most = f"at most {largest:g}" if math.isfinite(largest) else "finite"
    raise InvalidInput("recommend", option, f"above 0 and {at_most}", bound)


def request_from_options(
    goal: str,
    ratio: float,
    max_delay_ms: float | None,
    max_drop_share: float | None,
    min_utilisation: float | None,
    min_gain_margin: float | None,
) -> dict[str, Any]:
    """Keyword arguments of `recommend` for the options of goal and constraints.

    Args:
        goal: `ratio`, `jain`, `proportional`, `worst-flow`, `alpha-fair=A`, `delay`, `throughput`,
            or `ratio=CLASS/CLASS`.
        ratio: target goodput of a tuned flow over that of another flow.
        max_delay_ms: largest mean queueing delay, ms; None: no bound.
        max_drop_share: largest fraction of packets dropped; None: no bound.
        min_utilisation: smallest utilisation, 0 to 1; None: no bound.
        min_gain_margin: smallest gain margin, a factor; None: no bound.

    Returns:
        `ratio`, `objective` and `constraints` (delay in s).

    Raises:
        InvalidInput: for an unknown goal, or a constraint out of range.
    """
    require_bound("--max-delay-ms", max_delay_ms)
    require_bound("--max-drop-share", max_drop_share, 1.0)
    require_bound("--min-utilisation", min_utilisation, 1.0)
    require_bound("--min-gain-margin", min_gain_margin)
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
    """The only class in `tune`, for commands that tune one; None: none was given.

    `case` states in the error message when only one is allowed.

    Raises:
        InvalidInput: if several classes are given.
    """
    names = dict.fromkeys(tune)
    if len(names) > 1:
        raise InvalidInput("recommend", "--tune", f"one class {case}", ", ".join(names))
    return next(iter(names), None)

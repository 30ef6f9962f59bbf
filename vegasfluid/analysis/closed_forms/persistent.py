"""Persistent congestion: Vegas flows that join one by one, each with a wrong base RTT.

The n-th flow never sees an empty queue: its base RTT includes the queue that the n - 1 flows before
it keep. It reacts only to the queue above that, so in equilibrium x (q_n - q_{n-1}) / C = alpha.
With q = alpha u, and the rates of all n flows filling the link,

    sum over i = 1..n of 1 / (u_n - u_{i-1}) = 1        u_0 = 0

so queues grow faster than the n alpha of correct base RTTs, and the last flow has the highest rate.

Sources:
    R. J. La, J. Walrand and V. Anantharam, "Issues in TCP Vegas", UC Berkeley, 1998, section 4 (the
    effect: a queue of almost 60 packets for ten flows). The recursion: derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.windows_vegas import vegas_lossless_window
from vegasfluid.errors import InvalidInput

__all__ = [
    "EXACT_TERMS",
    "PERSISTENT",
    "exact_term",
    "last_over_first",
    "persistent_queue",
    "queue_per_alpha",
    "rate_with_false_base",
]

PERSISTENT = quantities(
    ("false_queue", "q_0", "packets", "queue that a flow's base RTT includes"),
    ("queue_per_alpha", "u", "", "queue over alpha"),
)
"""Quantities of the formulas for persistent congestion."""

R, T = symbol("rtt"), symbol("base_rtt")
"""Symbols of round-trip time and base RTT, s."""
C, Q, ALPHA = (symbol(name) for name in ("capacity", "queue", "alpha"))
"""Symbols of capacity (packets/s), queue and alpha (packets)."""
FALSE, U = (quantity.symbol for quantity in PERSISTENT.values())
"""Symbols of the queue in a false base RTT (packets), and of the queue over alpha."""
EXACT_TERMS = 3
"""Largest number of flows for which `exact_term` gives the queue over alpha. The values are 1, a
root of degree 2 and one of degree 6."""


@cache
def rate_with_false_base() -> Formula:
    """The rate of a Vegas flow whose base RTT includes a queue, packets/s.

    The formula takes `capacity` (packets/s), `queue`, `alpha` and `false_queue`, the queue in its
    base RTT (all packets).

    >>> rate_with_false_base().text()
    'x = C*alpha/(q - q_0)'
    """
    window = vegas_lossless_window().expression
    rate = (window / R).subs({R: T + Q / C, T: T + FALSE / C}, simultaneous=True)
    return Formula(
        "rate_with_false_base",
        "rate of Vegas whose base RTT includes a queue",
        "rate",
        sp.factor(rate),
        "no losses, one queue",
        "Low, Peterson and Wang 2001 (abstract read); derived here from the drift",
        tuple(PERSISTENT.items()),
    )


def excess(queues: Sequence[Expression]) -> Expression:
    """Load of the link (rate over capacity) minus 1 in symbols, a function of u = queue / alpha.

    Args:
        queues: for each flow the queue over alpha when it joined, which its base RTT includes.
    """
    rate = rate_with_false_base().expression.subs(Q, ALPHA * U)
    rates = [sp.cancel(rate.subs(FALSE, ALPHA * queue)) for queue in queues]
    return sp.cancel(sp.Add(*rates) / C - 1)


@cache
def exact_term(number: int) -> Expression:
    """The queue over alpha, an algebraic number, after `number` Vegas flows have joined one by one.

    Args:
        number: number of flows, from 1 to `EXACT_TERMS`.

    Raises:
        InvalidInput: for another number.

    >>> exact_term(2)
    sqrt(5)/2 + 3/2
    """
    if number not in range(1, EXACT_TERMS + 1):
        raise InvalidInput("exact_term", "number", f"from 1 to {EXACT_TERMS}", number)
    if number < EXACT_TERMS:
        queues = [sp.Integer(0), *(exact_term(before) for before in range(1, number))]
        return max(sp.solve(sp.numer(sp.together(excess(queues))), U))
    second = sp.Dummy(positive=True)
    left = sp.numer(sp.together(excess([sp.Integer(0), sp.Integer(1), second])))
    tied = sp.resultant(left, sp.minimal_polynomial(exact_term(2), second), second)
    return max(sp.real_roots(sp.Poly(tied, U)))


@cache
def queues_of(number: int) -> tuple[float, ...]:
    """The queue over alpha after 0, 1, ... `number` Vegas flows have joined; (number + 1,)."""
    queues = [0.0]
    for flows in range(1, number + 1):
        before = np.array(queues)

        def overload(queue: float, before: np.ndarray = before) -> float:
            return float(np.sum(1 / (queue - before))) - 1

        low, high = queues[-1] + 1, queues[-1] + flows
        queue: Any = low if flows == 1 else brentq(overload, low, high, xtol=1e-14)
        queues.append(float(queue))
    return tuple(queues)


def queue_per_alpha(number: int) -> float:
    """The queue over alpha, a pure number, after `number` Vegas flows have joined one by one.

    Each flow's base RTT includes the queue of those before it; nothing is lost.

    Args:
        number: number of flows, 1 or more.

    Raises:
        InvalidInput: for anything but a whole number from 1.

    >>> round(queue_per_alpha(10), 3)
    23.637
    """
    return queues_of(require_count(number))[-1]


def last_over_first(number: int) -> float:
    """The rate of the last Vegas flow over that of the first, if `number` flows join one by one.

    Each flow's base RTT includes the queue of those before it; nothing is lost.

    Args:
        number: number of flows, 1 or more; 1 gives 1.

    Raises:
        InvalidInput: for anything but a whole number from 1.

    >>> round(last_over_first(10), 2)
    7.64
    """
    *_, before, now = queues_of(require_count(number))
    return now / (now - before)


def require_count(number: int) -> int:
    """Raise InvalidInput unless the number of flows is a whole number, at least 1; return it."""
    if not (isinstance(number, int) and number >= 1):
        raise InvalidInput("persistent congestion", "number", "a whole number, at least 1", number)
    return number


@cache
def persistent_queue() -> Formula:
    """The queue of Vegas flows that joined one by one, packets: alpha times u.

    The formula takes `alpha` (packets), the same for all flows, and `queue_per_alpha` u, the value
    of the function `queue_per_alpha` for the number of flows.

    >>> persistent_queue()(alpha=2.0, queue_per_alpha=queue_per_alpha(2))
    5.23606797749979
    """
    rate = rate_with_false_base().expression
    (queue,) = sp.solve(rate.subs(FALSE, 0) - C / U, Q)
    return Formula(
        "persistent_queue",
        "queue of Vegas flows that join one by one",
        "queue",
        queue,
        "no losses, each flow in equilibrium before the next joins; u solves the recursion",
        "derived here from the drift",
        tuple(PERSISTENT.items()),
    )

"""The equilibrium queue of N flows with windows c / sqrt(p) over RED.

Windows fill the link, N W / R = C, so N W = y = C T + q packets are in flight; RED drops
p = L (q - q_min); the windows require p = c^2 / W^2. So

    L (q - q_min) (C T + q)^2 = c^2 N^2

whose left side rises from 0 at q_min, so there is one root, above q_min. RED spaces drops, so L is
k times the slope of its curve: k = 2/3 with `wait`, 2 without (independent drops: 1). With `wait`
the exact fraction 2 p_b / (3 - p_b) leads to a cubic, too.

Lost packets do not use the link; the equation neglects this, for 1 - p near 1.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000, equations 4 and 9 (the balance; read).
    Roots and expansions: derived for this project.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import branch_at
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.roots import only_real_root, root_for_small
from vegasfluid.analysis.closed_forms.windows_loss_based import reno_loss_constant, reno_window
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.red import Red

__all__ = [
    "RARE",
    "RED",
    "FilledLink",
    "filled_link",
    "red_balance",
    "red_queue",
    "red_queue_expanded",
    "red_queue_linux",
    "red_queue_per_min_thresh",
    "red_queue_spaced",
    "red_slope",
]

RED = quantities(("queue_per_min_thresh", "g", "", "change of the queue per change of q_min"))
"""Quantities of the formulas for RED."""

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time and base RTT (s), and drop probability."""
C, Q, N = (symbol(name) for name in ("capacity", "queue", "count"))
"""Symbols of capacity (packets/s), queue (packets) and number of flows."""
LOW, HIGH, TOP, L = (symbol(name) for name in ("min_thresh", "max_thresh", "max_drop", "slope"))
"""Symbols of RED's thresholds (packets), largest drop probability, and slope (1/packets)."""
c, PHI = symbol("loss_constant"), symbol("loss_factor")
"""Symbols of the constant of windows c / sqrt(p), and of the factor on the loss rate."""
RARE = "a queue between the thresholds, windows of c / sqrt(p), 1 - p near 1"
"""Conditions of all formulas for the queue, in words."""
SOURCE = "Misra, Gong and Towsley 2000, equations 4 and 9; derived here"
"""Source of the formulas, in words."""


class FilledLink(NamedTuple):
    """Window and loss probability of flows that fill a link, as functions of the queue.

    Args:
        window: window of a flow, packets.
        prob: the loss probability at which flows have this window.
    """

    window: Expression
    prob: Expression


@cache
def filled_link(count: Expression) -> FilledLink:
    """The window (packets) of flows that fill a link, and the loss probability that causes it.

    Both are functions of the queue q, in symbols; windows are c / sqrt(p).

    Args:
        count: number of flows.

    >>> filled_link(N)
    FilledLink(window=(C*T + q)/N, prob=N**2*c**2/(C*T + q)**2)
    """
    (phi,) = sp.solve(reno_loss_constant().expression - c, PHI)
    (window,) = sp.solve(count * W / (T + Q / C) - C, W)
    (prob,) = sp.solve(reno_window().expression.subs(PHI, phi) - W, p)
    return FilledLink(sp.factor(window), prob.subs(W, sp.factor(window)))


def drop_prob(**options: Any) -> Expression:
    """RED's drop probability in symbols, as a function of a constant queue between its thresholds.

    Args:
        options: parameters of `Red` that state how it spaces drops: `wait` or `implementation`.
    """
    law = Red(LOW, HIGH, max_drop=TOP, **options)  # type: ignore[arg-type]
    fraction = law.drop_prob(QueueState(Q, Average(Q), C, C, 10 * HIGH))
    return branch_at(fraction, {Q: 30, LOW: 20, HIGH: 80, TOP: 0.1}).expression


def solve_queue(balance: Expression) -> Expression:
    """The queue (packets), in symbols, at which an equation is zero: the only root of a cubic.

    Args:
        balance: drop probability of RED minus that of flows that fill the link.
    """
    in_flight, least, slope = (sp.Dummy(positive=True) for _ in range(3))
    substitutions = {Q: in_flight - C * T, LOW: least - C * T, TOP: slope * (HIGH - least + C * T)}
    cubic = sp.numer(sp.together(balance.subs(substitutions, simultaneous=True)))
    root = only_real_root(cubic, in_flight) - C * T
    return root.subs(slope, TOP / (HIGH - LOW)).subs(least, C * T + LOW)


@cache
def red_balance() -> Expression:
    """L (q - q_min) (C T + q)^2 - N^2 c^2: zero at the equilibrium queue q of N flows over RED.

    L is the slope of the drop probability (1/packets); windows are c / sqrt(p).

    >>> red_balance()
    L*(q - q_min)*(C*T + q)**2 - N**2*c**2
    """
    balance = sp.together(L * (Q - LOW) - filled_link(N).prob)
    return sp.numer(balance)


@cache
def red_slope(wait: bool = True) -> Formula:
    """Slope of RED's drop probability over the queue at its lower threshold, 1/packets.

    The formula takes `min_thresh`, `max_thresh` (packets) and `max_drop`.

    Args:
        wait: whether RED spaces drops as ns-2 does with `wait`. For Linux's RED pass False.

    >>> red_slope().text(), red_slope(wait=False).text()
    ('L = 2*p_max/(3*(q_max - q_min))', 'L = 2*p_max/(q_max - q_min)')
    """
    slope = sp.diff(drop_prob(wait=wait), Q).subs(Q, LOW)
    return Formula(
        "red_slope" if wait else "red_slope_no_wait",
        f"slope of RED's drop probability over the queue, {'with' if wait else 'without'} wait",
        "slope",
        sp.factor(slope),
        "at the lower threshold" if wait else "while p is below 1",
        "derived here from RED's drop probability",
    )


@cache
def red_queue() -> Formula:
    """The equilibrium queue of N flows over RED, packets, for p = slope (queue - min_thresh).

    The formula takes `base_rtt` (s), `capacity` (packets/s), the number of flows (`count`), c of
    their windows c / sqrt(p) (`loss_constant`), RED's `min_thresh` (packets) and `slope`
    (1/packets).

    >>> hollot = {"capacity": 3750.0, "base_rtt": 0.2, "count": 60, "loss_constant": 2**0.5}
    >>> f"{red_queue()(**hollot, min_thresh=150.0, slope=0.1 / 550):.1f}"
    '194.4'
    """
    return Formula(
        "red_queue",
        "queue of N flows over RED",
        "queue",
        solve_queue(red_balance()),
        RARE,
        SOURCE,
    )


def exact_red_queue(name: str, description: str, **options: Any) -> Formula:
    """Formula for the equilibrium queue of N flows over RED (packets), from its exact drop curve.

    Args:
        name: of the formula.
        description: in one line.
        options: parameters of `Red` that state how it spaces drops: `wait` or `implementation`.
    """
    queue = solve_queue(drop_prob(**options) - filled_link(N).prob)
    return Formula(name, description, "queue", queue, RARE, SOURCE)


@cache
def red_queue_spaced() -> Formula:
    """The equilibrium queue of N flows over RED with `wait` (packets), from its exact drop curve.

    The formula takes `base_rtt` (s), `capacity` (packets/s), the number of flows (`count`), c of
    their windows c / sqrt(p) (`loss_constant`), RED's `min_thresh`, `max_thresh` (packets) and
    `max_drop`.

    >>> hollot = {"capacity": 3750.0, "base_rtt": 0.2, "count": 60, "loss_constant": 2**0.5}
    >>> f"{red_queue_spaced()(**hollot, min_thresh=150.0, max_thresh=700.0, max_drop=0.1):.1f}"
    '213.7'
    """
    return exact_red_queue("red_queue_spaced", "queue of N flows over RED with wait", wait=True)


@cache
def red_queue_linux() -> Formula:
    """The equilibrium queue of N flows over Linux's RED (packets), from its exact drop curve.

    The formula takes `base_rtt` (s), `capacity` (packets/s), the number of flows (`count`), c of
    their windows c / sqrt(p) (`loss_constant`), RED's `min_thresh`, `max_thresh` (packets) and
    `max_drop`.

    >>> hollot = {"capacity": 3750.0, "base_rtt": 0.2, "count": 60, "loss_constant": 2**0.5}
    >>> f"{red_queue_linux()(**hollot, min_thresh=150.0, max_thresh=700.0, max_drop=0.1):.1f}"
    '173.3'
    """
    return exact_red_queue(
        "red_queue_linux", "queue of N flows over Linux's RED", implementation="linux"
    )


@cache
def red_queue_expanded(order: int = 1) -> Formula:
    """The equilibrium queue of N flows over RED as a power series for small losses, packets.

    The formula takes `base_rtt` (s), `capacity` (packets/s), the number of flows (`count`), c of
    their windows c / sqrt(p) (`loss_constant`), RED's `min_thresh` (packets) and `slope`
    (1/packets).

    Args:
        order: power of c^2 N^2 / L in the last term; 0: only `min_thresh`.

    >>> red_queue_expanded().text()
    'q = q_min + N**2*c**2/(L*(C*T + q_min)**2)'
    """
    small = sp.Dummy(positive=True)
    balance = red_balance().subs(c, c * sp.sqrt(small))
    queue = root_for_small(balance, Q, small, LOW, order).subs(small, 1)
    return Formula(
        f"red_queue_expanded_{order}",
        f"queue of N flows over RED, to order {order} in c^2 N^2 / L",
        "queue",
        queue,
        f"{RARE}; (q - q_min) / (C T + q_min) well below 1",
        SOURCE,
    )


@cache
def red_queue_per_min_thresh() -> Formula:
    """Change of the equilibrium queue per change of RED's lower threshold, packets per packet.

    The formula takes `base_rtt` (s), `capacity` (packets/s), `queue` and `min_thresh` (packets), at
    a constant slope of the drop probability.

    >>> red_queue_per_min_thresh().text()
    'g = (C*T + q)/(C*T + 3*q - 2*q_min)'
    """
    balance = red_balance()
    return Formula(
        "red_queue_per_min_thresh",
        "change of the queue per change of RED's lower threshold",
        "queue_per_min_thresh",
        sp.factor(-sp.diff(balance, LOW) / sp.diff(balance, Q)),
        f"{RARE}, constant L",
        "derived here",
        tuple(RED.items()),
    )

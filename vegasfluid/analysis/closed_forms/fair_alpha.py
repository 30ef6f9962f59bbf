"""The alpha for equal rates of Vegas and flows with windows c / sqrt(p), over RED.

Windows fill the link, sum N W / R = C; RED drops p = L (q - q_min); the windows of the others
require p = c^2 / W^2 (`red_equilibrium` has the queue). The equilibrium backlog of Vegas is alpha,
so each of N equal flows has alpha = q / N in the queue. A Vegas flow with r times the rate of a
competitor counts as r flows: alpha = r q / (N_r + r N_v). If Vegas loses packets, too, alpha has to
be larger, and r is bounded: phi b c^2 r^2 must be below 1.

Without the argument `law`, b and phi are symbols and alpha is the equilibrium backlog. With it,
alpha is the parameter of its dialect.

Sources:
    E. Weigle and W. Feng, LA-UR-01-3420, 2001, section 4.3 (q_min / N, a rule of thumb). The rest
    is derived for this project, from the drifts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Formula, symbol
from vegasfluid.analysis.closed_forms.red_equilibrium import (
    RARE,
    filled_link,
    red_queue,
    red_queue_expanded,
)
from vegasfluid.analysis.closed_forms.windows_vegas import (
    ANY,
    name_with_dialect,
    offset_of,
    vegas_alpha,
    vegas_lossless_window,
    vegas_saturated_window,
)
from vegasfluid.congestion.vegas import Vegas

__all__ = [
    "fair_alpha_expanded",
    "fair_alpha_heuristic",
    "fair_alpha_lossless",
    "fair_alpha_of_loss",
    "fair_alpha_of_rate",
    "fair_alpha_with_losses",
    "largest_ratio",
    "over_red",
]

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time and base RTT (s), and drop probability."""
C, Q, N = (symbol(name) for name in ("capacity", "queue", "count"))
"""Symbols of capacity (packets/s), queue (packets) and number of flows."""
c, r, ALPHA = (symbol(name) for name in ("loss_constant", "ratio", "alpha"))
"""Symbols of the constant of windows c / sqrt(p), the ratio of rates, and alpha (packets)."""
EFFECTIVE = symbol("competitors") + r * symbol("tuned")
"""Number of flows if a Vegas flow counts as `ratio` flows: N_r + r N_v."""
DERIVED = "derived here from the drifts"
"""Source of the formulas, in words."""
SCOPE = "one round-trip time, a constant queue"
"""Conditions of all formulas for a ratio of rates, in words."""


@cache
def fair_alpha_lossless(law: Vegas = ANY) -> Formula:
    """The alpha for `ratio` times the rate of a competitor, if Vegas loses nothing, packets.

    The formula takes the `queue` (packets), the numbers of `competitors` and `tuned` flows, and the
    `ratio`; for Linux also `base_rtt` (s) and `capacity` (packets/s).

    Args:
        law: any Vegas of the dialect whose parameter is alpha; its own parameters are ignored. If
            omitted, alpha is the equilibrium backlog.

    >>> fair_alpha_lossless().text()
    'alpha = q*r/(N_r + N_v*r)'
    """
    window = vegas_lossless_window(law).expression
    wanted = r * filled_link(EFFECTIVE).window
    (alpha,) = sp.solve(window.subs(R, T + Q / C) - wanted, ALPHA)
    return Formula(
        name_with_dialect("fair_alpha_lossless", law),
        "alpha of Vegas for r times the rate of a competitor, if Vegas loses nothing",
        "alpha",
        sp.factor(alpha + offset_of(law)) - offset_of(law),
        f"{SCOPE}; r = 1 is fair",
        DERIVED,
    )


@cache
def fair_alpha_with_losses(law: Vegas = ANY, loss_process: str = "meanfield") -> Formula:
    """The alpha (packets) for `ratio` times the rate of a competitor with equal loss probability.

    The formula takes the `queue` (packets), the numbers of `competitors` and `tuned` flows, the
    `ratio`, and c of the competitors' windows c / sqrt(p) (`loss_constant`). If `law` is omitted,
    it also takes the fraction b of the window that a loss takes (`cut`) and the correction phi
    (`loss_factor`). For Linux it also takes `base_rtt` (s) and `capacity` (packets/s). The value is
    NaN for a ratio above `largest_ratio`, and infinite at it.

    Args:
        law: any Vegas of the dialect whose parameter is alpha; its own parameters are ignored. If
            omitted, alpha is the equilibrium backlog.
        loss_process: a name in `LOSS_PROCESSES`; ignored if `law` is omitted.

    Raises:
        InvalidInput: for a dialect that keeps its slow-start threshold at a loss (ns-3).

    >>> fair_alpha_with_losses().text()
    'alpha = -q*r*(b*log(-b*c**2*phi*r**2 + 1) - 2)/(2*(N_r + N_v*r))'
    """
    filled, offset = filled_link(EFFECTIVE), offset_of(law)
    alpha = vegas_alpha(law, loss_process).expression.subs(W, r * W).subs(p, filled.prob)
    alpha = alpha.subs(W, filled.window).subs(R, T + Q / C)
    return Formula(
        name_with_dialect("fair_alpha_with_losses", law),
        "alpha of Vegas for r times the rate of a competitor that loses as many packets",
        "alpha",
        sp.factor(sp.simplify(alpha + offset)) - offset,
        f"{SCOPE}, r below its upper bound, b d / 2 above the law's softness",
        DERIVED,
    )


@cache
def largest_ratio() -> Formula:
    """Upper bound of the rate of a Vegas flow divided by that of a competitor; no alpha reaches it.

    Both flows have the same loss probability and RTT. The formula takes the fraction b that a loss
    takes from Vegas's window (`cut`), the factor phi on Vegas's loss rate (`loss_factor`), and c of
    the competitor's window c / sqrt(p) (`loss_constant`).

    >>> largest_ratio().text()
    'r = 1/(sqrt(b)*c*sqrt(phi))'
    """
    prob = filled_link(EFFECTIVE).prob.subs(Q, C * (R - T))
    saturated = vegas_saturated_window().expression.subs(p, prob)
    ratio = sp.simplify(saturated / filled_link(EFFECTIVE).window.subs(Q, C * (R - T)))
    return Formula(
        "largest_ratio",
        "upper bound of the rate of Vegas over that of a competitor that loses as many packets",
        "ratio",
        ratio,
        "one round-trip time; phi is Vegas's",
        DERIVED,
    )


@cache
def fair_alpha_of_rate() -> Formula:
    """The alpha with which a Vegas flow without losses has a given rate, packets.

    The formula takes the `rate` and `capacity` (packets/s) and the `queue` (packets); it does not
    depend on the round-trip time.

    >>> fair_alpha_of_rate().text()
    'alpha = q*x/C'
    """
    window = vegas_lossless_window().expression.subs(R, T + Q / C)
    (alpha,) = sp.solve(window - symbol("rate") * (T + Q / C), ALPHA)
    return Formula(
        "fair_alpha_of_rate",
        "alpha of Vegas for a rate",
        "alpha",
        sp.factor(alpha),
        "Vegas loses nothing, one queue",
        DERIVED,
    )


@cache
def fair_alpha_of_loss() -> Formula:
    """The alpha with which Vegas has the rate of a competitor of the same round-trip time, packets.

    The formula takes `rtt` R (s), `drop_prob`, `capacity` (packets/s), `queue` (packets), and c of
    the competitor's window c / sqrt(p) (`loss_constant`); Vegas loses nothing. Reno's rate is
    proportional to 1/R and the rate of Vegas is not, so no single alpha is fair to all.

    >>> fair_alpha_of_loss().text()
    'alpha = c*q/(C*R*sqrt(p))'
    """
    rate = (c / sp.sqrt(p)) / R
    return Formula(
        "fair_alpha_of_loss",
        "alpha of Vegas for the rate of a competitor with the same round-trip time",
        "alpha",
        fair_alpha_of_rate().expression.subs(symbol("rate"), rate),
        "Vegas loses nothing, one queue, windows of c / sqrt(p)",
        DERIVED,
    )


@cache
def fair_alpha_expanded(order: int = 1) -> Formula:
    """The alpha for equal rates of N flows over RED, expanded for small losses, packets.

    The formula takes `base_rtt` (s), `capacity` (packets/s), the number of flows (`count`), c of
    the competitors' windows c / sqrt(p) (`loss_constant`), RED's `min_thresh` (packets) and `slope`
    (1/packets).

    Args:
        order: power of c^2 N^2 / L in the last term; 0: only `min_thresh` / `count`.

    >>> fair_alpha_expanded().text()
    'alpha = q_min/N + N*c**2/(L*(C*T + q_min)**2)'
    """
    equal = fair_alpha_lossless().expression.subs(r, 1).subs(EFFECTIVE.subs(r, 1), N)
    terms = red_queue_expanded(order).expression.as_ordered_terms()
    return Formula(
        f"fair_alpha_expanded_{order}",
        f"fair alpha of N flows, to order {order} in c^2 N^2 / L",
        "alpha",
        sp.Add(*(equal.subs(Q, term) for term in terms)),
        f"{RARE}; (q - q_min) / (C T + q_min) well below 1",
        DERIVED,
    )


@cache
def fair_alpha_heuristic() -> Formula:
    """RED's lower threshold over the number of flows, a rule of thumb for the fair alpha; packets.

    The fair alpha gives N flows equal rates; this is the first term of its expansion for small
    losses (`fair_alpha_expanded`). The formula takes `min_thresh` (packets) and the number of flows
    (`count`).

    >>> fair_alpha_heuristic().text()
    'alpha = q_min/N'
    """
    return replace(
        fair_alpha_expanded(0),
        name="fair_alpha_heuristic",
        description="RED's lower threshold over the number of flows",
        source="Weigle and Feng, LA-UR-01-3420, section 4.3; derived here as the leading term",
    )


def over_red(formula: Formula) -> Formula:
    """A formula with RED's equilibrium queue substituted for the queue.

    Instead of `queue`, the new formula takes `base_rtt` (s), `capacity` (packets/s),
    `loss_constant` (c of windows c / sqrt(p)), RED's `min_thresh` (packets) and the `slope` of its
    drop probability (1/packets). If it takes no `count`, the number of flows is `competitors` plus
    `ratio` times `tuned`.

    Args:
        formula: a formula that takes `queue`.

    >>> formula = over_red(fair_alpha_lossless())
    >>> network = {"capacity": 155e6 / 12000, "base_rtt": 0.007, "min_thresh": 6711.0}
    >>> flows = {"competitors": 25, "tuned": 25, "ratio": 1.0, "loss_constant": 2**0.5}
    >>> f"{formula(**network, **flows, slope=1 / (26843 - 6711)):.3f}"
    '134.263'
    """
    count = N if formula.expression.has(N) else EFFECTIVE
    queue = red_queue().expression.subs(N, count)
    return replace(
        formula,
        name=f"{formula.name}_over_red",
        description=f"{formula.description}, over RED",
        expression=formula.expression.subs(Q, queue),
        validity=f"{RARE}; {formula.validity}",
    )

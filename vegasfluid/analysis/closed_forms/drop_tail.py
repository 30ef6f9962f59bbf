"""A full buffer in place of RED: one Reno flow beside one Vegas flow, and one Reno flow alone.

Reno fills the buffer and halves; Vegas loses nothing and holds its backlog d at every queue on the
way (its rest is taken as fast beside Reno's climb). So of C T + q packets in flight Vegas has
d (C T + q) / q and Reno the others, and as Reno's window grows by 1/R, the queue's pace follows.
Vegas's share of the link is the mean of d / q over the time of the climb.

Left out: slow start, timeouts, several losses at once, and a Vegas that is late.

Sources:
    Derived for this project. A third of a small buffer is what E. Weigle and W. Feng,
    LA-UR-01-3420, 2001, section 4.1, have by another argument. Reno alone: T. Lakshman and
    U. Madhow, IEEE/ACM ToN 5(3), 1997 (not checked against the original).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy as sp
from scipy.optimize import brentq

from vegasfluid.analysis.closed_forms.branches import at_rest, drift_at_rest
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.windows_vegas import vegas_lossless_window
from vegasfluid.congestion.base import Window
from vegasfluid.congestion.reno import Reno
from vegasfluid.errors import InvalidInput

__all__ = [
    "DROP_TAIL",
    "fair_backlog",
    "fair_backlog_of_large_buffer",
    "fair_backlog_of_small_buffer",
    "queue_after_halving",
    "reno_utilisation",
    "vegas_share",
    "vegas_share_of_large_buffer",
    "vegas_share_of_small_buffer",
]

DROP_TAIL = quantities(
    ("vegas_share", "s_v", "", "share of the link that Vegas has"),
    ("lowest", "q_low", "packets", "queue after Reno has halved its window"),
    ("filling", "beta_B", "", "buffer over the packets that the path holds, B / (C T)"),
    ("utilisation", "U", "", "share of the capacity that is used"),
)
"""What only a drop-tail buffer has."""

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
C, Q, B, D = (symbol(name) for name in ("capacity", "queue", "buffer", "backlog"))
LOWEST, FILLING = DROP_TAIL["lowest"].symbol, DROP_TAIL["filling"].symbol
EXTRA = tuple(DROP_TAIL.items())
HOLDS = "one Reno and one Vegas flow, d below B, only Reno loses, Vegas at rest throughout"
DERIVED = "derived here from the drifts"


def climb() -> Expression:
    """How fast Reno's window grows, packets/s: its drift without losses."""
    state, there = Window(W, sp.Integer(0)), {W: 10, R: 1, p: 0}
    return drift_at_rest(Reno(), state, at_rest(), there)["cwnd"].expression.subs(p, 0)


def reno_beside_vegas() -> Expression:
    """Reno's window, of the queue: what Vegas has not."""
    vegas = vegas_lossless_window().expression.subs({symbol("alpha"): D, R: T + Q / C})
    return sp.factor(C * T + Q - vegas)


def lowest_of(reno: Expression) -> Expression:
    """The queue at which Reno's window is what a loss at a full buffer leaves of it."""
    halved = Reno().after_loss(Window(reno.subs(Q, B), sp.Integer(0)), at_rest()).cwnd
    roots = sp.solve(sp.numer(sp.together(reno - halved)), Q)
    there = {C: 1000, T: sp.Rational(1, 10), B: 100, D: 40}
    (queue,) = (root for root in roots if root.subs(there) > 0)
    return queue


@cache
def queue_after_halving() -> Formula:
    """The queue right after Reno has halved its window at a full buffer.

    >>> f"{queue_after_halving()(capacity=1000.0, base_rtt=0.1, buffer=100.0, backlog=40.0):.1f}"
    '63.2'
    """
    return Formula(
        "queue_after_halving",
        "queue after Reno has halved its window beside Vegas",
        "lowest",
        lowest_of(reno_beside_vegas()),
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share() -> Formula:
    """Vegas's share of the link, of its backlog and of the queue after Reno's halving.

    >>> low = {"lowest": queue_after_halving()(capacity=1e3, base_rtt=0.1, buffer=1e2, backlog=4e1)}
    >>> f"{vegas_share()(capacity=1e3, base_rtt=0.1, buffer=1e2, backlog=4e1, **low):.4f}"
    '0.5015'
    """
    pace = sp.expand(sp.diff(reno_beside_vegas(), Q) / climb().subs(R, T + Q / C))
    time: Expression = sp.factor(sp.integrate(pace, (Q, LOWEST, B)))
    taken: Expression = sp.factor(sp.integrate(sp.expand(pace * D / Q), (Q, LOWEST, B)))
    return Formula(
        "vegas_share",
        "share of the link that Vegas has beside Reno",
        "vegas_share",
        taken / time,
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share_of_large_buffer() -> Formula:
    """Vegas's share where the buffer holds much more than the path.

    >>> vegas_share_of_large_buffer().text()
    's_v = 4*d/(3*B + d)'
    """
    lowest = lowest_of(reno_beside_vegas().subs(T, 0))
    share = vegas_share().expression.subs(T, 0)
    return Formula(
        "vegas_share_of_large_buffer",
        "share of the link that Vegas has beside Reno, B far above C T",
        "vegas_share",
        sp.factor(share.subs(LOWEST, lowest)),
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share_of_small_buffer() -> Formula:
    """Vegas's share where the path holds much more than the buffer.

    >>> vegas_share_of_small_buffer().text()
    's_v = (B + 3*d)/(4*B)'
    """
    lowest = lowest_of(sp.limit(reno_beside_vegas() / T, T, sp.oo))
    share = sp.limit(vegas_share().expression, T, sp.oo)
    return Formula(
        "vegas_share_of_small_buffer",
        "share of the link that Vegas has beside Reno, B far below C T",
        "vegas_share",
        sp.factor(share.subs(LOWEST, lowest)),
        HOLDS,
        DERIVED,
        EXTRA,
    )


def halving_the_link(share: Formula, name: str, where: str) -> Formula:
    """The backlog with which Vegas has half of the link."""
    (fair,) = sp.solve(share.expression - sp.Rational(1, 2), D)
    says = f"backlog at which Vegas and Reno have half of the link each, {where}"
    return Formula(name, says, "backlog", fair, HOLDS, DERIVED)


@cache
def fair_backlog_of_large_buffer() -> Formula:
    """The fair backlog where the buffer holds much more than the path.

    >>> fair_backlog_of_large_buffer().text()
    'd = 3*B/7'
    """
    share = vegas_share_of_large_buffer()
    return halving_the_link(share, "fair_backlog_of_large_buffer", "B far above C T")


@cache
def fair_backlog_of_small_buffer() -> Formula:
    """The fair backlog where the path holds much more than the buffer: the rule of a third.

    >>> fair_backlog_of_small_buffer().text()
    'd = B/3'
    """
    share = vegas_share_of_small_buffer()
    return halving_the_link(share, "fair_backlog_of_small_buffer", "B far below C T")


def fair_backlog(buffer: float, capacity: float, base_rtt: float) -> float:
    """The backlog with which one Vegas flow has half of a link beside one Reno flow, packets.

    Args:
        buffer: packets.
        capacity: packets/s.
        base_rtt: s.

    Raises:
        InvalidInput: for a number that is not above 0.

    >>> round(fair_backlog(100.0, 1000.0, 0.1), 1)
    39.8
    """
    for name, value in (("buffer", buffer), ("capacity", capacity), ("base_rtt", base_rtt)):
        if not value > 0:
            raise InvalidInput("fair_backlog", name, "above 0", value)
    path = {"buffer": buffer, "capacity": capacity, "base_rtt": base_rtt}

    def excess(backlog: float) -> float:
        lowest = queue_after_halving()(**path, backlog=backlog)
        return float(vegas_share()(**path, backlog=backlog, lowest=lowest)) - 1 / 2

    found: Any = brentq(excess, buffer / 100, buffer * 99 / 100, xtol=1e-12 * buffer)
    return float(found)


@cache
def reno_utilisation() -> Formula:
    """The share of the capacity that one Reno flow uses, alone at a buffer.

    Its window climbs from half of C T + B; until it has C T, the queue is empty and R = T; then
    the link is busy, and R = W / C.

    >>> reno_utilisation().text(), reno_utilisation()(filling=1.0)
    ('U = 3*(beta_B + 1)**2/(4*(beta_B**2 + beta_B + 1))', 1.0)
    """
    highest, path = C * T * (1 + FILLING), C * T
    lowest = Reno().after_loss(Window(highest, sp.Integer(0)), at_rest()).cwnd
    each = 1 / climb()  # seconds a packet of window
    idle = sp.integrate(each.subs(R, T), (W, lowest, path))
    busy = sp.integrate(each.subs(R, W / C), (W, path, highest))
    sent = sp.integrate(each * W / R, (W, lowest, highest))
    return Formula(
        "reno_utilisation",
        "share of the capacity that one Reno flow uses at a drop-tail buffer",
        "utilisation",
        sp.factor(sp.simplify(sent / (C * (idle + busy)))),
        "B at most C T; above that it is 1",
        "Lakshman and Madhow 1997 (not checked against the original); derived here from the drift",
        EXTRA,
    )

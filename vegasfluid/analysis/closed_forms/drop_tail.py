"""A drop-tail buffer: one Reno flow next to one Vegas flow, and one Reno flow alone.

Reno fills the buffer and halves its window; Vegas loses nothing and has its backlog d at every
queue (it is assumed to reach equilibrium fast compared with Reno's growth). So Vegas has
d (C T + q) / q of the C T + q packets in flight, and Reno has the others. Reno's window grows by
1/R, which gives the growth of the queue. Vegas' share of the link is the mean of d / q over one
period.

Neglected: slow start, timeouts, several losses at once, and the reaction time of Vegas.

Sources:
    Derived for this project. E. Weigle and W. Feng, LA-UR-01-3420, 2001, section 4.1, have a third
    of the buffer by another argument. Reno alone: T. Lakshman and
    U. Madhow, IEEE/ACM ToN 5(3), 1997 (not checked against the original).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy as sp
from scipy.optimize import brentq

from vegasfluid.analysis.closed_forms.branches import equilibrium_drift, equilibrium_signals
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
    ("utilisation", "U", "", "utilisation of the link"),
)
"""Quantities of the formulas for drop-tail buffers."""

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time and base RTT (s), and drop probability."""
C, Q, B, D = (symbol(name) for name in ("capacity", "queue", "buffer", "backlog"))
"""Symbols of capacity (packets/s); queue, buffer and backlog of Vegas (packets)."""
LOWEST, FILLING = DROP_TAIL["lowest"].symbol, DROP_TAIL["filling"].symbol
"""Symbols of the queue after a halving (packets), and of buffer over bandwidth-delay product."""
EXTRA = tuple(DROP_TAIL.items())
"""The quantities of DROP_TAIL as pairs (name, quantity), for `Formula.extra`."""
HOLDS = "one Reno and one Vegas flow, d below B, only Reno loses, Vegas in equilibrium"
"""Conditions of all formulas for a Reno and a Vegas flow, in words."""
DERIVED = "derived here from the drifts"
"""Source of the formulas, in words."""


def reno_growth() -> Expression:
    """Growth of Reno's window without losses, in symbols: 1 / R packets/s, R the RTT in s."""
    state, witness = Window(W, sp.Integer(0)), {W: 10, R: 1, p: 0}
    return equilibrium_drift(Reno(), state, equilibrium_signals(), witness)["cwnd"].expression.subs(
        p, 0
    )


def reno_window_next_to_vegas() -> Expression:
    """Reno's window (packets) in symbols at a queue q: packets in flight minus the window of Vegas.

    C T + q packets are in flight; the window of Vegas is the one with which its backlog is d.
    """
    vegas = vegas_lossless_window().expression.subs({symbol("alpha"): D, R: T + Q / C})
    return sp.factor(C * T + Q - vegas)


def queue_left_by_loss(reno: Expression) -> Expression:
    """The queue (packets), in symbols, right after Reno has halved its window at a full buffer.

    Args:
        reno: Reno's window as a function of the queue, packets.
    """
    halved = Reno().after_loss(Window(reno.subs(Q, B), sp.Integer(0)), equilibrium_signals()).cwnd
    roots = sp.solve(sp.numer(sp.together(reno - halved)), Q)
    witness = {C: 1000, T: sp.Rational(1, 10), B: 100, D: 40}
    (queue,) = (root for root in roots if root.subs(witness) > 0)
    return queue


@cache
def queue_after_halving() -> Formula:
    """The queue right after Reno has halved its window at a full buffer, packets.

    One Reno and one Vegas flow share the link. The formula takes `capacity` (packets/s), `base_rtt`
    (s), `buffer` and the `backlog` of Vegas (packets), which is below the buffer.

    >>> f"{queue_after_halving()(capacity=1000.0, base_rtt=0.1, buffer=100.0, backlog=40.0):.1f}"
    '63.2'
    """
    return Formula(
        "queue_after_halving",
        "queue after Reno has halved its window, with a Vegas flow",
        "lowest",
        queue_left_by_loss(reno_window_next_to_vegas()),
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share() -> Formula:
    """The fraction of a drop-tail link's capacity that one Vegas flow gets beside one Reno flow.

    It is the mean over one period of Reno's sawtooth. The formula takes `capacity` (packets/s),
    `base_rtt` (s), `buffer` (packets), the `backlog` of Vegas (packets), and `lowest`, the queue
    right after Reno has halved its window (packets; `queue_after_halving`).

    >>> low = {"lowest": queue_after_halving()(capacity=1e3, base_rtt=0.1, buffer=1e2, backlog=4e1)}
    >>> f"{vegas_share()(capacity=1e3, base_rtt=0.1, buffer=1e2, backlog=4e1, **low):.4f}"
    '0.5015'
    """
    seconds = sp.expand(sp.diff(reno_window_next_to_vegas(), Q) / reno_growth().subs(R, T + Q / C))
    period: Expression = sp.factor(sp.integrate(seconds, (Q, LOWEST, B)))
    service: Expression = sp.factor(sp.integrate(sp.expand(seconds * D / Q), (Q, LOWEST, B)))
    return Formula(
        "vegas_share",
        "share of the link that Vegas has, with a Reno flow",
        "vegas_share",
        service / period,
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share_of_large_buffer() -> Formula:
    """The fraction of a link that one Vegas flow has beside one Reno flow, for a large buffer.

    That is a drop-tail buffer much larger than the bandwidth-delay product. The formula takes
    `buffer` B and the `backlog` d of Vegas, packets.

    >>> vegas_share_of_large_buffer().text()
    's_v = 4*d/(3*B + d)'
    """
    lowest = queue_left_by_loss(reno_window_next_to_vegas().subs(T, 0))
    share = vegas_share().expression.subs(T, 0)
    return Formula(
        "vegas_share_of_large_buffer",
        "share of the link that Vegas has, with a Reno flow, B far above C T",
        "vegas_share",
        sp.factor(share.subs(LOWEST, lowest)),
        HOLDS,
        DERIVED,
        EXTRA,
    )


@cache
def vegas_share_of_small_buffer() -> Formula:
    """The fraction of a link that one Vegas flow has beside one Reno flow, for a small buffer.

    That is a drop-tail buffer much smaller than the bandwidth-delay product. The formula takes
    `buffer` B and the `backlog` d of Vegas, packets.

    >>> vegas_share_of_small_buffer().text()
    's_v = (B + 3*d)/(4*B)'
    """
    lowest = queue_left_by_loss(sp.limit(reno_window_next_to_vegas() / T, T, sp.oo))
    share = sp.limit(vegas_share().expression, T, sp.oo)
    return Formula(
        "vegas_share_of_small_buffer",
        "share of the link that Vegas has, with a Reno flow, B far below C T",
        "vegas_share",
        sp.factor(share.subs(LOWEST, lowest)),
        HOLDS,
        DERIVED,
        EXTRA,
    )


def equal_share_backlog(share: Formula, name: str, where: str) -> Formula:
    """Formula for the backlog (packets) with which one Vegas flow has half of a link beside Reno.

    Args:
        share: formula for the fraction of the link that Vegas has.
        name: name of the new formula.
        where: for which buffers it holds, in words.
    """
    (fair,) = sp.solve(share.expression - sp.Rational(1, 2), D)
    description = f"backlog at which Vegas and Reno have half of the link each, {where}"
    return Formula(name, description, "backlog", fair, HOLDS, DERIVED)


@cache
def fair_backlog_of_large_buffer() -> Formula:
    """The backlog (packets) with which one Vegas and one Reno flow share a link with a large buffer
    equally.

    That is a drop-tail buffer much larger than the bandwidth-delay product. The formula takes
    `buffer` B, packets.

    >>> fair_backlog_of_large_buffer().text()
    'd = 3*B/7'
    """
    share = vegas_share_of_large_buffer()
    return equal_share_backlog(share, "fair_backlog_of_large_buffer", "B far above C T")


@cache
def fair_backlog_of_small_buffer() -> Formula:
    """The backlog (packets) with which one Vegas and one Reno flow share a link with a small buffer
    equally.

    That is a drop-tail buffer much smaller than the bandwidth-delay product. The formula takes
    `buffer` B, packets.

    >>> fair_backlog_of_small_buffer().text()
    'd = B/3'
    """
    share = vegas_share_of_small_buffer()
    return equal_share_backlog(share, "fair_backlog_of_small_buffer", "B far below C T")


def fair_backlog(buffer: float, capacity: float, base_rtt: float) -> float:
    """The backlog with which one Vegas flow has half of a link, and one Reno flow the other half.

    Args:
        buffer: drop-tail buffer, packets.
        capacity: capacity of the link, packets/s.
        base_rtt: base RTT, s.

    Returns:
        The backlog, packets.

    Raises:
        InvalidInput: for a number that is not above 0.

    >>> round(fair_backlog(100.0, 1000.0, 0.1), 1)
    39.8
    """
    for name, value in (("buffer", buffer), ("capacity", capacity), ("base_rtt", base_rtt)):
        if not value > 0:
            raise InvalidInput("fair_backlog", name, "above 0", value)
    link = {"buffer": buffer, "capacity": capacity, "base_rtt": base_rtt}

    def excess(backlog: float) -> float:
        lowest = queue_after_halving()(**link, backlog=backlog)
        return float(vegas_share()(**link, backlog=backlog, lowest=lowest)) - 1 / 2

    root: Any = brentq(excess, buffer / 100, buffer * 99 / 100, xtol=1e-12 * buffer)
    return float(root)


@cache
def reno_utilisation() -> Formula:
    """The fraction of a link's capacity that a single Reno flow uses at a drop-tail buffer.

    The formula takes `filling`, the buffer over the bandwidth-delay product, at most 1. The window
    grows from half of C T + B to C T + B. Up to C T the queue is empty and R = T; above that the
    link is busy and R = W / C.

    >>> reno_utilisation().text(), reno_utilisation()(filling=1.0)
    ('U = 3*(beta_B + 1)**2/(4*(beta_B**2 + beta_B + 1))', 1.0)
    """
    highest, filling_window = C * T * (1 + FILLING), C * T
    lowest = Reno().after_loss(Window(highest, sp.Integer(0)), equilibrium_signals()).cwnd
    seconds = 1 / reno_growth()  # per packet of window
    idle = sp.integrate(seconds.subs(R, T), (W, lowest, filling_window))
    busy = sp.integrate(seconds.subs(R, W / C), (W, filling_window, highest))
    sent = sp.integrate(seconds * W / R, (W, lowest, highest))
    return Formula(
        "reno_utilisation",
        "fraction of the capacity that one Reno flow uses at a drop-tail buffer",
        "utilisation",
        sp.factor(sp.simplify(sent / (C * (idle + busy)))),
        "B at most C T; above that it is 1",
        "Lakshman and Madhow 1997 (not checked against the original); derived here from the drift",
        EXTRA,
    )

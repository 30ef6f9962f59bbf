"""Equilibrium windows of loss-based congestion controls: Reno, Scalable TCP, HighSpeed TCP.

Each is the root of the drift, with ACKs at rate W/R and loss probability p.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000, equation 4 (Reno's window; read). M. Mathis
    et al., ACM CCR 27(3), 1997 (Reno's with periodic losses) and T. Kelly, ACM SIGCOMM CCR 33(2),
    2003 (Scalable TCP's): not checked against the originals. RFC 3649, section 5 (HighSpeed TCP's;
    compared with its table 3). All derived here from the drifts.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import (
    above_zero,
    equilibrium_drift,
    equilibrium_signals,
    exact,
)
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.congestion.base import Window, aimd_loss_factor
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable

__all__ = [
    "HIGHSPEED",
    "OUT_OF_SLOW_START",
    "SCALABLE",
    "aimd_factor",
    "highspeed_window",
    "reno_loss_constant",
    "reno_window",
    "scalable_window",
]

SCALABLE = quantities(("increase", "a", "packets", "growth of Scalable TCP's window per ACK"))
"""Quantities of the formulas for Scalable TCP."""

HIGHSPEED = quantities(
    ("low_window", "W_low", "packets", "window up to which HighSpeed TCP is standard TCP"),
    (
        "high_window",
        "W_high",
        "packets",
        "window at the upper end of its response line",
    ),
    ("low_prob", "p_low", "", "drop probability at the lower window"),
    ("high_prob", "p_high", "", "drop probability at the upper window"),
)
"""Quantities of the formulas for HighSpeed TCP."""

W, R, p = (symbol(name) for name in ("cwnd", "rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time (s) and drop probability."""
PHI = symbol("loss_factor")
"""Symbol of the factor on the loss rate, without unit."""
OUT_OF_SLOW_START = Window(W, sp.Integer(0))
"""The state of these congestion controls after slow start, in symbols."""


@cache
def reno_window() -> Formula:
    """Equilibrium window of Reno and NewReno, packets, from drop_prob p and loss_factor phi.

    phi is a factor on the loss rate: 1 in the one-point (mean-field) closure, 4/3 for periodic
    losses.

    >>> reno_window().text(), f"{reno_window()(loss_factor=1, drop_prob=0.02):.1f}"
    ('W = sqrt(2)/(sqrt(p)*sqrt(phi))', '10.0')
    """
    seen = equilibrium_signals()._replace(loss_rate=PHI * p * W / R)
    drift = equilibrium_drift(Reno(), OUT_OF_SLOW_START, seen, {W: 10, R: 1, p: 1e-2, PHI: 1})[
        "cwnd"
    ]
    (window,) = sp.solve(drift.expression, W)
    return Formula(
        "reno_window",
        "window of Reno and NewReno",
        "cwnd",
        window,
        "congestion avoidance; phi = 1 in the one-point closure, 4/3 for periodic losses",
        "Misra, Gong and Towsley 2000, equation 4; Mathis et al. 1997 for phi = 4/3 (not checked "
        "against the original); derived here from the drift",
    )


@cache
def reno_loss_constant() -> Formula:
    """The constant c in Reno's equilibrium window W = c / sqrt(p), packets, from loss_factor phi.

    phi is a factor on the loss rate: 1 in the one-point (mean-field) closure, 4/3 for periodic
    losses.

    >>> reno_loss_constant().text()
    'c = sqrt(2)/sqrt(phi)'
    """
    return Formula(
        "reno_loss_constant",
        "W sqrt(p) of Reno",
        "loss_constant",
        sp.simplify(reno_window().expression * sp.sqrt(p)),
        "as Reno's window",
        "derived here from the drift",
    )


@cache
def aimd_factor(loss_process: str) -> Formula:
    """The factor phi on the loss rate that corrects the one-point closure for the loss process.

    It is for additive increase and a loss that takes the fraction b of the window (`cut`).

    Args:
        loss_process: periodic or iid, as in `LOSS_PROCESSES`.

    >>> aimd_factor("periodic").text(), aimd_factor("iid").text()
    ('phi = 2/(2 - b)', 'phi = (4 - b)/(4 - 2*b)')
    """
    cut = symbol("cut")
    losses = "independent" if loss_process == "iid" else loss_process
    return Formula(
        f"aimd_factor_{loss_process}",
        f"correction for {losses} losses, additive increase and a cut of b",
        "loss_factor",
        above_zero(exact(aimd_loss_factor(loss_process, cut)), {cut: 0.3}),
        "additive increase" + (", error at most 0.2 %" if loss_process == "iid" else ""),
        "Mathis et al. 1997 and Ott, Kemperman and Mathis 1996 for b = 1/2 (neither checked "
        "against the original); the factor of the congestion controls",
    )


@cache
def scalable_window(loss_process: str = "meanfield") -> Formula:
    """Equilibrium window of Scalable TCP above its legacy window, packets.

    The formula takes `drop_prob` p, the growth a per ACK (`increase`, packets) and the fraction b
    of the window that a loss takes (`cut`).

    Args:
        loss_process: a name in `LOSS_PROCESSES`; periodic and iid give the same.

    >>> scalable_window().text(), scalable_window("iid").text()
    ('W = a/(b*p)', 'W = -a/(p*log(1 - b))')
    """
    step, cut = SCALABLE["increase"].symbol, symbol("cut")
    legacy: Expression = sp.Dummy()
    law = Scalable(step, cut, legacy)
    witness = {W: 100, R: 1, p: 1e-3, step: 1e-2, cut: 1 / 8, legacy: 16}
    drift = equilibrium_drift(law, OUT_OF_SLOW_START, equilibrium_signals(loss_process), witness)[
        "cwnd"
    ]
    (window,) = sp.solve(drift.expression, W)
    return Formula(
        "scalable_window" if loss_process == "meanfield" else "scalable_window_periodic",
        "window of Scalable TCP",
        "cwnd",
        window,
        "a packet or more above its legacy window; losses as in the one-point closure"
        if loss_process == "meanfield"
        else "a packet or more above its legacy window; periodic or independent losses",
        "Kelly 2003 (not checked against the original); derived here from the drift",
        tuple(SCALABLE.items()),
    )


@cache
def highspeed_window() -> Formula:
    """Equilibrium window of HighSpeed TCP for periodic losses, packets, as RFC 3649 has it.

    The formula takes `drop_prob`, and the windows (packets) and drop probabilities at both ends of
    the line: `low_window`, `high_window`, `low_prob`, `high_prob`.

    >>> defaults = {"low_window": 38, "high_window": 83000, "low_prob": 1e-3, "high_prob": 1e-7}
    >>> f"{highspeed_window()(drop_prob=1e-5, **defaults):.0f}"
    '1776'
    """
    low, high, p_low, p_high = (quantity.symbol for quantity in HIGHSPEED.values())
    cut, stretch = sp.symbols("b_high t", positive=True)
    witness = {low: 38, high: 83000, p_low: 1e-3, p_high: 1e-7, cut: 0.1, W: 1000, R: 1, p: 1e-5}
    law = HighSpeed(low, high, p_low, p_high, cut)
    drift = equilibrium_drift(law, OUT_OF_SLOW_START, equilibrium_signals("periodic"), witness)[
        "cwnd"
    ]
    (prob,) = sp.solve(drift.expression.subs(W, low * sp.exp(stretch)), p)
    (stretch_at_p,) = sp.solve(sp.expand_log(sp.log(sp.simplify(prob) / p), force=True), stretch)
    return Formula(
        "highspeed_window",
        "window of HighSpeed TCP",
        "cwnd",
        low * sp.exp(sp.factor(stretch_at_p)),
        "window between W_low and W_high, periodic losses",
        "RFC 3649, section 5 (the response function); derived here from the drift",
        tuple(HIGHSPEED.items()),
    )

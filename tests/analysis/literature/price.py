"""The price of a rate: the congestion signal at which a congestion control has that rate.

In equilibrium the drift is zero. For a given rate this determines the congestion signal: a drop
probability for loss-based controls, a queueing delay for Vegas. Network utility maximisation calls
it the price; it is the derivative of the control's utility.

Reno's price is 2 / (phi W^2) here. Elsewhere it is 2 / (2 + W^2): there the window grows for the
packets that arrive only, (1 - p) of them, so that (1 - p) / R = p W^2 / (2 R). The two agree where
losses are rare, and the second never asks for more than all packets.

Sources:
    F. Kelly, A. Maulloo and D. Tan, J. Oper. Res. Soc. 49, 1998; S. Low, "A duality model of TCP
    and queue management algorithms", IEEE/ACM ToN 11(4), 2003 (prices and utilities of laws; not
    checked against the originals). All prices are derived here from the drifts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from scipy.optimize import brentq

from tests.analysis.literature.price_of_laws import formula_of
from vegasfluid.analysis.closed_forms.formula import Formula, symbol
from vegasfluid.congestion.base import LOSS_PROCESSES, CongestionControl
from vegasfluid.errors import InvalidInput


@cache
def price_of(
    law: CongestionControl, loss_process: str = "meanfield", cwnd: float = 1000.0, rtt: float = 0.1
) -> Formula:
    """The congestion signal in equilibrium as a function of the rate: the slope of the utility.

    For loss-based controls it is `drop_prob` from `rate` and `rtt`; for Vegas `queueing_delay` from
    `rate` and `base_rtt`, if losses are rare.

    Args:
        law: the congestion control, with numbers for all parameters.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.
        cwnd: window that selects the region of a control with several, packets.
        rtt: round-trip time that does, s.

    Raises:
        InvalidInput: for a control that responds to no signal, an unknown loss process, and a
            window or a round-trip time that is not above 0.

    >>> from vegasfluid.congestion.reno import Reno
    >>> price_of(Reno()).text(), price_of(Reno(), "periodic").text()
    ('p = 2/(R**2*x**2)', 'p = 3/(2*R**2*x**2)')
    """
    if loss_process not in LOSS_PROCESSES:
        allowed = "one of " + ", ".join(LOSS_PROCESSES)
        raise InvalidInput("price_of", "loss_process", allowed, loss_process)
    require_above_zero("price_of", cwnd, rtt)
    return formula_of(law, loss_process, {symbol("cwnd"): cwnd, symbol("rtt"): rtt})


def require_above_zero(whose: str, cwnd: float, rtt: float) -> None:
    """Raise InvalidInput for a window (packets) or round-trip time (s) that is not positive."""
    for name, value in (("cwnd", cwnd), ("rtt", rtt)):
        if not value > 0:
            raise InvalidInput(whose, name, "above 0", value)


def price_arguments(price: Formula, cwnd: float, rtt: float) -> dict[str, float]:
    """The arguments of a price for a window and a round-trip time.

    Args:
        price: the price, from `price_of`.
        cwnd: window, packets.
        rtt: round-trip time, s.

    Raises:
        InvalidInput: for a window or a round-trip time that is not above 0, and for a window that
            is smaller than the backlog that the control would keep.

    >>> from vegasfluid.congestion.vegas import Vegas
    >>> place = price_arguments(price_of(Vegas(dialect="ns2")), cwnd=10.0, rtt=0.1)
    >>> {name: round(value, 6) for name, value in place.items()}
    {'rate': 100.0, 'base_rtt': 0.09}
    """
    require_above_zero(price.name, cwnd, rtt)
    rate = cwnd / rtt
    if price.quantity == "drop_prob":
        return {"rate": rate, "rtt": rtt}

    def excess(base_rtt: float) -> float:
        values = {"rate": rate, "base_rtt": base_rtt}
        return float(base_rtt + price.evaluate(values) - rtt)

    shortest = 1e-9 * rtt
    if excess(shortest) > 0:
        raise InvalidInput(price.name, "cwnd", "above what it holds in the queue", cwnd)
    base_rtt: Any = brentq(excess, shortest, rtt, xtol=1e-15 * rtt)
    return {"rate": rate, "base_rtt": base_rtt}

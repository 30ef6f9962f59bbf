"""The price that a rate has for a congestion-control law: what signal holds it where it is.

At rest a law's drift is zero. Read the other way round, for a given rate, that says how large its
congestion signal must be: a drop probability for laws that know losses, a queueing delay for
Vegas. Network utility maximisation calls it the price; it is the slope of the law's utility.

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

from vegasfluid.analysis.closed_forms.formula import Formula, symbol
from vegasfluid.analysis.literature.price_of_laws import formula_of
from vegasfluid.congestion.base import LOSS_PROCESSES, CongestionControl
from vegasfluid.errors import InvalidInput

__all__ = ["place_of", "price_of"]


@cache
def price_of(
    law: CongestionControl, loss_process: str = "meanfield", cwnd: float = 1000.0, rtt: float = 0.1
) -> Formula:
    """The congestion signal at which a law rests at a rate: the slope of its utility.

    Laws that know losses give `drop_prob` over `rate` and `rtt`; Vegas gives `queueing_delay` over
    `rate` and `base_rtt`, where losses are rare. Only concrete laws: numbers for all parameters.

    Args:
        law: with its parameters.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.
        cwnd: packets; laws that are others in some places are taken as they are here.
        rtt: s, likewise.

    Raises:
        InvalidInput: for a law that answers no signal, a loss process that is unknown, and a
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
    """Refuse a window or a round-trip time that is not above 0."""
    for name, value in (("cwnd", cwnd), ("rtt", rtt)):
        if not value > 0:
            raise InvalidInput(whose, name, "above 0", value)


def place_of(price: Formula, cwnd: float, rtt: float) -> dict[str, float]:
    """A window and a round-trip time as what a price takes.

    Args:
        price: of a law, from `price_of`.
        cwnd: packets.
        rtt: s.

    Raises:
        InvalidInput: for a window or a round-trip time that is not above 0, and for a window that
            is less than the packets that the law would hold in the queue.

    >>> from vegasfluid.congestion.vegas import Vegas
    >>> place = place_of(price_of(Vegas(dialect="ns2")), cwnd=10.0, rtt=0.1)
    >>> {name: round(value, 6) for name, value in place.items()}
    {'rate': 100.0, 'base_rtt': 0.09}
    """
    require_above_zero(price.name, cwnd, rtt)
    rate = cwnd / rtt
    if price.gives == "drop_prob":
        return {"rate": rate, "rtt": rtt}

    def excess(base_rtt: float) -> float:
        values = {"rate": rate, "base_rtt": base_rtt}
        return float(base_rtt + price.of(values) - rtt)

    shortest = 1e-9 * rtt
    if excess(shortest) > 0:
        raise InvalidInput(price.name, "cwnd", "above what it holds in the queue", cwnd)
    base_rtt: Any = brentq(excess, shortest, rtt, xtol=1e-15 * rtt)
    return {"rate": rate, "base_rtt": base_rtt}

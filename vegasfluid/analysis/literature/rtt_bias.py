"""What a longer round trip costs: the exponent e of x ~ R^(-e), at the same congestion signal.

Of flows at one queue that lose the same share of their packets, or wait for the same time:

    Reno, and CUBIC where it is Reno-friendly    1
    CUBIC where it follows the cubic             1/4
    Scalable TCP, HighSpeed TCP                  1
    Vegas                                        0
    Vegas as in Linux                            -D / T: x = alpha (C / q) (T / R), the longer wins

Of flows that all lose when one does, so that loss events and not packets are shared, more: for
W ~ p^(-d) of a law that counts in round trips, 1 / (1 - d). That is 2 for Reno, some 6 for
HighSpeed TCP, and infinite for Scalable TCP, whose windows then keep whatever ratio they have;
for CUBIC it is 1, which RFC 9438, section 5.6, gives without a condition.

Sources:
    T. Lakshman and U. Madhow, IEEE/ACM ToN 5(3), 1997 (Reno's 2); L. Xu, K. Harfoush and I. Rhee,
    INFOCOM 2004 (1 / (1 - d)): neither was checked against its original. RFC 9438, section 5.6
    (read). All numbers are derived here from the laws' drifts.
"""

from __future__ import annotations

import math

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import symbol
from vegasfluid.analysis.literature.price import place_of, price_of
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput

__all__ = ["rtt_exponent", "rtt_exponent_of_shared_losses"]

x = symbol("rate")


def rtt_exponent(
    law: CongestionControl, cwnd: float = 1000.0, rtt: float = 0.1, loss_process: str = "meanfield"
) -> float:
    """-d ln x / d ln R of a law at rest, at the same drop probability or queueing delay.

    Args:
        law: with its parameters.
        cwnd: window at rest, packets.
        rtt: round-trip time at rest, s.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a law that answers no signal, or a place where it cannot rest.

    >>> from vegasfluid.congestion.cubic import Cubic
    >>> from vegasfluid.congestion.reno import Reno
    >>> rtt_exponent(Reno()), round(rtt_exponent(Cubic()), 9)
    (1.0, 0.25)
    """
    price = price_of(law, loss_process, cwnd, rtt)
    there = {symbol(name): value for name, value in place_of(price, cwnd, rtt).items()}
    longer = symbol("rtt" if price.gives == "drop_prob" else "base_rtt")
    found = sp.diff(price.expression, longer) / (x * sp.diff(price.expression, x))
    return float(rtt * found.subs(there))


def rtt_exponent_of_shared_losses(
    law: CongestionControl, cwnd: float = 1000.0, rtt: float = 0.1, loss_process: str = "meanfield"
) -> float:
    """-d ln x / d ln R of a law at rest, at the same rate of loss events: all lose at once.

    Args:
        law: with its parameters; one that knows losses.
        cwnd: window at rest, packets.
        rtt: round-trip time at rest, s.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.

    Returns:
        The exponent; infinite where windows keep whatever ratio they have.

    Raises:
        InvalidInput: for a law that answers no losses.

    >>> from vegasfluid.congestion.reno import Reno
    >>> from vegasfluid.congestion.scalable import Scalable
    >>> rtt_exponent_of_shared_losses(Reno()), rtt_exponent_of_shared_losses(Scalable())
    (2.0, inf)
    """
    price = price_of(law, loss_process, cwnd, rtt)
    if price.gives != "drop_prob":
        raise InvalidInput(
            "rtt_exponent_of_shared_losses", "law", "one that rests on losses", law.name
        )
    there = {symbol(name): value for name, value in place_of(price, cwnd, rtt).items()}
    events = x * price.expression
    over_rate = sp.simplify(sp.diff(events, x))
    if over_rate == 0:
        return math.inf
    found = sp.diff(events, symbol("rtt")) / (x * over_rate)
    return float(rtt * found.subs(there))

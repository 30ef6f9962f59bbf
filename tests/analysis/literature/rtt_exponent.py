"""RTT unfairness: the exponent e of the rate x ~ R^(-e), at the same congestion signal.

For flows at one queue with the same loss probability or the same queueing delay:

    Reno, and CUBIC where it is Reno-friendly    1
    CUBIC in its cubic region                    1/4
    Scalable TCP, HighSpeed TCP                  1
    Vegas                                        0
    Vegas as in Linux                            -D / T: x = alpha (C / q) (T / R), the longer wins

If all flows lose when one does, so that they share loss events and not loss probabilities, it is
larger: 1 / (1 - d) for W ~ p^(-d) of a control that grows per round trip. That is 2 for Reno, about
6 for HighSpeed TCP, and infinite for Scalable TCP, whose windows then keep any ratio that they
have; for CUBIC it is 1, which RFC 9438, section 5.6, gives without a condition.

Sources:
    T. Lakshman and U. Madhow, IEEE/ACM ToN 5(3), 1997 (Reno's 2); L. Xu, K. Harfoush and I. Rhee,
    INFOCOM 2004 (1 / (1 - d)): neither was checked against its original. RFC 9438, section 5.6
    (read). All numbers are derived here from the laws' drifts.
"""

from __future__ import annotations

import math

import sympy as sp

from tests.analysis.literature.price import price_arguments, price_of
from vegasfluid.analysis.closed_forms.formula import symbol
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput

x = symbol("rate")


def rtt_exponent(
    law: CongestionControl, cwnd: float = 1000.0, rtt: float = 0.1, loss_process: str = "meanfield"
) -> float:
    """The elasticity -d ln x / d ln R in equilibrium, at constant drop probability or delay.

    Args:
        law: the congestion control.
        cwnd: equilibrium window, packets.
        rtt: equilibrium round-trip time, s.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a control that responds to no signal, or without an equilibrium there.

    >>> from vegasfluid.congestion.cubic import Cubic
    >>> from vegasfluid.congestion.reno import Reno
    >>> rtt_exponent(Reno()), round(rtt_exponent(Cubic()), 9)
    (1.0, 0.25)
    """
    price = price_of(law, loss_process, cwnd, rtt)
    values = {symbol(name): value for name, value in price_arguments(price, cwnd, rtt).items()}
    longer = symbol("rtt" if price.quantity == "drop_prob" else "base_rtt")
    exponent = sp.diff(price.expression, longer) / (x * sp.diff(price.expression, x))
    return float(rtt * exponent.subs(values))


def rtt_exponent_of_shared_losses(
    law: CongestionControl, cwnd: float = 1000.0, rtt: float = 0.1, loss_process: str = "meanfield"
) -> float:
    """The elasticity -d ln x / d ln R in equilibrium, if all flows lose at the same times.

    Args:
        law: a loss-based congestion control.
        cwnd: equilibrium window, packets.
        rtt: equilibrium round-trip time, s.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Returns:
        The exponent; infinite if windows keep any ratio that they have.

    Raises:
        InvalidInput: for a control that does not respond to losses.

    >>> from vegasfluid.congestion.reno import Reno
    >>> from vegasfluid.congestion.scalable import Scalable
    >>> rtt_exponent_of_shared_losses(Reno()), rtt_exponent_of_shared_losses(Scalable())
    (2.0, inf)
    """
    price = price_of(law, loss_process, cwnd, rtt)
    if price.quantity != "drop_prob":
        raise InvalidInput(
            "rtt_exponent_of_shared_losses", "law", "one that responds to losses", law.name
        )
    values = {symbol(name): value for name, value in price_arguments(price, cwnd, rtt).items()}
    events = x * price.expression
    over_rate = sp.simplify(sp.diff(events, x))
    if over_rate == 0:
        return math.inf
    exponent = sp.diff(events, symbol("rtt")) / (x * over_rate)
    return float(rtt * exponent.subs(values))

"""Utilities of congestion controls: a network of flows maximises their sum.

If a control has the price U'(x) in equilibrium, flows share a network as if they maximised the sum
of U(x_i), subject to the capacities. U is the integral of the price (`price`), up to a constant;
its curvature determines the fairness: -x U'' / U' = a for the alpha-fair utility
x^(1 - a) / (1 - a).

    Reno          -2 / (phi R^2 x)            a = 2
    CUBIC         -3 c R^(-1/3) x^(-1/3)      a = 4/3   (in its cubic region)
    HighSpeed     -c (x R)^(-0.2) / R         a = 1.2   (periodic losses)
    Scalable TCP  (a / (b phi R)) ln x        a = 1
    Vegas         alpha ln x                  a = 1     (the price is a delay)
    Vegas, Linux  between alpha ln x and 2 sqrt(alpha T x): a = R / (2 R - T), from 1 to 1/2

Reno's other utility, (sqrt 2 / R) atan(R x / sqrt 2), corresponds to its other price (see `price`).

Sources:
    F. Kelly, A. Maulloo and D. Tan, J. Oper. Res. Soc. 49, 1998 (the sum that is maximised);
    J. Mo and J. Walrand, IEEE/ACM ToN 8(5), 2000 (alpha-fairness); S. Low, IEEE/ACM ToN 11(4),
    2003 (Reno's arctan); S. Low, L. Peterson and L. Wang, J. ACM 49(2), 2002 (Vegas's alpha ln x;
    abstract read). None was checked against its original. All integrals are derived here from the
    drifts; CUBIC's and Linux's have no other source here.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from tests.analysis.literature.price import price_arguments, price_of
from tests.analysis.literature.price_of_laws import DELAY
from vegasfluid.analysis.closed_forms.branches import equilibrium_drift, equilibrium_signals
from vegasfluid.analysis.closed_forms.formula import Formula, quantities, symbol
from vegasfluid.congestion.base import CongestionControl, Window
from vegasfluid.congestion.reno import Reno
from vegasfluid.errors import InvalidInput

UTILITY = quantities(("utility", "U", "packets/s", "utility of a rate, up to a constant"))
"""The utility as a quantity; for delay prices its unit is packets."""

R, p, x = (symbol(name) for name in ("rtt", "drop_prob", "rate"))


@cache
def utility_of(
    law: CongestionControl, loss_process: str = "meanfield", cwnd: float = 1000.0, rtt: float = 0.1
) -> Formula:
    """The utility that a congestion control maximises, up to a constant.

    Args:
        law: the congestion control.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.
        cwnd: window that selects the region of a control with several, packets.
        rtt: round-trip time that does, s.

    Raises:
        InvalidInput: for a control that responds to no signal, and an integral without a closed
            form (HighSpeed TCP except for periodic losses).

    >>> from vegasfluid.congestion.vegas import Vegas
    >>> utility_of(Reno()).text(), utility_of(Vegas(alpha=2, dialect="ns2")).text()
    ('U = -2/(R**2*x)', 'U = 2*log(x)')
    """
    price = price_of(law, loss_process, cwnd, rtt)
    if any(part.has(x) for part in price.expression.atoms(sp.log)):
        raise InvalidInput("utility_of", "loss_process", f"periodic for {law.name}", loss_process)
    return integral_of(price, f"utility_{law.name}", f"utility of {law.name}")


def integral_of(price: Formula, name: str, description: str) -> Formula:
    """The utility of a price, its integral over the rate, as a formula with a name."""
    return Formula(
        name,
        description,
        "utility",
        sp.expand_log(sp.simplify(sp.integrate(price.expression, x)), force=True),
        price.validity,
        f"the integral of {price.name} over the rate",
        tuple((UTILITY | DELAY).items()),
    )


def fairness_exponent(
    law: CongestionControl, cwnd: float = 1000.0, rtt: float = 0.1, loss_process: str = "meanfield"
) -> float:
    """The fairness exponent -x U'' / U': the alpha of the equivalent alpha-fair utility.

    Args:
        law: the congestion control.
        cwnd: equilibrium window, packets.
        rtt: equilibrium round-trip time, s.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a control that responds to no signal, or without an equilibrium there.

    >>> from vegasfluid.congestion.cubic import Cubic
    >>> round(fairness_exponent(Cubic()), 9), fairness_exponent(Cubic(), cwnd=20.0, rtt=0.01)
    (1.333333333, 2.0)
    """
    price = price_of(law, loss_process, cwnd, rtt)
    values = {symbol(name): value for name, value in price_arguments(price, cwnd, rtt).items()}
    exponent = -x * sp.diff(price.expression, x) / price.expression
    return float(exponent.subs(values))


@cache
def arctan_price() -> Formula:
    """Reno's price if its window grows only for packets that arrive.

    >>> arctan_price().text()
    'p = 2/(R**2*x**2 + 2)'
    """
    cwnd = symbol("cwnd")
    seen = equilibrium_signals()._replace(ack_rate=(1 - p) * cwnd / R)
    near = {cwnd: 10, R: 1, p: 1e-2}
    drift = equilibrium_drift(Reno(), Window(cwnd, sp.Integer(0)), seen, near)["cwnd"].expression
    (price,) = sp.solve(drift, p)
    return Formula(
        "price_reno_arctan",
        "drop probability of Reno in equilibrium at a rate, growth for arriving packets",
        "drop_prob",
        price.subs(cwnd, x * R),
        "congestion avoidance, few timeouts",
        "S. Low 2003 (not checked against the original); derived here from the drift",
    )


@cache
def arctan_utility() -> Formula:
    """Reno's utility if its window grows only for packets that arrive.

    >>> arctan_utility().text()
    'U = sqrt(2)*atan(sqrt(2)*R*x/2)/R'
    """
    return integral_of(arctan_price(), "utility_reno_arctan", "utility of Reno, as an arctan")

"""SymPy reads the very lines that JAX integrates."""

from __future__ import annotations

import pytest
import sympy as sp

from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import Signals, Window
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas, VegasWindow

cwnd, rtt, base, rate, loss, prob = sp.symbols("W R T x l p", positive=True)


def seen(ack_rate: sp.Expr = rate, loss_rate: sp.Expr = loss) -> Signals:
    return Signals(rtt, ack_rate, loss_rate, sp.Integer(10) ** 5)


def vegas(window: sp.Expr, base_rtt: sp.Expr = base) -> VegasWindow:
    return VegasWindow(window, sp.Integer(0), base_rtt, sp.Integer(0))


def in_avoidance(drift: sp.Expr) -> sp.Expr:
    return sp.simplify(sp.sympify(drift))


def test_reno_has_the_equilibrium_root_of_two_over_p() -> None:
    """W = sqrt(2 / p) (Misra, Gong and Towsley, 2000), whatever the round-trip time is."""
    drift = Reno().drift(Window(cwnd, sp.Integer(0)), seen(loss_rate=prob * rate)).cwnd
    (equilibrium,) = sp.solve(in_avoidance(drift), cwnd)
    assert sp.simplify(equilibrium - sp.sqrt(2 / prob)) == 0


def test_renos_drift_is_that_of_misra_gong_and_towsley() -> None:
    """1/R - W/2 times the rate of losses, where the ACKs come at W/R."""
    drift = Reno().drift(Window(cwnd, sp.Integer(0)), seen(ack_rate=cwnd / rtt)).cwnd
    assert sp.simplify(drift - (1 / rtt - loss * cwnd / 2)) == 0


def test_renos_slope_at_equilibrium() -> None:
    """d(drift)/dW at W = sqrt(2/p): minus twice the rate of growth over W, by theory 2/(W R)."""
    drift = Reno().drift(Window(cwnd, sp.Integer(0)), seen(prob * 0 + rate, prob * rate)).cwnd
    slope = sp.diff(in_avoidance(drift), cwnd).subs(rate, cwnd / rtt).subs(prob, 2 / cwnd**2)
    assert sp.simplify(slope + 2 / (cwnd * rtt)) == 0


def test_reno_in_slow_start_grows_by_one_packet_an_ack() -> None:
    drift = Reno().drift(Window(sp.Integer(10), sp.Integer(1)), seen(loss_rate=sp.Integer(0)))
    assert sp.simplify(drift.cwnd - rate) == 0
    assert drift.slow_start == 0


def test_scalable_has_the_equilibrium_increase_over_decrease_and_p() -> None:
    """W = a / (b p): its loss times its window is constant (Kelly, 2003)."""
    step, cut = sp.symbols("a b", positive=True)
    law = Scalable(increase=step, decrease=cut, legacy_window=sp.Integer(0))
    above = Window(1 + cwnd, sp.Integer(0))  # past the edge of the legacy window
    drift = law.drift(above, seen(ack_rate=rate, loss_rate=prob * rate)).cwnd
    (equilibrium,) = sp.solve(in_avoidance(drift), cwnd)
    assert sp.simplify(equilibrium + 1 - step / (cut * prob)) == 0


def test_highspeeds_drift_is_that_of_the_rfc() -> None:
    """RFC 3649, section 5: a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), straight lines in logarithms."""
    low, high, p_low, p_high, b_high = sp.symbols("L H P Q B", positive=True)
    law = HighSpeed(low, high, p_low, p_high, b_high)
    numbers = {low: 40, high: 4000, p_low: sp.Rational(1, 1000), p_high: sp.Rational(1, 10**6)}
    numbers |= {b_high: sp.Rational(1, 10), cwnd: 400, loss: sp.Rational(1, 7), rtt: 1}
    drift = law.drift(Window(cwnd, sp.Integer(0)), seen(ack_rate=cwnd / rtt)).cwnd.subs(numbers)
    # Halfway in logarithms: b = (1/2 + 1/10) / 2, p = sqrt(10^-3 10^-6).
    share, prob_there = sp.Rational(3, 10), 10 ** sp.Rational(-9, 2)
    step = 400**2 * prob_there * 2 * share / (2 - share)
    assert float(drift) == pytest.approx(float(step - share * 400 / 7), rel=1e-12)


@pytest.mark.parametrize(
    ("dialect", "divisor"), [("brakmo", rtt), ("ns2", rtt), ("ns3", rtt), ("linux", base)]
)
def test_vegas_estimates_its_own_packets_in_the_queue(dialect: str, divisor: sp.Expr) -> None:
    """Brakmo and Peterson: (W/T - W/R) T; the kernel divides by the base RTT instead."""
    backlog = Vegas(dialect=dialect).backlog(vegas(cwnd), seen())
    assert sp.simplify(backlog - cwnd * (rtt - base) / divisor) == 0
    brakmo = (cwnd / base - cwnd / rtt) * base
    assert sp.simplify(backlog - brakmo * rtt / divisor) == 0


def test_the_kernels_alpha_is_the_textbooks_times_rtt_over_base() -> None:
    """Theory sheet, section 5g: alpha_linux = alpha R / T."""
    dialects = (Vegas(dialect=name) for name in ("linux", "brakmo"))
    kernel, textbook = (law.backlog(vegas(cwnd), seen()) for law in dialects)
    assert sp.simplify(kernel / textbook - rtt / base) == 0


@pytest.mark.parametrize(
    ("window", "step"),
    # base/rtt = 1/2: the backlog is half of the window; alpha = 1, beta = 3.
    [(2, 1), (4, 0), (5, 0), (20, -1)],
)
def test_vegas_moves_by_one_packet_a_round_trip(window: int, step: int) -> None:
    state, quiet = vegas(sp.Integer(window), rtt / 2), sp.Integer(0)
    feedback = Signals(rtt, window / rtt, quiet, sp.Integer(10) ** 5)
    law = Vegas(alpha=sp.Integer(1), beta=sp.Integer(3), softness=sp.Rational(1, 4))
    assert sp.simplify(law.growth(state, feedback).cwnd - sp.Integer(step) / rtt) == 0


v, low, high, top = sp.symbols("v min max P", positive=True)


def red(gentle: bool, wait: bool = True) -> Red:
    return Red(low, high, max_drop=top, gentle=gentle, wait=wait)


def branch(expression: sp.Expr, average: sp.Rational) -> sp.Expr:
    """The curve with numbers in it: min 20, max 80, P 1/5."""
    return expression.subs({v: average, low: 20, high: 80, top: sp.Rational(1, 5)})


@pytest.mark.parametrize(
    ("gentle", "average", "expected"),
    [
        (False, 10, "0"),
        (False, 20, "0"),
        (False, 50, "1/10"),  # P (v - min) / (max - min)
        (False, 80, "1/5"),
        (False, 81, "1"),
        (True, 50, "1/10"),
        (True, 80, "1/5"),
        (True, 120, "3/5"),  # P + (1 - P) (v - max) / max
        (True, 160, "1"),
        (True, 500, "1"),
    ],
)
def test_reds_curve(gentle: bool, average: int, expected: str) -> None:
    """Theory sheet, section 2."""
    result = branch(sp.nsimplify(red(gentle).curve(Average(v))), sp.Integer(average))
    assert sp.simplify(result - sp.Rational(expected)) == 0


@pytest.mark.parametrize(("wait", "spacing"), [(True, sp.Rational(2, 3)), (False, sp.Integer(2))])
def test_reds_spacing_for_rare_drops(wait: bool, spacing: sp.Rational) -> None:
    """Theory sheet, section 2: p is k p_b for small p_b, k = 2/3 with `wait` and 2 without."""
    queue = QueueState(v, Average(v), sp.Integer(1), sp.Integer(1), sp.Integer(1))
    share = red(gentle=True, wait=wait).drop_prob(queue)
    just_above = branch(share, sp.Rational(20) + sp.Rational(1, 10**9))
    curve = branch(red(gentle=True).curve(Average(v)), sp.Rational(20) + sp.Rational(1, 10**9))
    assert abs(float(just_above / curve - spacing)) < 1e-9


def test_reds_average_follows_the_queue_at_minus_c_times_ln_one_minus_w() -> None:
    """Theory sheet, section 2: K = -C ln(1 - w)."""
    queue, capacity, weight = sp.symbols("q C w", positive=True)
    law = Red(low, high, max_drop=top, weight=weight)
    drift = law.derivative(QueueState(queue, Average(v), rate, capacity, sp.Integer(1))).avg_queue
    assert sp.simplify(drift + capacity * sp.log(1 - weight) * (queue - v)) == 0


def test_a_full_buffer_drops_arrivals_above_the_capacity() -> None:
    """Theory sheet, section 10: p = (y - C) / y."""
    state = QueueState(sp.Integer(50), Average(0), sp.Integer(300), sp.Integer(200), sp.Integer(50))
    assert sp.nsimplify(overflow_prob(state)) == sp.Rational(1, 3)

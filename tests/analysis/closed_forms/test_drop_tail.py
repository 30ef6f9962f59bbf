"""Drop-tail shares and persistent congestion in closed form, against numbers.

The oracle is the law's own estimate of its backlog; the figures are those of the theory sheet.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from tests.analysis import drifts
from vegasfluid.analysis import closed_forms as forms
from vegasfluid.congestion.vegas import Vegas, VegasWindow

POINTS = 20


def vegas_window_beside(queue: float, path: float, backlog: float) -> float:
    """The window that has so many packets in the queue, by the law's own estimate."""
    law, rtt = Vegas(), path + queue  # with a capacity of 1 packet/s

    def less(cwnd: float) -> float:
        state = VegasWindow(cwnd, 0.0, path, 0.0)
        return float(law.backlog(state, drifts.seen(cwnd, rtt, 0.0))) - backlog

    return float(brentq(less, 0.0, 2 * (path + queue), xtol=1e-13))


def drawn_share(buffer: float, path: float, backlog: float) -> tuple[float, float]:
    """Vegas's share, and the lowest queue, by Reno's climb in time."""

    def reno(queue: float) -> float:
        return path + queue - vegas_window_beside(queue, path, backlog)

    def queue_at(window: float) -> float:
        return float(brentq(lambda x: reno(x) - window, backlog, buffer, xtol=1e-13))

    full, options = reno(buffer), {"epsabs": 0, "epsrel": 1e-9, "limit": 200}
    half = full / 2

    def rate_and_rtt(window: float) -> tuple[float, float]:
        queue = queue_at(window)
        rtt = path + queue
        return 1 - window / rtt, rtt

    time = quad(lambda x: rate_and_rtt(x)[1], half, full, **options)[0]
    taken = quad(lambda x: np.prod(rate_and_rtt(x)), half, full, **options)[0]
    return taken / time, queue_at(half)


def test_shares_at_a_drop_tail_buffer():
    for at in drifts.draws(POINTS, 6, path=(10, 2000), buffer=(20, 2000), part=(0.05, 0.9)):
        backlog = at["part"] * at["buffer"]
        share, lowest = drawn_share(at["buffer"], at["path"], backlog)
        point = {"capacity": 1.0, "base_rtt": at["path"], "buffer": at["buffer"]}
        queue = forms.queue_after_halving()(**point, backlog=backlog)
        assert queue == pytest.approx(lowest, rel=1e-9)
        formula = forms.vegas_share()(**point, backlog=backlog, lowest=queue)
        assert formula == pytest.approx(share, rel=1e-7)


FAIR = [(0.05, 0.343), (0.1, 0.350), (0.2, 0.362), (0.5, 0.383), (1, 0.398), (2, 0.411), (5, 0.421)]


@pytest.mark.parametrize(("filling", "part"), [*FAIR, (10, 0.424)])
def test_the_fair_backlog_at_a_drop_tail_buffer(filling, part):
    """Theory sheet, section 5e."""
    buffer = 100.0
    assert round(forms.fair_backlog(buffer, 1000.0, buffer / filling / 1000) / buffer, 3) == part


def test_limits_of_the_fair_backlog():
    assert forms.fair_backlog(1.0, 1.0, 1e-7) == pytest.approx(3 / 7, abs=1e-6)
    assert forms.fair_backlog(1.0, 1.0, 1e4) == pytest.approx(1 / 3, abs=1e-4)
    large = forms.vegas_share_of_large_buffer()
    assert large(buffer=3.0, backlog=1.0) == pytest.approx(0.4, rel=1e-15)  # the sheet's 40.0 %


def test_utilisation_of_one_reno_flow():
    """Section 9, and the sawtooth by quadrature."""
    formula = forms.reno_utilisation()
    assert formula(filling=1e-12) == pytest.approx(0.75, rel=1e-11)
    assert formula(filling=1.0) == 1.0
    for at in drifts.draws(POINTS, 7, filling=(0.01, 1.0)):
        full = 1 + at["filling"]
        time = quad(lambda x: max(1.0, x), full / 2, full, points=[1.0])[0]
        sent = quad(lambda x: x, full / 2, full)[0]
        assert formula(filling=at["filling"]) == pytest.approx(sent / time, rel=1e-10)


PERSISTENT = [(1, 1, 1), (2, 2.618, 1.62), (3, 4.599, 2.32), (5, 9.289, 3.80)]


@pytest.mark.parametrize(
    ("number", "queue", "ratio"), [*PERSISTENT, (10, 23.637, 7.64), (20, 58.560, 15.6)]
)
def test_queues_of_flows_that_join_one_by_one(number, queue, ratio):
    """Theory sheet, section 5h."""
    assert round(forms.queue_per_alpha(number), 3) == queue
    digits = 1 if number == 20 else 2
    assert round(forms.last_over_first(number), digits) == ratio


def test_persistent_congestion_by_the_laws_own_estimate():
    """At equilibrium each flow estimates a backlog of alpha, with the base RTT that it measured."""
    law, capacity, path = Vegas(alpha=3, dialect="ns2"), 500.0, 0.04
    found = [0.0]
    for number in range(1, 21):

        def too_much(queue: float, found: list[float] = found) -> float:
            rtt = path + queue / capacity
            return sum(rate(rtt, path + before / capacity) for before in found) / capacity - 1

        def rate(rtt: float, base: float) -> float:
            def less(cwnd: float) -> float:
                state = VegasWindow(cwnd, 0.0, base, 0.0)
                backlog = float(law.backlog(state, drifts.seen(cwnd, rtt, 0.0)))
                return backlog - law.equilibrium_backlogs[0]

            return float(brentq(less, 0.0, 1e7, xtol=1e-9)) / rtt

        top = brentq(too_much, found[-1] + 1.0, found[-1] + 4 * number, xtol=1e-11)
        found.append(float(top))
        there = {"alpha": 3.0, "queue_per_alpha": forms.queue_per_alpha(number)}
        assert forms.persistent_queue()(**there) == pytest.approx(top, rel=1e-8)
        if number == 1:
            continue  # it found an empty queue
        own = {"alpha": 3.0, "capacity": capacity, "queue": top, "false_queue": found[-2]}
        last = rate(path + top / capacity, path + found[-2] / capacity)
        assert forms.rate_with_false_base()(**own) == pytest.approx(last, rel=1e-8)


def test_exact_terms_are_the_numbers():
    """The second is the square of the golden ratio; the third has the documented degree."""
    assert float(forms.exact_term(2)) == pytest.approx(((1 + 5**0.5) / 2) ** 2, rel=1e-15)
    for number in (1, 2, 3):
        exact = float(forms.exact_term(number))
        assert forms.queue_per_alpha(number) == pytest.approx(exact, rel=1e-14)
    assert forms.exact_term(3).poly.degree() == 6

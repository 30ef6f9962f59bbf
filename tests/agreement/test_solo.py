"""Each law alone: the targets of the benchmark are met, except for known misses."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import solo
from vegasfluid import Cubic, simulate_fluid

KNOWN = {
    f"solo.cubic.tooth_{part}.{item}" for part in ("0.2", "0.5", "1") for item in ("cwnd", "period")
}
"""Of one CUBIC flow the mean forgets the clock only in part: its period, within 3 percent of
theory's, is 16 to 17.4 percent shorter than that of packets, and its window up to 7 percent off
theory's. (Steps that were too long had given periods nearer to those of packets.)"""


@pytest.mark.study
def test_laws_alone() -> None:
    figures = solo.measure(full=False)
    missed = {name.rsplit(".", 1)[0] for name in figures.missed()}
    assert missed <= KNOWN
    assert all(figures.values[name] < 0.175 for name in figures.missed())
    assert sum(name.startswith("solo.reno") for name in figures.targets) >= 20


@pytest.mark.study
def test_the_equilibrium_of_many_reno_flows_with_red_agrees_with_theory() -> None:
    found = solo.means_of(simulate_fluid(solo.RENO, 100.0, options=solo.BALANCE), 50.0)
    queue, cwnd = solo.reno_over_red(solo.RENO)
    assert found.queue == pytest.approx(queue, rel=0.01)
    assert found.cwnd == pytest.approx(cwnd, rel=0.01)


def test_many_cubics_under_red_have_the_window_of_theory() -> None:
    found = solo.means_of(simulate_fluid(solo.CUBIC, 200.0, options=solo.BALANCE), 50.0)
    expected = solo.POOJARY_SHARMA * (found.rtt / found.drops) ** 0.75
    assert found.cwnd == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("part", "utilisation"), [(0.0, 0.75), (1.0, 1.0)])
def test_renos_tooth_fills_three_quarters_or_all(part: float, utilisation: float) -> None:
    found = solo.reno_tooth(part * solo.CAPACITY * solo.RTT)
    assert found.utilisation == pytest.approx(utilisation, rel=1e-9)


def test_a_tooth_without_buffer_lasts_half_its_window_in_round_trips() -> None:
    found = solo.reno_tooth(0.0)
    rounds = solo.CAPACITY * solo.RTT / 2 + 2  # and a round to find the loss, one to repair it
    assert found.period == pytest.approx(rounds * solo.RTT, rel=1e-9)
    assert found.cwnd == pytest.approx(0.75 * solo.CAPACITY * solo.RTT, rel=1e-6)


def test_cubics_tooth_begins_at_beta_and_lasts_k() -> None:
    found = solo.cubic_tooth(50.0, Cubic())
    top = solo.CAPACITY * solo.RTT + 50
    assert found.period == pytest.approx((0.3 * top / 0.4) ** (1 / 3), rel=1e-9)
    assert found.cwnd == pytest.approx(top * (1 - 0.3 / 4), rel=1e-5)  # mean of a cubic


def test_the_period_of_a_known_saw_tooth() -> None:
    time = np.linspace(0.0, 100.0, 2001)
    cwnd = 50 + 50 * np.mod(time, 7.0) / 7.0
    begins = solo.begins_of(time, cwnd)
    assert len(begins) == 14
    assert np.diff(begins).mean() == pytest.approx(7.0, abs=0.05)

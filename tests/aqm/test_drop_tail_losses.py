"""How the fluid sees the losses of drop-tail and RED: theory sheet, sections 2 and 10."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import sympy as sp

from vegasfluid import DropTail, InvalidInput, Red
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.red import AdaptedAverage


def state(load: float, queue: float = 0.0, buffer: float = 10.0) -> QueueState:
    return QueueState(queue, Average(0.0), load * 1000.0, 1000.0, buffer)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.9, 1.0, 1.1, 2.0])
@pytest.mark.parametrize("size", [1, 10, 60])
def test_mm1k_is_the_last_of_its_geometric_probabilities(load: float, size: int) -> None:
    weights = [load**n for n in range(size + 1)]
    prob = DropTail(losses="mm1k").drop_prob(state(load, buffer=float(size)))
    assert float(prob) == pytest.approx(weights[-1] / math.fsum(weights), rel=1e-4)


@pytest.mark.parametrize("load", [1e-12, 1e6])
def test_mm1k_is_finite_at_the_ends(load: float) -> None:
    prob = float(DropTail(losses="mm1k").drop_prob(state(load, buffer=1000.0)))
    assert prob == pytest.approx(0.0 if load < 1 else 1.0, abs=1e-5)


def test_small_buffers_lose_the_load_to_the_power_of_the_buffer() -> None:
    law = DropTail(losses="small_buffer")
    assert float(law.drop_prob(state(0.9))) == pytest.approx(0.9**10, rel=1e-9)
    assert float(law.drop_prob(state(1.5))) == 1.0


@pytest.mark.parametrize(("load", "fill", "expected"), [(2.0, 1.0, 0.5), (2.0, 0.9, 0.5 * 0.9**20)])
def test_smooth_overflow(load: float, fill: float, expected: float) -> None:
    law = DropTail(losses="smooth")
    assert float(law.drop_prob(state(load, queue=10 * fill))) == pytest.approx(expected, rel=1e-9)
    assert float(law.drop_prob(state(0.99, queue=10 * fill))) == 0.0


def test_synchronised_losses_are_everybodys() -> None:
    every, some = DropTail(losses="synchronised"), DropTail()
    assert float(every.loss_signal_prob(1e-3)) == 1.0
    assert float(every.loss_signal_prob(0.0)) == 0.0
    assert some.loss_signal_prob(1e-3) == 1e-3


def test_other_names_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="losses must be one of overflow, synchronised, smooth"):
        DropTail(losses="none")


def test_sympy_reads_small_buffers() -> None:
    rate, capacity, buffer = sp.symbols("y C B", positive=True)
    seen = QueueState(sp.Integer(0), Average(0), rate, capacity, buffer)
    prob = DropTail(losses="small_buffer").drop_prob(seen).subs({capacity: 5, buffer: 3})
    assert float(prob.subs(rate, 4)) == pytest.approx(0.8**3)


def test_with_ecn_only_what_is_beyond_chance_is_dropped_or_nothing() -> None:
    """RFC 3168, section 7: marks between the thresholds, drops above them; Linux marks there."""
    law = Red(20, 80, max_drop=0.2, ecn=True, hard_drop=True)
    between, above = (QueueState(v, Average(v), 1e3, 1e3, 1e6) for v in (50.0, 90.0))
    assert float(law.drop_prob(between)) > 0.05
    assert float(law.forced_prob(between)) == 0.0
    assert float(law.forced_prob(above)) == float(law.drop_prob(above)) == 1.0
    assert float(replace(law, hard_drop=False).forced_prob(above)) == 0.0
    plain = Red(20, 80, max_drop=0.2)
    assert float(plain.forced_prob(between)) == float(plain.drop_prob(between))


@pytest.mark.parametrize(("average", "sign"), [(30.0, -1), (50.0, 0), (70.0, 1)])
def test_adaptive_red_moves_its_maximum(average: float, sign: int) -> None:
    """Each half second: min(0.01, P/4) more above the band, a tenth less below it."""
    law = Red(20, 80, max_drop=0.2, adaptive=True)
    seen = QueueState(average, AdaptedAverage(average, 0.2), 1e3, 1e3, 1e6)
    expected = {-1: -0.1 * 0.2 / 0.5, 0: 0.0, 1: 0.01 / 0.5}[sign]
    assert float(law.derivative(seen).max_drop) == pytest.approx(expected)

"""Flows that were not measured are like those of the measured ones that lose as many packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.made import CAPACITY, TIMES, samples
from vegasfluid.observe import Measurement, estimate
from vegasfluid.observe.competitors import competitors_from_share
from vegasfluid.observe.drop_weights import drop_weights, tilted_weights
from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.link_counters import QueueDrops
from vegasfluid.observe.network_file import model_text
from vegasfluid.observe.time_grid import time_grid

LINK = Estimated(CAPACITY, CAPACITY, CAPACITY, "known")
FAST, SLOW = 0.2, 0.05
"""Fractions of the link that a fast and a slow flow get."""
FEW, MANY = 0.002, 0.02
"""Fractions of their packets that they lose."""


def lossy(name, share, fraction, control="reno"):
    """A flow that loses a fraction of its packets."""
    sent_again = share * CAPACITY * fraction * TIMES
    return samples(name, TIMES, share, control=control, retransmitted_packets=sent_again)


def measured(control="reno"):
    """A fast flow of Reno and a slow one."""
    return Measurement((lossy("a > x", FAST, FEW), lossy("b > x", SLOW, MANY, control)))


def drops(fraction):
    """Drops where the others, which have 0.75 of the link, lose a fraction of their packets."""
    rate = CAPACITY * (FAST * FEW + SLOW * MANY + (1 - FAST - SLOW) * fraction)
    return QueueDrops(TIMES, rate * TIMES)


def test_weights_have_the_mean_that_is_asked_for():
    """Of two flows: w (-1) + (1 - w) 3 = 0 has the solution w = 3/4."""
    assert tilted_weights(np.array([-1.0, 3.0])) == pytest.approx([0.75, 0.25], rel=1e-6)
    excess = np.array([-2.0, 0.3, 0.8, 1.5, -0.1])
    weights = tilted_weights(excess)
    assert weights @ excess == pytest.approx(0, abs=1e-9)
    logs = np.log(weights)  # of largest entropy: a straight line over the numbers
    assert np.polyfit(excess, logs, 1, full=True)[1] == pytest.approx(0, abs=1e-12)
    assert tilted_weights(np.zeros(3)) == pytest.approx([1 / 3] * 3)


def test_weights_are_limited_where_no_mixture_has_the_mean():
    weights = tilted_weights(np.array([0.5, 1.0]))
    assert weights[0] / weights[1] == pytest.approx(np.exp(1.5))
    assert tilted_weights(np.array([-0.5, -1.0]))[::-1] == pytest.approx(
        tilted_weights(np.array([-1.0, -0.5]))
    )


@pytest.mark.parametrize(("fraction", "rate"), [(FEW, FAST), (MANY, SLOW), (0.0056, 0.125)])
def test_the_number_follows_from_flows_with_such_losses(fraction, rate):
    """0.0056 of the packets of a fast and a slow flow are lost: their mean rate is 0.125."""
    counted = competitors_from_share(time_grid(measured()), LINK, drops(fraction)).count
    assert counted.value == pytest.approx((1 - FAST - SLOW) / rate, rel=0.15)
    assert counted.low <= (1 - FAST - SLOW) / rate <= counted.high
    assert "weighted by drops" in counted.how or rate == 0.125


def test_without_counters_all_flows_count_the_same():
    grid = time_grid(measured())
    half = pytest.approx([0.5, 0.5])
    few = QueueDrops(TIMES, drops(MANY).packets / 1e3)
    short = QueueDrops(TIMES[-100:], drops(MANY).packets[-100:])
    for each in (None, few, short):
        assert drop_weights(grid, each, CAPACITY) == half
    assert drop_weights(grid, drops(MANY), 0.2 * CAPACITY) == half  # flows are faster than the link
    not_counted = grid._replace(has_repeated=np.array([True, False]))
    assert drop_weights(not_counted, drops(MANY), CAPACITY) == half
    assert drop_weights(grid, drops(MANY), CAPACITY)[1] > 0.9


def test_models_have_as_many_flows_as_have_the_rate_of_those_not_measured():
    """A slow flow of Vegas: others are 0.75 / 0.125 flows, or 0.75 / 0.2 of Reno."""
    counted = competitors_from_share(time_grid(measured("vegas")), LINK)
    assert counted.count.value == pytest.approx(6, rel=0.01)
    assert (counted.control, counted.alike.value) == ("reno", pytest.approx(3.75, rel=0.01))
    found = estimate(Measurement((samples("a > x", TIMES, 1.0, receiver="x"),)))
    text = model_text(replace(found, capacity=LINK, competitors=counted))
    assert "# flows of reno that have their rate; 6 if they are like all measured flows" in text
    assert "divided by the rate of a reno flow" in text

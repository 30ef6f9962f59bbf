"""What is read from states by name stands where the solver's history looks it up."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid import Cubic, DropTail, Flows, Link, Network, Reno, Vegas
from vegasfluid.fluid import build
from vegasfluid.fluid.output import delivered, totals_after_warmup


def test_packets_that_came_through() -> None:
    """For any states, so that no run is needed: these are drawn at random."""
    links = {"near": Link(1000.0, 60, DropTail()), "far": Link(900.0, 60, DropTail(), delay=0.01)}
    flows = {
        "reno": Flows(3, Reno(), base_rtt=0.06, path=("near", "far")),
        "vegas": Flows(2, Vegas(3, 5), base_rtt=0.05, path=("far",)),
        "cubic": Flows(1, Cubic(), base_rtt=0.05, direction="reverse", path=("near",)),
    }
    model = build(Network(links, flows))
    saved = model.vector_field.saved
    ys = np.random.default_rng(1).random((3, saved.size))
    state = saved.unpack(ys)
    last = model.structure.last_data_hops
    admitted = saved.size - len(model.structure.hops)
    expected = ys[:, np.array(last) + admitted]
    assert np.unique(expected).size == expected.size == 9
    np.testing.assert_array_equal(delivered(state, model.structure), expected)


@pytest.mark.parametrize("warmup", [0.0, 2.0, 2.7, 3.999])
def test_totals_begin_at_the_end_of_the_warmup_also_between_samples(warmup: float) -> None:
    """Counters that grow evenly grow in the remaining run by its length."""
    field = build(Network(Link(1000.0, 60), {"reno": Flows(3, Reno(), base_rtt=0.06)})).vector_field
    until, rates = 5.0, np.random.default_rng(1).uniform(1.0, 2.0, field.saved.size)
    ys = np.linspace(0.0, until, 6)[:, np.newaxis] * rates
    totals = totals_after_warmup(field.saved.unpack(ys), field, until, warmup)
    rate = field.saved.unpack(rates)
    assert totals.seconds == pytest.approx(until - warmup)
    per_s = {
        "delivered": rate.admitted,
        "admitted": 3 * rate.admitted,
        "lost": 3 * rate.dropped,
        "waited": rate.queue_integral,
        "work": 3 * rate.admitted,
        "backlog": rate.queue,
    }
    for name, expected in per_s.items():
        np.testing.assert_allclose(getattr(totals, name) / totals.seconds, expected, rtol=1e-12)

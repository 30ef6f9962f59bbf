"""What is read from states by name stands where the solver's history looks it up."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid import Cubic, DropTail, Flows, Link, Network, Reno, Vegas
from vegasfluid.fluid import build
from vegasfluid.fluid.output import delivered, queued_packet_size, totals_after_warmup


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


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        (1.5, 55 / 150),  # since 1.5 s: half of the second's packets, and all of the last
        (0.5, 50 / 100),  # since the sample before
    ],
)
def test_packets_that_wait_have_the_mean_size_of_those_that_came_while_they_waited(
    waiting: float, expected: float
) -> None:
    """A hundred packets came in each second, of sizes 1, 0.1 and 0.5; `waiting` is in seconds."""
    flows = {
        name: Flows(1, Reno(), base_rtt=0.06, direction=name) for name in ("forward", "reverse")
    }
    field = build(Network(Link(1000.0, 60), flows)).vector_field
    links = field.structure.link_count
    work, admitted = (
        np.tile(np.array(counter)[:, np.newaxis], links)
        for counter in ([0.0, 100.0, 110.0, 160.0], [0.0, 100.0, 200.0, 300.0])
    )
    backlog = np.full((4, links), 1000.0 * waiting)
    counters = {"work": work, "admitted": admitted}
    sizes = queued_packet_size(np.arange(4.0), backlog, counters, field)
    np.testing.assert_allclose(sizes[-1], expected, rtol=1e-12)

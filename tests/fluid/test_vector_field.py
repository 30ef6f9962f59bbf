"""Rates at one time, for a given past: of flows that send only part of the time."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Sessions
from vegasfluid.fluid import build
from vegasfluid.fluid.observables import Observables, observe
from vegasfluid.fluid.state import State, initial_state
from vegasfluid.fluid.vector_field import VectorField, derivatives

ARRIVED, LOST = 40.0, 0.5
"""Packets/s of a flow, in the mean over all time, that came to the queue and were lost there."""


class Steady(NamedTuple):
    """A past of counters that have grown evenly; those that are not given have not grown."""

    rates: np.ndarray

    def __call__(self, times: Any, components: Any = None) -> Any:
        return 0.0 * self.slope(times, components)

    def slope(self, times: Any, components: Any = None) -> Any:
        rates = jnp.asarray(self.rates)
        return rates if components is None else rates[components] + 0.0 * times


def now(transfers: float, in_timeout: float) -> tuple[State, Observables, VectorField]:
    """What web flows with these transfers observe, which are idle for this fraction of time."""
    flows = Flows(4, Reno(), base_rtt=0.1, traffic=Sessions(mean_gap=2.0, mean_size=3.0))
    field = build(Network(Link(1000.0, 500, Red(50, 200)), {"web": flows})).vector_field
    state = initial_state(field.parameters, field.populations, field.structure)
    (reno,) = state.classes
    state = state._replace(
        classes=(reno._replace(cwnd=jnp.array([10.0]), slow_start=jnp.zeros(1)),),
        transfers=jnp.array([transfers]),
        in_timeout=jnp.array([in_timeout]),
    )
    rates = np.zeros(field.layout.size)
    indices = field.layout.indices
    rates[indices.arrived], rates[indices.signalled] = ARRIVED, LOST
    return state, observe(50.0, state, field.delayed(50.0, Steady(rates)), field), field


@pytest.mark.parametrize(("transfers", "in_timeout"), [(1.0, 0.0), (0.5, 0.0), (0.5, 0.2)])
def test_losses_are_those_of_the_time_in_which_a_flow_sends(
    transfers: float, in_timeout: float
) -> None:
    """Its packets and its losses come in this time, so its probability of a loss is the same."""
    _, seen, _ = now(transfers, in_timeout)
    sending = transfers * (1 - in_timeout)
    assert float(seen.senders.losses.rate[0]) == pytest.approx(LOST / sending)
    assert float(seen.senders.losses.prob[0]) == pytest.approx(LOST / ARRIVED)
    assert float(seen.arriving[0]) == pytest.approx(sending * float(seen.senders.rate[0]))


def test_timeouts_are_counted_for_the_time_with_data() -> None:
    """A flow with data, in no timeout, has as many as it then enters; idle ones have none."""
    counted = {}
    for transfers in (1.0, 0.5):
        state, seen, field = now(transfers, 0.0)
        same = seen._replace(senders=now(1.0, 0.0)[1].senders)
        rates = derivatives(state, same, field)
        assert float(rates.in_timeout[0]) > 0.01
        counted[transfers] = float(rates.timeouts[0])
        assert counted[transfers] == pytest.approx(transfers * float(rates.in_timeout[0]))
    assert counted[0.5] == pytest.approx(0.5 * counted[1.0])

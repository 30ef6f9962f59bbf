"""Packets in excess of a buffer, by conservation, and chances of a drop by packet size."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.aqm.base import Average
from vegasfluid.fluid import build
from vegasfluid.fluid.queues import drop_probabilities, overflow_in_step
from vegasfluid.fluid.state import initial_state


@pytest.mark.parametrize("both_ways", [False, True])
def test_what_exceeds_the_buffer_after_a_step_is_lost_and_no_more(both_ways: bool) -> None:
    """The work of the packets lost is the excess; each hop loses the same part of its packets."""
    second = "reverse" if both_ways else "forward"
    flows = {
        "reno": Flows(4, Reno(), base_rtt=0.05),
        "vegas": Flows(3, Vegas(), base_rtt=0.05, direction=second),
    }
    field = build(Network(Link(1000.0, 50), flows)).vector_field
    parameters, structure = field.parameters, field.structure
    before = initial_state(parameters, field.populations, structure)
    drawn = np.random.default_rng(1).uniform(1.0, 9.0, (2, len(structure.hops)))
    arrived, dropped = jnp.asarray(drawn[0]), jnp.asarray(0.1 * drawn[1])
    over = np.linspace(2.0, 5.0, structure.queue_count)
    after = before._replace(admitted=arrived - dropped, queue=jnp.asarray(50.0 + over))
    lost = np.asarray(overflow_in_step(before, after, parameters, structure))
    sizes = np.array([40 / 1500 if hop.is_ack else 1.0 for hop in structure.hops])
    counts = np.array([[4, 3][hop.group] for hop in structure.hops])
    for queue, excess in enumerate(over):
        here = np.array([hop.queue == queue for hop in structure.hops])
        assert (lost * sizes * counts)[here].sum() == pytest.approx(excess)
        assert np.ptp((lost / (arrived - dropped))[here]) < 1e-12
    fits = after._replace(queue=jnp.full(structure.queue_count, 50.0))
    np.testing.assert_array_equal(overflow_in_step(before, fits, parameters, structure), 0.0)


def dropped_by(red: Red, ecn: bool) -> tuple[np.ndarray, np.ndarray]:
    """What a RED drops of data and ACKs at each hop, with an average queue between its thresholds.

    Also the sizes of the packets there, relative to data. Flows in both directions may be marked
    if `ecn`.
    """
    flows = {
        name: Flows(1, Reno(), base_rtt=0.05, direction=name, ecn=ecn)
        for name in ("forward", "reverse")
    }
    field = build(Network(Link(1000.0, 500, red), flows)).vector_field
    parameters, structure = field.parameters, field.structure
    state = initial_state(parameters, field.populations, structure)
    averages = tuple(Average(50.0) for _ in state.aqm_states)
    queues = jnp.full(structure.queue_count, 50.0)
    dropped = drop_probabilities(
        state._replace(aqm_states=averages, queue=queues),
        jnp.full(len(structure.hops), 400.0),
        parameters.queues.capacity,
        queues,
        1.0,
        parameters,
        structure,
    ).dropped
    sizes = np.array([40 / 1500 if hop.is_ack else 1.0 for hop in structure.hops])
    return np.asarray(dropped), sizes


@pytest.mark.parametrize("ecn", [False, True])
def test_a_red_in_bytes_drops_small_packets_in_proportion_to_their_size(ecn: bool) -> None:
    """red.cc: p_b = 0.05 in the middle of the thresholds, then 2 p_b / (3 - p_b), times the size.

    The queue marks nothing, so it does not matter whether a flow's packets may be marked.
    """
    red = Red(20, 80, max_drop=0.1, implementation="ns2", in_bytes=True)
    dropped, sizes = dropped_by(red, ecn)
    np.testing.assert_allclose(dropped, sizes * 2 * 0.05 / (3 - 0.05), rtol=1e-9)


def test_acks_are_dropped_where_data_are_marked() -> None:
    """RFC 3168, section 6.1.4: pure ACKs are sent as not ECN-capable."""
    red = Red(20, 80, max_drop=0.1, implementation="ns2", ecn=True)
    dropped, sizes = dropped_by(red, True)
    expected = np.where(sizes < 1, 2 * 0.05 / (3 - 0.05), 0.0)
    np.testing.assert_allclose(dropped, expected, rtol=1e-9, atol=1e-12)

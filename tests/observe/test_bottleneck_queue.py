"""The bottleneck's queue, its discipline and its buffer, from made losses and delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.made import BASE, BUFFER, CAPACITY, PERIOD, TIMES, drop_tail, samples, within
from vegasfluid.observe import Measurement, estimate, next_measurements
from vegasfluid.observe.network_file import model_text


def test_losses_at_all_lengths_are_not_those_of_a_drop_tail_queue():
    often = np.floor(TIMES * 2 / 3)
    flows = tuple(replace(flow, retransmitted_packets=often) for flow in drop_tail().flows)
    found = estimate(Measurement(flows))
    assert found.discipline.name == "red"
    assert not found.buffer.is_known
    assert "before the queue is full" in found.buffer.how


@pytest.mark.parametrize("losses_per_s", [8.0, 0.6])
def test_a_queue_that_hardly_changes_may_be_drop_tail_or_red(losses_per_s):
    """It oscillates between 85 and 100 packets, and packets are lost at all of these lengths."""
    length = 92.5 + 7.5 * np.sin(2 * np.pi * TIMES / PERIOD)
    rtt = BASE + length / CAPACITY
    seen = {"min_rtt_s": np.full(len(TIMES), BASE), "sender": "a", "receiver": "x", "rtt_s": rtt}
    seen |= {"retransmitted_packets": np.floor(TIMES * losses_per_s)}
    flows = tuple(samples(f"a:{k} > x", TIMES, 0.5, **seen) for k in (1, 2))
    found = estimate(Measurement(flows))
    assert found.discipline.name == ""
    assert "look alike" in found.discipline.how
    within(found.buffer, 100.0, 0.05)
    assert "if it is drop-tail" in found.buffer.how
    assert 'aqm = { name = "droptail" }' in model_text(found)
    assert next_measurements(found)[0].startswith("The queue discipline is not known.")


def test_without_losses_the_buffer_is_not_known():
    none = np.zeros(len(TIMES))
    flows = tuple(replace(flow, retransmitted_packets=none) for flow in drop_tail().flows)
    found = estimate(Measurement(flows))
    assert found.discipline.name == ""
    assert "was never full" in found.buffer.how
    assert 0.94 * BUFFER < found.buffer.low <= BUFFER  # what was seen, as accurate as RTTs are

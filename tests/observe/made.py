"""Measurements made by hand, whose network is known."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid.observe import FlowSamples, Measurement

CAPACITY, BASE, BUFFER = 1000.0, 0.0401, 100
"""Capacity (packets/s), base RTT (s) and buffer (packets) of the networks here."""
SEGMENT = 1448.0
TIMES = np.arange(0.0, 60.0, 0.1)
PERIOD = 5.0
"""Time between two losses, s: the queue grows from 20 packets to the buffer."""


def queue(time=TIMES):
    """A sawtooth that ends at the buffer, packets."""
    return 20 + (BUFFER - 20) * np.mod(time, PERIOD) / PERIOD


def samples(name, time, share, base=BASE, control="reno", **more):
    """A flow with this share of the link, in which the queue is a sawtooth."""
    rtt = base + queue(time) / CAPACITY
    values = {
        "congestion_control": control,
        "segment_bytes": SEGMENT,
        "window_packets": share * CAPACITY * rtt,
        "rtt_s": rtt,
        "min_rtt_s": np.minimum.accumulate(rtt),
        "delivered_bytes": share * CAPACITY * SEGMENT * time,
        "retransmitted_packets": 3.0 * np.floor(time / PERIOD + 1e-9),
    }
    return FlowSamples(name=name, source="made", time_s=time, **{**values, **more})


def drop_tail():
    """Two flows of Reno that fill a drop-tail queue; one has seen it empty."""
    least = np.full(len(TIMES), BASE)
    ends = {"min_rtt_s": least, "sender": "a", "receiver": "x"}
    flows = (samples("a:1 > x", TIMES, 0.6, **ends), samples("a:2 > x", TIMES, 0.4, **ends))
    return Measurement(flows)


def within(estimated, true, tolerance):
    """Check that an estimate and its interval agree with the true value."""
    assert estimated.value == pytest.approx(true, rel=tolerance)
    assert estimated.low <= true <= estimated.high

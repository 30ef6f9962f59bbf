"""Measurements of several files become one, on one clock."""

import numpy as np
import pytest

from vegasfluid.errors import InvalidInput
from vegasfluid.observe import FlowSamples, Measurement, QueueSamples, merge

TIMES = np.array([0.0, 1.0])


def test_files_with_clock_times_are_shifted_to_the_earliest_start():
    flow = FlowSamples("a", "ss.txt", TIMES, delivered_bytes=np.array([0.0, 10.0]))
    queue = QueueSamples("eth0", "1:", "root", "red", "tc.json", TIMES)
    parts = [
        Measurement((flow,), sources=("ss.txt",), start_unix_s=1002.5),
        Measurement((), (queue,), ("tc.json",), 1000.0),
        Measurement((FlowSamples("b", "", TIMES + 7.0),), sources=("trace.csv",)),
    ]
    merged = merge(parts)
    assert merged.start_unix_s == 1000.0
    assert merged.flows[0].time_s.tolist() == [2.5, 3.5]
    assert merged.flows[1].time_s.tolist() == [0.0, 1.0]
    assert merged.queues[0].time_s.tolist() == [0.0, 1.0]
    assert merged.notes == ("trace.csv: no clock times: taken to start with the first file.",)


def test_transferred_data_is_delivered_data_where_that_is_known():
    sent = np.array([5.0, 20.0])
    flow = FlowSamples("a", "x", TIMES, sent_bytes=sent)
    assert flow.transferred_bytes is sent
    both = FlowSamples("a", "x", TIMES, sent_bytes=sent, delivered_bytes=sent - 1)
    assert both.transferred_bytes is not None
    assert both.transferred_bytes.tolist() == [4.0, 19.0]


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ({"rtt_s": np.zeros(3)}, "a: rtt_s must be of the shape"),
        ({"time_s": np.array([1.0, 0.0])}, "a: time_s must be finite and in order"),
        ({"time_s": np.array([])}, "a: time_s must be a series with at least one sample"),
    ],
)
def test_series_must_fit_the_times(series, message):
    with pytest.raises(InvalidInput, match=message):
        FlowSamples("a", "x", **({"time_s": TIMES} | series))

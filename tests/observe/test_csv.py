"""CSV files: names, units and separators of columns, and what is rejected."""

import numpy as np
import pytest

from vegasfluid.observe import MeasurementFileError, read

KERNEL = """\
t,cwnd,ssthresh,rtt_us,minrtt_us,unacked,total_retrans,bytes_acked,state,delivered
0.100000,20,2147483647,44913,40000,20,0,14481,0,11
0.200000,74,2147483647,56054,40000,74,3,92673,0,65
"""
QUEUE = """\
t,qlen,backlog,drops,overlimits,bytes,packets
0.000000,0,0,0,0,0,0
0.040000,2,3028,1,0,74,1
"""


def written(tmp_path, text):
    file = tmp_path / "trace.csv"
    file.write_text(text)
    return file


def test_trace_of_a_kernel(tmp_path):
    measurement = read(written(tmp_path, KERNEL))
    (flow,) = measurement.flows
    assert measurement.start_unix_s is None
    assert flow.name == "trace"
    assert flow.time_s.tolist() == [0.1, 0.2]
    assert flow.window_packets.tolist() == [20.0, 74.0]
    assert flow.rtt_s == pytest.approx([0.044913, 0.056054])
    assert flow.min_rtt_s == pytest.approx([0.04, 0.04])
    assert flow.delivered_bytes.tolist() == [14481.0, 92673.0]
    assert flow.in_flight_packets.tolist() == [20.0, 74.0]
    assert flow.retransmitted_packets.tolist() == [0.0, 3.0]


def test_counters_of_a_queue(tmp_path):
    (queue,) = read(written(tmp_path, QUEUE)).queues
    assert queue.backlog_packets.tolist() == [0.0, 2.0]
    assert queue.backlog_bytes.tolist() == [0.0, 3028.0]
    assert queue.dropped_packets.tolist() == [0.0, 1.0]
    assert queue.sent_bytes.tolist() == [0.0, 74.0]
    assert queue.sent_packets.tolist() == [0.0, 1.0]


def test_units_in_brackets_flows_and_packet_sizes(tmp_path):
    text = (
        "# made by hand\n\n"
        'src;dst;"RTT (ms)";cwnd [KB];delivered;mss;timestamp;colour;cc\n'
        "a;b;40;14.48;3;1448;1700000000000;red;vegas\n"
        "c;b;;28.96;4;1448;1700000000000;red;cubic\n"
        "a;b;42.5;28.96;5;1448;1700000000500;red;vegas\n"
    ).replace("# made by hand\n", "")
    measurement = read(written(tmp_path, text))
    assert measurement.start_unix_s == 1.7e9
    first, second = measurement.flows
    assert (first.name, first.receiver, first.congestion_control) == ("a > b", "b", "vegas")
    assert first.time_s.tolist() == [0.0, 0.5]
    assert first.rtt_s == pytest.approx([0.04, 0.0425])
    assert first.window_packets == pytest.approx([10.0, 20.0])
    assert first.delivered_bytes.tolist() == [4344.0, 7240.0]
    assert first.segment_bytes == 1448.0
    assert second.rtt_s is None


def test_iso_times_and_a_line_that_was_cut(tmp_path):
    text = (
        "time\tcwnd\n"
        "2026-05-01T12:00:00+02:00\t10\n"
        "2026-05-01T12:00:01.5+02:00\t\n"
        "2026-05-01T12:00:02.5+02:00\t12\n"
        "2026-05-01T12"
    )
    measurement = read(written(tmp_path, text))
    assert measurement.start_unix_s == 1777629600.0
    (flow,) = measurement.flows
    assert flow.time_s.tolist() == [0.0, 1.5, 2.5]
    assert np.array_equal(flow.window_packets, [10.0, np.nan, 12.0], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,rtt\n0,1\n", "line 1: the name of column rtt must have a unit, such as rtt_ms."),
        ("t,cwnd\n0,1\n1,x\n", "line 3: window must be a number, but here is 'x'."),
        ("t,cwnd\n0,1\n1\n2,3\n", "line 3: a line must have 2 columns."),
        ("t,cwnd\n1,1\n0,1\n", "line 3: times must not go backwards, but here is '0'."),
        ("t,cwnd\n", "line 1: at least one line of samples must follow."),
        ("t,cwnd\n0,-1\n", "line 2: window must be at least 0, but here is '-1'."),
        ('t,cwnd\n0,"1\n', "line 2: the quotes must end, but here is '0,\"1'."),
        (
            "something\nelse\n",
            ": the content must be output of ss -tin, tc -s -j qdisc show, iperf3",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, text, message):
    file = written(tmp_path, text)
    with pytest.raises(MeasurementFileError) as caught:
        read(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(MeasurementFileError, match=r"nothing\.csv: No such file or directory\.$"):
        read(tmp_path / "nothing.csv")

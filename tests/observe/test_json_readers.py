"""Reports of iperf3 and output of tc: values read by hand, and what is rejected."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from tests.observe.samples import END, INTERVALS, IPERF3, START, TC
from vegasfluid.observe import MeasurementFileError, read


def written(tmp_path, text):
    file = tmp_path / "run.json"
    file.write_text(text)
    return file


def test_report_of_a_sender_with_two_streams(tmp_path):
    measurement = read(written(tmp_path, IPERF3))
    assert measurement.start_unix_s == 1.7e9
    first, second = measurement.flows
    assert first.name == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert second.name == "10.0.0.1:40002 > 10.0.0.2:5201"
    assert (first.vantage, first.congestion_control) == ("sender", "cubic")
    assert first.time_s.tolist() == [0.0, 1.0, 2.0]
    assert first.sent_bytes.tolist() == [0.0, 1_000_000.0, 2_250_000.0]
    assert first.retransmitted_packets.tolist() == [0.0, 3.0, 4.0]
    assert np.array_equal(first.window_packets, [np.nan, 100.0, 102.0], equal_nan=True)
    assert first.rtt_s[1:] == pytest.approx([0.042, 0.043])
    assert second.retransmitted_packets.tolist() == [0.0, 0.0, 2.0]


def test_a_sender_that_does_not_report_retransmissions_has_none(tmp_path):
    intervals = copy.deepcopy(INTERVALS)
    for interval in intervals:
        for stream in interval["streams"]:
            del stream["retransmits"]
    report = {"start": START, "intervals": intervals, "end": END}
    first, second = read(written(tmp_path, json.dumps(report))).flows
    assert first.vantage == second.vantage == "sender"
    assert first.retransmitted_packets is None
    assert second.retransmitted_packets is None


def test_report_of_an_old_version_without_rtts():
    measurement = read(Path(__file__).parent / "data" / "iperf-3.0.11.json")
    (flow,) = measurement.flows
    assert measurement.start_unix_s == 1498663888.0
    assert flow.name == "192.168.0.3:60166 > 192.168.0.188:9987"
    assert flow.time_s[-1] == 13.0001
    assert flow.sent_bytes[-1] == 1520994808.0
    assert flow.window_packets[1:7].tolist() == [396.0, 396.0, 396.0, 396.0, 396.0, 442.0]
    assert flow.rtt_s is None


def test_report_of_a_receiver_and_omitted_intervals(tmp_path):
    intervals = copy.deepcopy(INTERVALS)
    for number, interval in enumerate(intervals):
        interval["streams"] = [
            {"socket": 5, "start": 0, "end": 1, "bytes": 7000, "omitted": number == 0}
        ]
    start = START | {"accepted_connection": {"host": "10.0.0.2"}}
    (flow,) = read(
        written(tmp_path, json.dumps({"start": start, "intervals": intervals, "end": {}}))
    ).flows
    assert flow.name == "10.0.0.2:5201 > 10.0.0.1:40000"
    assert flow.vantage == "receiver"
    assert flow.time_s.tolist() == [0.0, 1.0, 2.0]
    assert flow.delivered_bytes.tolist() == [0.0, 7000.0, 14000.0]
    assert flow.rtt_s is None


def test_a_report_as_a_stream_and_one_that_was_cut_have_the_same_samples(tmp_path):
    whole = read(written(tmp_path, IPERF3)).flows[0]
    events = [("start", START), *(("interval", each) for each in INTERVALS), ("end", END)]
    lines = "\n".join(json.dumps({"event": name, "data": data}) for name, data in events)
    streamed = read(written(tmp_path, lines)).flows[0]
    assert streamed.sent_bytes.tolist() == whole.sent_bytes.tolist()
    cut = read(written(tmp_path, IPERF3[: IPERF3.index("147696") + 3]))
    assert cut.flows[0].sent_bytes.tolist() == [0.0, 1_000_000.0]
    assert cut.notes[0].endswith("the report is incomplete; its complete intervals were read.")


def test_queues_over_time(tmp_path):
    measurement = read(written(tmp_path, TC))
    assert measurement.start_unix_s == 1.7e9
    red, codel = measurement.queues
    assert (red.interface, red.handle, red.parent, red.kind) == ("eth0", "10:", "1:1", "red")
    assert red.parameters["limit"] == 151400.0
    assert red.parameters["ecn"] is True
    assert red.time_s.tolist() == [0.0, 1.5]
    assert red.sent_bytes.tolist() == [1000.0, 9000.0]
    assert red.sent_packets.tolist() == [10.0, 20.0]
    assert red.dropped_packets.tolist() == [17.0, 19.0]
    assert red.overflow_packets.tolist() == [5.0, 5.0]
    assert red.marked_packets.tolist() == [7.0, 7.0]
    assert (red.backlog_packets[0], red.backlog_bytes[0]) == (3.0, 4542.0)
    assert (codel.parent, codel.kind) == ("root", "codel")
    assert codel.delay_s.tolist() == [0.00125]
    assert (codel.dropped_packets[0], codel.overflow_packets[0]) == (6.0, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (IPERF3.replace("1250000", '"x"'), "line 1: a report of iperf3 --json must have streams"),
        (IPERF3.replace('"TCP"', '"UDP"'), "line 1: iperf3: the test must be of TCP."),
        (
            json.dumps({"start": START, "intervals": [], "error": "unable to connect"}),
            "line 1: iperf3: the report must have intervals (unable to connect).",
        ),
        (TC.replace(':20+00:00\n[{"kind"', ":20+00:00\n[kind"), "line 2: the text must be JSON"),
        (TC.replace("22:13:21", "22:13:19"), "line 3: times must not go backwards."),
        (TC.replace('"drops":19', '"drops":[]'), "line 4: the document must be a list of disc"),
        ("\n".join(TC.split("\n")[1::2]), "line 2: documents need times"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, text, message):
    file = written(tmp_path, text)
    with pytest.raises(MeasurementFileError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}, {message}")


def test_acks_that_cakes_filter_takes_out_are_no_drops(tmp_path):
    """Tins as Linux's sch_cake.c writes them: of 100 drops, 12 are of packets, 88 of ACKs."""
    tins = [
        {"sent_packets": 500, "drops": 10, "ecn_mark": 3, "ack_drops": 60, "avg_delay_us": 266},
        {"sent_packets": 400, "drops": 2, "ecn_mark": 1, "ack_drops": 28, "avg_delay_us": 900},
    ]
    counters = {"bytes": 1000, "packets": 900, "drops": 100, "backlog": 0, "qlen": 0}
    cake = {"kind": "cake", "handle": "8007:", "dev": "eth0", "options": {}, **counters}
    text = f"1700000000.0\n{json.dumps([cake | {'tins': tins}])}\n"
    (queue,) = read(written(tmp_path, text)).queues
    assert queue.dropped_packets.tolist() == [12.0]
    assert queue.marked_packets.tolist() == [4.0]
    assert queue.delay_s == pytest.approx([9e-4])

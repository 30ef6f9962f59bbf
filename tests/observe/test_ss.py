"""Output of `ss -tin`: values read by hand, forms of several versions, and what is rejected."""

import pytest

from tests.observe.samples import SS
from vegasfluid.observe import MeasurementFileError, read


def written(tmp_path, text):
    file = tmp_path / "ss.txt"
    file.write_text(text)
    return file


def test_a_sender_and_a_receiver_over_time(tmp_path):
    measurement = read(written(tmp_path, SS))
    assert measurement.start_unix_s == 1.7e9
    sender, receiver = measurement.flows
    assert sender.name == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert (sender.vantage, sender.receiver) == ("sender", "10.0.0.2")
    assert (sender.congestion_control, sender.segment_bytes) == ("vegas", 1448.0)
    assert sender.time_s.tolist() == [0.0, 0.5]
    assert sender.window_packets.tolist() == [50.0, 51.0]
    assert sender.rtt_s == pytest.approx([0.0425, 0.044])
    assert sender.min_rtt_s == pytest.approx([0.040125, 0.040125])
    assert sender.delivered_bytes.tolist() == [144801.0 + 3 * 1448, 434400.0]  # 3 selective ACKs
    assert sender.sender == "10.0.0.1"
    assert sender.sent_bytes.tolist() == [200000.0 - 2896.0, 500000.0 - 2896.0]
    assert sender.in_flight_packets.tolist() == [38.0, 42.0]
    assert sender.retransmitted_packets.tolist() == [2.0, 2.0]
    assert receiver.name == "10.0.0.3:40001 > 10.0.0.1:5202"
    assert (receiver.vantage, receiver.congestion_control) == ("receiver", None)
    assert receiver.delivered_bytes.tolist() == [500000.0, 900000.0]
    assert receiver.window_packets is None


LINES = """\
Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port
tcp ESTAB 0 0 [2001:db8::1]:443 [2001:db8::2]:50000 uid:1000 ino:5 sk:1 <-> ts sack bbr rto:204\
 rtt:1.5/0.75 mss:1428 cwnd:10 bytes_acked:100 bbr:(bw:9Mbps,mrtt:1.2) users:(("a b",pid=1))
Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port
tcp ESTAB 0 0 [2001:db8::1]:443 [2001:db8::2]:50000
\t ts sack bbr wscale:7,7
\t rto:204 rtt:2/0.75 mss:1428
\t cwnd:20 bytes_acked:5000
tcp ESTAB 0 0 10.0.0.1:1 10.0.0.2:2
\t reno rtt:30/1 cwnd:3 delivered:5 mss:1000
"""
"""IPv6, one line (`-O`) and wrapped lines; delivered packets, but no bytes."""


def test_listings_at_an_interval(tmp_path):
    first, second = read(written(tmp_path, LINES), interval=0.25).flows
    assert first.name == "[2001:db8::1]:443 > [2001:db8::2]:50000"
    assert first.congestion_control == "bbr"
    assert first.time_s.tolist() == [0.0, 0.25]
    assert first.rtt_s == pytest.approx([0.0015, 0.002])
    assert first.window_packets.tolist() == [10.0, 20.0]
    assert second.delivered_bytes.tolist() == [5000.0]
    assert second.congestion_control == "reno"
    with pytest.raises(MeasurementFileError, match="line 4: listings need times: date"):
        read(written(tmp_path, LINES))


def test_a_connection_between_the_same_ports_is_another_flow(tmp_path):
    text = "".join(
        f"{time}\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n reno rtt:30/1 cwnd:3 bytes_acked:{acked}\n"
        for time, acked in ((1, 100), (2, 900), (3, 50), (4, 60))
    )
    first, second = read(written(tmp_path, text)).flows
    assert first.delivered_bytes.tolist() == [100.0, 900.0]
    assert second.name == "10.0.0.1:1 > 10.0.0.2:2 (2)"
    assert second.time_s.tolist() == [3.0, 4.0]


def test_each_line_may_have_its_time(tmp_path):
    lines = [
        "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2",
        "\t reno rtt:30/1 cwnd:3",
        "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2",
        "\t reno rtt:31/1 cwnd:4",
    ]
    text = "".join(f"170000000{n // 2}.25 {line}\n" for n, line in enumerate(lines))
    measurement = read(written(tmp_path, text))
    (flow,) = measurement.flows
    assert measurement.start_unix_s == 1700000000.25
    assert flow.time_s.tolist() == [0.0, 1.0]
    assert flow.window_packets.tolist() == [3.0, 4.0]


def test_a_value_that_the_end_of_the_file_cuts_is_left_out(tmp_path):
    (flow,) = read(written(tmp_path, SS.partition("ESTAB 0 0 [")[0] + "1700000001\n" + CUT)).flows
    assert flow.window_packets.tolist() == [50.0]


CUT = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5201\n\t vegas rtt:40/1 cwnd:5"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cwnd:51", "cwnd:5x", "line 12: cwnd must be a number from 0 on, but here is 'cwnd:5x'."),
        ("000.5", "000.0\n1699999999.5", "line 10: times must not go backwards, but here is"),
        ("rtt:44/1.25", "rtt:nan", "line 12: rtt must be a number"),
        ("acked:144801", "acked:-1", "line 6: bytes_acked must be a number from 0 on"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, old, new, message):
    file = written(tmp_path, SS.replace(old, new))
    with pytest.raises(MeasurementFileError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}, {message}")


def test_a_loop_that_lists_no_connection_at_first(tmp_path):
    """It was not recognised where the first 64 KiB have none."""
    header = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process"
    empty = "".join(f"{1_699_990_000 + number}\n{header}\n" for number in range(2000))
    file = tmp_path / "long.txt"
    file.write_text(empty + SS)
    found, usual = read(file).flows, read(written(tmp_path, SS)).flows
    assert [flow.name for flow in found] == [flow.name for flow in usual]
    file.write_text(empty)
    with pytest.raises(MeasurementFileError, match="the listings must have connections"):
        read(file)


def limited(tmp_path, *times):
    """Notes on listings of a flow with these words of its times, half a second apart."""
    header = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
    line = "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic rtt:30/1 mss:1448 cwnd:3 bytes_acked:{} {}\n"
    listings = [header + line.format(1000 * k, words) for k, words in enumerate(times, 1)]
    return read(written(tmp_path, "".join(listings)), interval=0.5).notes


def test_flows_that_hosts_limit_are_noted(tmp_path):
    """The fraction between the first and the last listing: (300 - 100) of (1000 - 500) ms."""
    (note,) = limited(
        tmp_path, "busy:500ms rwnd_limited:100ms(20.0%)", "busy:1000ms rwnd_limited:300ms(30.0%)"
    )
    assert "hosts limited 1 of 1 flows, for up to 40% of the time" in note
    (note,) = limited(tmp_path, "busy:500ms rwnd_limited:30ms(6.0%) sndbuf_limited:60ms(12.0%)")
    assert "for up to 18% of the time" in note
    assert (
        limited(
            tmp_path,
            "busy:500ms rwnd_limited:500ms(100.0%)",
            "busy:9500ms rwnd_limited:500ms(5.3%)",
        )
        == ()
    )
    assert limited(tmp_path, "busy:500ms", "busy:1000ms rwnd_limited:20ms(2.0%)") == ()
    assert limited(tmp_path, "") == ()


def test_a_time_that_is_no_number_is_rejected_with_its_line(tmp_path):
    with pytest.raises(MeasurementFileError, match="line 3: busy must be a number from 0 on"):
        limited(tmp_path, "busy:xms")

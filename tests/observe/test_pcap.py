"""Captures at a sender, at a receiver and between them: RTTs, data in flight, retransmissions."""

import struct

import numpy as np
import pytest

from tests.observe import samples as written
from tests.observe.samples import ACK, SYN, pcap, pcapng, tcp_packet
from vegasfluid.observe import MeasurementFileError, read
from vegasfluid.observe.readers import pcap as pcap_reader

SIZE = 1448
RTT, START = 0.04, 1_700_000_000.0


def transfer(sender_side, receiver_side, stamps=True, first=4_294_960_000):
    """A transfer of 12 packets whose 4th is lost, captured between the ends.

    Args:
        sender_side: round trip between the capture and the sender, s.
        receiver_side: round trip between the capture and the receiver, s.
        stamps: whether packets have time stamps.
        first: first sequence number, which passes 2**32 in the transfer.
    """
    packets = []

    def add(time, is_forward, seq, ack, flags, size=0):
        mine = (int(time * 1e3) + 7 * is_forward + 1, int((time - 0.0) * 1e3) or 1)
        values = None
        if stamps:
            values = (mine[0], last_stamp[not is_forward])
            last_stamp[is_forward] = mine[0]
        data = tcp_packet(is_forward, seq % 2**32, ack, flags, size, values)
        packets.append((START + time, data))

    last_stamp = {True: 0, False: 0}
    rtt = sender_side + receiver_side
    add(0.0, True, first, 0, SYN)
    add(receiver_side, False, 99, (first + 1) % 2**32, SYN | ACK)
    add(rtt, True, first + 1, 100, ACK)
    seq, now = first + 1, rtt
    for count in (2, 4, 6):
        for number in range(count):
            add(now + number * 1e-3, True, seq + number * SIZE, 100, ACK, SIZE)
        seq += count * SIZE
        add(now + receiver_side + (count - 1) * 1e-3, False, 100, seq % 2**32, ACK)
        now += rtt + (count - 1) * 1e-3
    add(now, True, seq - SIZE, 100, ACK, SIZE)
    return packets


def flow_of(tmp_path, data):
    file = tmp_path / "capture.pcap"
    file.write_bytes(data)
    (flow,) = read(file).flows
    return flow


@pytest.mark.parametrize(
    ("sides", "vantage"),
    [((0.0005, RTT), "sender"), ((RTT, 0.0005), "receiver"), ((0.02, 0.02), None)],
)
def test_round_trips_wherever_the_capture_is(tmp_path, sides, vantage):
    flow = flow_of(tmp_path, pcap(transfer(*sides)))
    assert flow.vantage == vantage
    assert flow.name == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert flow.segment_bytes == SIZE
    assert np.nanmin(flow.min_rtt_s) == pytest.approx(RTT, abs=2e-3)
    assert np.nanmean(flow.rtt_s) == pytest.approx(RTT, abs=4e-3)
    assert flow.delivered_bytes[-1] == 12 * SIZE
    assert flow.sent_bytes[-1] == 12 * SIZE
    assert flow.retransmitted_packets[-1] == 1.0


def test_pcapng_and_pcap_are_the_same(tmp_path):
    packets = transfer(0.0005, RTT, stamps=False)
    first, second = (flow_of(tmp_path, form(packets)) for form in (pcap, pcapng))
    assert first.rtt_s.tolist() == second.rtt_s.tolist()
    assert first.time_s.tolist() == second.time_s.tolist()


def test_retransmissions_give_no_round_trips_and_gaps_are_seen_at_the_receiver(tmp_path):
    seq = 1000
    times = [
        (0.0, True, 0),
        (0.001, True, 2),
        (0.0015, True, 1),
        (0.01, False, 3),
        (0.02, True, 4),
        (0.09, True, 3),
        (0.5, False, 5),
    ]
    packets = [
        (
            START + time,
            tcp_packet(True, seq + number * SIZE, 1, ACK, SIZE, None)
            if is_forward
            else tcp_packet(False, 1, seq + number * SIZE, ACK, 0, None),
        )
        for time, is_forward, number in times
    ]
    flow = flow_of(tmp_path, pcap(packets))
    assert flow.retransmitted_packets[-1] == 1.0
    known = flow.rtt_s[np.isfinite(flow.rtt_s)]
    assert known == pytest.approx([0.0085], abs=2e-3)
    assert flow.in_flight_packets[-1] == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:20] + struct.pack("<I", 105) + data[24:], ": link type 105 is not"),
        (
            lambda data: data[:32] + struct.pack("<I", 10**9) + data[36:],
            ", packet 1: the capture must",
        ),
        (lambda data: data[:24], ": the capture must have TCP connections with data."),
        (
            lambda data: data + pcap([(START - 9, b"")])[24:],
            "packet 20: times must not go backwards.",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_packet(tmp_path, change, message):
    with pytest.raises(MeasurementFileError) as caught:
        flow_of(tmp_path, change(pcap(transfer(0.0005, RTT))))
    assert message in str(caught.value)


@pytest.mark.parametrize("reused", [False, True])
def test_the_number_of_connections_is_limited_also_where_ports_are_reused(
    tmp_path, monkeypatch, reused
):
    """Each SYN with another number begins a connection: three are read, four are not."""
    monkeypatch.setattr(pcap_reader, "MOST_CONNECTIONS", 3)
    file = tmp_path / "capture.pcap"
    for count in (3, 4):
        packets = []
        for number in range(count):
            monkeypatch.setattr(written, "PORTS", (40_000 + (0 if reused else number), 5201))
            first = 1000 * number
            packets.append((number + 0.0, tcp_packet(True, first, 0, SYN, 0, None)))
            packets.append((number + 0.1, tcp_packet(True, first + 1, 1, ACK, SIZE, None)))
        file.write_bytes(pcap(packets))
        if count == 3:
            assert len(read(file).flows) == 3
    with pytest.raises(MeasurementFileError, match="at most 3 connections"):
        read(file)


def test_a_capture_that_was_cut_is_read_up_to_there(tmp_path):
    file = tmp_path / "cut.pcap"
    file.write_bytes(pcap(transfer(0.0005, RTT))[:-50])
    measurement = read(file)
    assert measurement.notes == (f"{file}: the capture ends within packet 19.",)
    assert measurement.flows[0].delivered_bytes[-1] == 12 * SIZE

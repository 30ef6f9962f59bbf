r"""Logs of tcp_probe, in the forms that the kernel prints.

The module (Linux 4.15, net/ipv4/tcp_probe.c, tcpprobe_sprint):
    "%lu.%09lu %pISpc %pISpc %d %#x %#x %u %u %u %u %u\n": time, source, destination, length,
    snd_nxt, snd_una, snd_cwnd, ssthresh, snd_wnd, srtt, rcv_wnd.
The trace event (Linux 6.1, include/trace/events/tcp.h): name=value; srtt is srtt_us >> 3.
"""

import numpy as np
import pytest

from tests.observe.samples import TCP_PROBE, TCP_PROBE_EVENTS
from vegasfluid.observe import MeasurementFileError, estimate, read

SEGMENT, RTT, WINDOW = 1448, 0.04, 20
FIRST = 0xFFFF0000
"""Sequence number of the first byte: numbers begin again at 0 within the log."""


def module_log(
    unit: float = 1e-6,
    ends: str = "10.0.0.1:40000 10.0.0.2:5201",
    seconds: float = 2.0,
    acked: int = 2 * SEGMENT,
) -> str:
    """Log of a sender with a constant window: an ACK for two packets comes every two times RTT / W.

    The kernel writes a line before it takes the ACK, so that the line has what was sent and
    acknowledged until then.

    Args:
        unit: unit of srtt, s.
        ends: both ends.
        seconds: length of the log, s.
        acked: data that an ACK acknowledges, bytes.
    """
    lines, gap = [], 2 * RTT / WINDOW
    for count in range(round(seconds / gap)):
        una = (FIRST + count * acked) % 2**32
        nxt = (una + WINDOW * SEGMENT) % 2**32
        numbers = f"{nxt:#x} {una:#x} {WINDOW} 10 65160 {round(RTT / unit)} 29312"
        lines.append(f"{count * gap:.9f} {ends} 32 {numbers}\n")
    return "".join(lines)


def read_text(tmp_path, text: str):
    """The measurement in a file with this text."""
    file = tmp_path / "probe.txt"
    file.write_text(text)
    return read(file)


def test_the_module_s_log(tmp_path):
    found = read_text(tmp_path, TCP_PROBE)
    (flow,) = found.flows
    assert flow.name == "10.0.0.1:40000 > 10.0.0.2:5201"
    assert (flow.vantage, flow.sender, flow.receiver) == ("sender", "10.0.0.1", "10.0.0.2")
    assert flow.time_s.tolist() == [0.04010025, 0.0803005, 0.12050075]
    assert flow.window_packets is not None
    assert flow.window_packets.tolist() == [10, 12, 14]
    assert flow.rtt_s is not None
    assert flow.rtt_s == pytest.approx([0.0401, 0.040125, 0.04025])
    assert flow.delivered_bytes is not None
    assert flow.delivered_bytes.tolist() == [0, 2896, 5792]
    assert flow.in_flight_packets is not None
    assert flow.in_flight_packets.tolist() == [2, 2, 2]
    assert flow.segment_bytes == 1448
    assert flow.is_smoothed
    assert found.start_unix_s is None
    assert found.notes == ()


def test_the_trace_event(tmp_path):
    found = read_text(tmp_path, TCP_PROBE_EVENTS)
    (flow,) = found.flows
    assert flow.name == "10.0.1.1:58760 > 10.0.0.1:5201"
    assert flow.time_s.tolist() == [1892.576997, 1892.577097]
    assert flow.rtt_s == pytest.approx([105e-6, 110e-6])
    assert flow.delivered_bytes is not None
    assert flow.delivered_bytes.tolist() == [0, 65536]
    assert "lost 12 events" in found.notes[0]
    assert "1448 B" in found.notes[1]


@pytest.mark.parametrize(
    "line",
    [
        # Linux, Documentation/trace/histogram.rst
        "<idle>-0 [004] ..s7 49.823798: tcp_probe: src=10.0.0.10:54326 dest=23.215.104.193:80"
        " mark=0x0 length=32 snd_nxt=0xe3ae2ff5 snd_una=0xe3ae2ecd snd_cwnd=10 ssthresh=2147483647"
        " snd_wnd=28960 srtt=19604 rcv_wnd=29312",
        # trace-cmd report
        " iperf3-3829 [003] 49.823798: tcp_probe: family=AF_INET src=10.0.0.10:54326"
        " dest=23.215.104.193:80 mark=0 data_len=0 snd_nxt=0xe3ae2ff5 snd_una=0xe3ae2ecd"
        " snd_cwnd=10 ssthresh=2147483647 snd_wnd=28960 srtt=19604 rcv_wnd=29312 sock_cookie=1",
        # perf script
        "swapper 0 [001] 49.823798: tcp:tcp_probe: family=AF_INET6 src=[::ffff:10.0.0.10]:54326"
        " dest=[::ffff:23.215.104.193]:80 mark=0 data_len=0 snd_nxt=0xe3ae2ff5 snd_una=0xe3ae2ecd"
        " snd_cwnd=10 ssthresh=2147483647 snd_wnd=28960 srtt=19604 rcv_wnd=29312",
    ],
)
def test_forms_of_the_trace_event(tmp_path, line):
    (flow,) = read_text(tmp_path, line + "\n").flows
    assert flow.name == "10.0.0.10:54326 > 23.215.104.193:80"
    assert flow.time_s.tolist() == [49.823798]
    assert flow.window_packets is not None
    assert flow.window_packets.tolist() == [10]
    assert flow.rtt_s == pytest.approx([0.019604])


def test_a_line_of_ipv6_without_the_receive_window(tmp_path):
    line = "1.5 [2001:db8::1]:5001 [2001:db8::2]:80 20 0x5 0 10 7 65160 40100\n"
    (flow,) = read_text(tmp_path, line).flows
    assert flow.name == "[2001:db8::1]:5001 > [2001:db8::2]:80"


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1 / 300, 4e-3, 1e-2])
def test_srtt_is_in_microseconds_or_in_jiffies(tmp_path, unit):
    found = read_text(tmp_path, module_log(unit))
    (flow,) = found.flows
    assert flow.rtt_s == pytest.approx(np.full(len(flow.time_s), RTT))
    assert bool(found.notes) == (unit != 1e-6)
    assert all("jiffies" in note for note in found.notes)


def test_without_acknowledged_data_srtt_is_taken_to_be_in_microseconds(tmp_path):
    line = "1.5 10.0.0.1:5001 10.0.0.2:80 20 0x5 0x1 10 7 65160 40100 29312\n"
    found = read_text(tmp_path, line)
    assert found.flows[0].rtt_s == pytest.approx([0.0401])
    assert "microseconds" in found.notes[0]


def test_sequence_numbers_that_begin_again_at_0(tmp_path):
    (flow,) = read_text(tmp_path, module_log()).flows
    assert flow.delivered_bytes is not None
    steps = np.diff(flow.delivered_bytes)
    assert steps.tolist() == [2 * SEGMENT] * len(steps)
    assert FIRST + flow.delivered_bytes[-1] > 2**32
    assert flow.in_flight_packets is not None
    assert set(flow.in_flight_packets) == {WINDOW}


def test_the_receiver_s_end_on_the_same_host_delivers_nothing(tmp_path):
    own = module_log().splitlines(keepends=True)
    other = module_log(ends="10.0.0.2:5201 10.0.0.1:40000", acked=0).splitlines(keepends=True)
    text = "".join(line for pair in zip(own, other, strict=True) for line in pair)
    sender, receiver = read_text(tmp_path, text).flows
    assert receiver.name == "10.0.0.2:5201 > 10.0.0.1:40000"
    for flow, least in ((sender, SEGMENT), (receiver, 0)):
        assert flow.delivered_bytes is not None
        assert np.ptp(flow.delivered_bytes) >= least
    assert receiver.delivered_bytes is not None
    assert receiver.delivered_bytes.tolist() == [0] * len(own)


def test_a_later_connection_between_the_same_ports_is_another_flow(tmp_path):
    line = "{} 10.0.0.1:5001 10.0.0.2:80 20 {:#x} {:#x} 10 7 65160 40100 29312\n"
    steps = [(1.0, 2896, 0), (1.1, 5792, 2896), (9.0, 0x90000B50, 0x90000000)]
    flows = read_text(tmp_path, "".join(line.format(*each) for each in steps)).flows
    assert [flow.name for flow in flows] == [
        "10.0.0.1:5001 > 10.0.0.2:80",
        "10.0.0.1:5001 > 10.0.0.2:80 (2)",
    ]
    assert [len(flow.time_s) for flow in flows] == [2, 1]


@pytest.mark.parametrize("text", [TCP_PROBE, TCP_PROBE_EVENTS])
def test_a_last_line_that_is_cut_is_left_out(tmp_path, text):
    whole = read_text(tmp_path, text).flows[0].time_s
    for cut in (2, 9, 40):
        (flow,) = read_text(tmp_path, text[:-cut]).flows
        assert flow.time_s.tolist() == whole[:-1].tolist()


def test_a_bad_line_is_named(tmp_path):
    lines = TCP_PROBE.splitlines(keepends=True)
    lines[1] = lines[1].replace("0x10000b50", "Zz")
    with pytest.raises(MeasurementFileError, match="line 2: the line must have the fields"):
        read_text(tmp_path, "".join(lines))
    events = TCP_PROBE_EVENTS.replace("snd_cwnd=11", "snd_cwnd=x")
    with pytest.raises(MeasurementFileError, match="line 8: the line must have the fields"):
        read_text(tmp_path, events)


def test_times_must_not_go_backwards(tmp_path):
    lines = TCP_PROBE.splitlines(keepends=True)
    with pytest.raises(MeasurementFileError, match="line 2: times must not go backwards"):
        read_text(tmp_path, "".join(lines[::-1]))


def test_a_log_can_be_estimated(tmp_path):
    """W packets every RTT, and no queue: the rate W / RTT is only a lower bound of the capacity."""
    file = tmp_path / "probe.txt"
    file.write_text(module_log(seconds=20.0))
    found = estimate(read(file))
    assert found.span == pytest.approx(18.0, rel=0.01)
    assert found.capacity.value is None
    assert found.capacity.low == pytest.approx(WINDOW / RTT, rel=0.01)
    (only,) = found.classes
    assert only.base_rtt.value == pytest.approx(RTT, rel=0.02)


def test_a_base_rtt_in_jiffies_is_as_uncertain_as_a_jiffy(tmp_path):
    """41 ms are 10 jiffies of 4 ms, as all RTTs from 40 to 44 ms are."""
    file = tmp_path / "probe.txt"
    file.write_text(module_log(4e-3, seconds=20.0))
    (only,) = estimate(read(file)).classes
    assert only.base_rtt.value == pytest.approx(0.042)
    assert only.base_rtt.high == pytest.approx(0.044)

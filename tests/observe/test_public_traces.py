"""Measurements that nobody of this project made: what is read and estimated is what is in them.

Sources and licences are in `data/public/README.md`. The expected numbers are not of the readers:
they are the totals that a report states itself, sums over the files by jq or by hand, tcptrace
6.6.7 (the capture), and what the authors state of their networks (Flent: the title in the file).
"""

import json

import numpy as np
import pytest

from tests.paths import ROOT
from vegasfluid.errors import InvalidInput
from vegasfluid.observe import Measurement, MeasurementFileError, estimate, read
from vegasfluid.observe.measurement import FlowSamples

DATA = ROOT / "tests" / "observe" / "data" / "public"
HEADERS = 1500 / 1448
"""Bytes of a full packet relative to its data."""


def public(name: str) -> Measurement:
    """What is read from a file of `data/public`."""
    return read(DATA / name)


def ends(series: np.ndarray | None) -> tuple[float, float]:
    """Smallest and largest value of a series that is known."""
    assert series is not None
    return float(np.nanmin(series)), float(np.nanmax(series))


def increase(series: np.ndarray | None) -> float:
    """Increase of a counter from its first to its last known value."""
    assert series is not None
    known = series[np.isfinite(series)]
    return float(known[-1] - known[0])


def mbps(data: float, seconds: float) -> float:
    """Rate on the wire, Mbit/s, of data (bytes) in full packets."""
    return data * 8e-6 * HEADERS / seconds


@pytest.mark.parametrize(
    ("name", "flow", "seconds", "data", "resent", "least", "most", "window"),
    [
        (
            "iperf3_lan.json",
            "10.0.2.15:33600 > 10.0.2.4:5201",
            10.001024,
            486_643_200,
            159,
            1.875e-3,
            67e-3,
            231_680,
        ),
        (
            "iperf3_wan.json",
            "150.254.208.65:40574 > 140.182.44.177:5201",
            20.000146,
            67_980_880,
            281,
            133.798e-3,
            138.924e-3,
            1_206_184,
        ),
    ],
)
def test_a_report_of_iperf3_has_the_totals_that_it_states(
    name, flow, seconds, data, resent, least, most, window
):
    measurement = public(name)
    (found,) = measurement.flows
    assert found.name == flow
    assert found.vantage == "sender"
    assert found.time_s[-1] == pytest.approx(seconds, abs=1e-6)
    assert increase(found.sent_bytes) == data
    assert increase(found.retransmitted_packets) == resent
    assert ends(found.rtt_s) == pytest.approx((least, most))
    assert ends(found.window_packets)[1] == window / 1448
    assert found.delivered_bytes is None  # a sender's report counts what it writes
    end = json.loads((DATA / name).read_text())["end"]["streams"][0]["sender"]
    assert (end["bytes"], end["retransmits"]) == (data, resent)


def test_ten_samples_are_too_few_and_the_message_says_so():
    with pytest.raises(InvalidInput, match="of 1 flow, the longest has 10 samples of RTT and data"):
        estimate(public("iperf3_lan.json"))


def test_the_wide_area_report_gives_bounds_only():
    """Received, by the report's end: 63 723 584 of 67 980 880 B, so the rest was in the buffer."""
    found = estimate(public("iperf3_wan.json"))
    (only,) = found.classes
    assert only.control == "htcp"
    assert only.base_rtt.low <= 0.1335 <= only.base_rtt.high
    assert only.base_rtt.value == pytest.approx(0.133798)
    assert found.competitors is None
    assert not found.capacity.is_known
    first = 2_114_080 + 2_150_280  # written in the 2 s that are left out
    low = found.capacity.low * 1500 * 8e-6
    assert 0.5 * mbps(63_723_584 - first, 18.0) <= low <= mbps(63_723_584, 18.0)
    written = 67_980_880 - first - 7_864_320  # up to the last whole second
    assert found.loss_fraction == pytest.approx((281 - 35) / (written / 1448), rel=0.01)


def test_four_flows_in_one_machine():
    """Sums over the 20 s by jq; all of 17 Gbit/s are limited by the machine, not by a link."""
    measurement = public("iperf3_mininet.json")
    names = [f"10.0.0.1:{port} > 10.0.0.2:5201" for port in (59632, 59634, 59636, 59638)]
    assert [flow.name for flow in measurement.flows] == names
    sums = [10_844_937_120, 10_844_806_048, 10_844_740_888, 10_844_740_888]
    assert [increase(flow.sent_bytes) for flow in measurement.flows] == sums
    rtts = [(19, 462), (20, 456), (19, 472), (19, 405)]
    for flow, (least, most) in zip(measurement.flows, rtts, strict=True):
        assert ends(flow.rtt_s) == pytest.approx((least * 1e-6, most * 1e-6))
        assert increase(flow.retransmitted_packets) == 0
    found = estimate(measurement)
    assert not found.capacity.is_known
    assert found.competitors is None
    assert found.capacity.low * 1500 * 8e-6 <= mbps(sum(sums), 20.0) * 1.05
    assert found.capacity.low * 1500 * 8e-6 == pytest.approx(mbps(sum(sums), 20.0), rel=0.05)
    assert not found.buffer.is_known


def test_both_directions_of_a_report():
    local = "127.0.0.1"
    flows = {flow.name: flow for flow in public("iperf3_both_directions.json").flows}
    forth = [f"{local}:{port} > {local}:5201" for port in (40756, 40768)]
    back = [f"{local}:5201 > {local}:{port}" for port in (40782, 40788)]
    assert list(flows) == forth + back
    for name, rtt in zip(forth, (24e-6, 21e-6), strict=True):
        assert ends(flows[name].rtt_s) == pytest.approx((rtt, rtt))
        assert increase(flows[name].sent_bytes) == 524_288
        assert flows[name].vantage == "sender"
    for name in back:
        assert increase(flows[name].delivered_bytes) == 524_288
        assert flows[name].rtt_s is None
        assert flows[name].vantage == "receiver"
    assert {flow.time_s[-1] for flow in flows.values()} == {1.000545, 1.000548, 1.00055, 1.000552}


LISTED = {
    42314: (50394960214, 45, 3.579, 0.228, 244),
    42300: (50393086370, 37, 2.482, 0.199, 211),
    42264: (50389084761, 124, 22.95, 0.375, 219),
    42288: (50393192121, 138, 24.757, 0.273, 182),
    42232: (50395031806, 38, 3.959, 0.234, 287),
    42248: (50393110343, 132, 24.725, 0.346, 188),
    42250: (50393761048, 32, 2.59, 0.149, 349),
    42222: (50394548623, 36, 3.052, 0.131, 368),
    42280: (50393608915, 144, 17.691, 0.393, 123),
    42214: (50395073705, 37, 3.375, 0.171, 338),
}
"""By port: bytes_acked, cwnd, rtt and minrtt (ms), and packets sent again."""


def listed_values(flow: FlowSamples) -> tuple[float, ...]:
    """The values of `LISTED` of a flow that was listed once, without those of selective ACKs."""
    series = (
        flow.delivered_bytes,
        flow.window_packets,
        flow.rtt_s,
        flow.min_rtt_s,
        flow.retransmitted_packets,
    )
    return tuple(ends(each)[0] for each in series)


def test_a_single_listing_of_ss():
    measurement = public("ss_listing.txt")
    assert len(measurement.flows) == 13
    flows = {flow.name: flow for flow in measurement.flows}
    for port, (data, window, rtt, least, resent) in LISTED.items():
        flow = flows[f"10.0.1.29:{port} > 10.0.1.37:5201"]
        expected = (data, window, rtt * 1e-3, least * 1e-3, resent)
        assert listed_values(flow) == pytest.approx(expected, rel=1e-12)
        assert (flow.congestion_control, flow.segment_bytes) == ("cubic", 8949)
    assert "10.0.1.29:22 > 73.231.248.16:49724" in flows
    assert "hosts limited 10 of 13 flows, for up to 100% of the time" in measurement.notes[0]
    with pytest.raises(InvalidInput, match="of 13 flows, the longest has 1 sample"):
        estimate(measurement)


def test_a_log_of_ss_without_connections():
    with pytest.raises(MeasurementFileError, match="must have connections with cwnd and rtt"):
        public("ss_no_connection.txt")


@pytest.mark.parametrize(
    ("name", "rates", "rtts", "true_mbps", "true_rtt"),
    [
        (
            "flent_lfq_cobalt.csv",
            {"BE": 0.21352, "BE2": 0.21310, "BE3": 0.21150, "BE4": 0.21192},
            {"BE": (20.698, 395.58), "BE4": (30.677, 405.035)},
            1.0,
            20e-3,
        ),
        (
            "flent_codel.csv",
            {"BE": 2.23403, "BE2": 2.87368, "BE3": 1.96041, "BE4": 2.42642},
            {"BE": (20.758, 402.759), "BE2": (22.701, 802.031)},
            10.0,
            10e-3,
        ),
    ],
)
def test_a_csv_of_flent_agrees_with_the_network_in_its_title(
    name, rates, rtts, true_mbps, true_rtt
):
    """What netperf writes is counted: of the capacity it shows a lower bound only."""
    measurement = public(name)
    flows = {flow.name: flow for flow in measurement.flows}
    assert sorted(flows) == sorted(rates)
    for flow, rate in rates.items():
        data = flows[flow].sent_bytes
        assert data is not None
        known = np.isfinite(data)
        found_rate = increase(data) * 8e-6 / np.ptp(flows[flow].time_s[known])
        assert found_rate == pytest.approx(rate, rel=1e-4)
    for flow, (least, most) in rtts.items():
        assert ends(flows[flow].rtt_s) == pytest.approx((least * 1e-3, most * 1e-3))
    found = estimate(measurement)
    assert found.competitors is None
    assert 0.75 * true_mbps <= found.capacity.low * found.packet_bytes * 8e-6 <= true_mbps
    assert not found.capacity.is_known
    for each in found.classes:
        assert each.base_rtt.low <= true_rtt <= each.base_rtt.high


def test_a_capture_agrees_with_tcptrace():
    """53 packets of TCP; RTT min 340.6 ms, avg 363.6 ms, max 411.4 ms; 5 packets sent again."""
    sender, receiver = public("smtp_headers.pcap").flows
    assert sender.name == "10.10.1.4:1470 > 74.53.140.153:25"
    assert ends(sender.delivered_bytes)[1] == 14_705
    assert increase(sender.retransmitted_packets) == 5
    assert ends(sender.min_rtt_s)[0] == pytest.approx(340.6e-3, abs=1e-4)
    assert 340.5e-3 <= ends(sender.rtt_s)[0] <= 363.6e-3 <= ends(sender.rtt_s)[1] <= 411.5e-3
    assert sender.time_s[-1] == pytest.approx(7.577713, abs=1e-6)
    assert sender.segment_bytes == 1460
    assert receiver.name == "74.53.140.153:25 > 10.10.1.4:1470"
    assert ends(receiver.delivered_bytes)[1] == 538
    assert increase(receiver.retransmitted_packets) == 0
    with pytest.raises(InvalidInput, match="of 2 flows, the longest has 9 samples"):
        estimate(Measurement((sender, receiver)))


def test_sources_and_licences_are_listed():
    """Each file is in the README; the texts of licences that have to be passed on are there."""
    text = (DATA / "README.md").read_text()
    files = [file.name for file in DATA.iterdir() if file.is_file() and file.name != "README.md"]
    assert len(files) >= 6
    for name in files:
        assert f"`{name}`" in text
    assert [file.name for file in (DATA / "licences").iterdir()] == ["MIT.txt"]

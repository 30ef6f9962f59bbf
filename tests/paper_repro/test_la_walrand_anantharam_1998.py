"""La, Walrand and Anantharam: claims and experiments meet; the networks are the paper's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paper_repro
from paper_repro.claims import load_paper
from paper_repro.la_walrand_anantharam_1998.arithmetic import fair_totals
from paper_repro.la_walrand_anantharam_1998.base_rtts import (
    CONGESTED,
    backing_off,
    backing_off_more,
    drops_after_starts,
    shared_cuts,
    with_few,
)
from paper_repro.la_walrand_anantharam_1998.charts import segment_times
from paper_repro.la_walrand_anantharam_1998.congestion import (
    compared,
    levels,
    surge_over_quiet,
)
from paper_repro.la_walrand_anantharam_1998.networks import (
    LAWS,
    gateway,
    persistent,
    rerouted,
    shifted,
)
from paper_repro.la_walrand_anantharam_1998.open_questions import reversals, reversals_a_minute
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.reported_base import (
    AveragingVegas,
    ReportingModified,
    ReportingVegas,
)
from paper_repro.la_walrand_anantharam_1998.rerouting import detected
from paper_repro.la_walrand_anantharam_1998.rules import MS, detect, margin_ms, sender
from paper_repro.la_walrand_anantharam_1998.tables import SENT

NAME = "la_walrand_anantharam_1998"
PAPER = load_paper(Path(paper_repro.__file__).parent / NAME)


def a_course(delivered: np.ndarray, cwnd: np.ndarray | None = None) -> RecordedRun:
    """A run of 140 s with a sample a second, nothing in the queue."""
    time = np.arange(len(delivered), dtype=float)
    columns = delivered[:, np.newaxis]
    windows = columns if cwnd is None else cwnd[:, np.newaxis]
    return RecordedRun(time, columns, windows, 0 * time, np.zeros(1), 0 * time, 1.0, 0.0, 0.0)


def test_cells_of_the_tables_are_claims():
    ids = {claim.id for claim in PAPER.claims}
    assert {f"sent-{scheme}-{n}" for scheme in SENT for n in range(1, 11)} <= ids
    for table in ("window", "acked"):
        of_table = [name for name in ids if name.startswith(f"{table}-") and name[-2:-1] == "-"]
        assert len(of_table) == 12


def test_the_network_of_figure_1():
    """134 ms, 8000 and 320 bits at 1.5 Mbps, and twice each at 10 Mbps: 141.2 ms."""
    network = rerouted(LAWS["vegas"])
    assert network.links["bottleneck"].capacity == pytest.approx(187.5)
    for name in ("connection1", "connection2"):
        trip = 0.134 + 0.00832 / 1.5 + 0.00832 / 5
        assert network.base_rtts(name)[0] == pytest.approx(trip, abs=2e-6)
        assert network.flows[name].propagation(network.links_of(name)) == pytest.approx((0.134,))
    one_way = rerouted(LAWS["vegas"], ways=2)
    trips = one_way.flows["connection2"].propagation(one_way.links_of("connection2"))
    assert trips == pytest.approx((0.268,))


def test_only_the_link_from_r2_to_s3_changes():
    """88 ms there and back are 44 each way, of which 20 + 2 x 5 ms lie elsewhere."""
    events = rerouted(LAWS["vegas"]).events
    assert {event.link for event in events} == {"R2-S3"}
    assert [event.at for event in events] == [15.0, 36.0, 60.0]
    assert [event.delay for event in events] == pytest.approx([0.014, 0.212, 0.014])


def test_the_network_of_figure_6():
    network = persistent(LAWS["vegas"], gateway(None))
    assert sum(network.counts) == 10
    trips = [group.base_rtt for group in network.flows.values()]
    assert (min(trips), max(trips)) == pytest.approx((0.042, 0.074))  # connections 6 and 7
    assert network.flows["connection10"].start == 40.0
    assert (gateway(None).aqm.name, gateway(0.1).aqm.name) == ("droptail", "red")


def test_shifted_starts_stay_in_order_and_near():
    later = np.array(shifted((0.0, 2.0), 3))
    assert ((later >= [0.0, 2.0]) & (later <= [0.2, 2.2])).all()
    assert shifted((0.0, 2.0), 3) == shifted((0.0, 2.0), 3) != shifted((0.0, 2.0), 4)


def test_fair_totals():
    """All capacity is given out; the tenth has a tenth of 187.5 packets/s for 100 s."""
    assert fair_totals().sum() == pytest.approx(26250)
    assert fair_totals()[-1] == pytest.approx(1875)
    assert fair_totals()[0] - fair_totals()[1] == pytest.approx(2 * 187.5)


def test_segments_and_levels():
    record = a_course(np.arange(141) * 9.0)  # 90 packets each 10 s
    assert np.diff(segment_times(record, 0)) == pytest.approx(10.0)
    assert record.rates(20, 30) == pytest.approx([9.0])
    assert levels(record).size == 10


def test_a_detection_is_a_window_that_jumps():
    windows = np.full(141, 10.0)
    windows[50:] = 11.0
    assert detected(a_course(np.arange(141.0), windows)) == 50.0
    assert np.isnan(detected(a_course(np.arange(141.0), np.full(141, 10.0))))


def test_backlogs_count_whole_packets_of_window():
    """A window of 4.9 lets 4 packets out: at 10 packets/s and 0.1 s, 3 of them wait."""
    record = a_course(10.0 * np.arange(141), np.full(141, 4.9))
    assert record.backlogs(np.array([0.1]), 20, 40) == pytest.approx([3.0])


@pytest.mark.parametrize(("trip", "packets"), [(100.0, 0), (120.0, 0), (140.0, 80), (600.0, 80)])
def test_a_longer_route_is_believed_after_four_groups_of_twenty(trip: float, packets: int):
    count, flow = detect([trip] * 200)
    assert count == packets
    if packets:
        assert flow.cwnd == pytest.approx(12 * trip / 100 + 1)


def test_drops_after_starts_are_a_ratio_of_rates():
    """One drop a second, and two a second within 5 s of a start; the ten starts cover 35 s."""
    times = np.arange(0.0, 140.5, 0.5)
    middles = (times[1:] + times[:-1]) / 2
    after = (middles < 30) | ((middles > 40) & (middles < 45))
    drops = np.r_[0.0, np.cumsum(np.where(after, 1.0, 0.5))]
    assert drops_after_starts(times, drops) == pytest.approx(2.0)
    assert drops_after_starts(times, np.where(times < 30, times, 30.0)) == float("inf")


@pytest.mark.parametrize(("lag", "correlation"), [(0, 1.0), (1, -1 / 9)])
def test_shared_cuts_are_a_correlation(lag: int, correlation: float):
    """Two windows that halve for a tenth of the seconds, in the same or in other seconds."""
    seconds = np.arange(100)
    falls = [(seconds % 10 == 0), (seconds % 10 == lag)]
    cwnd = np.array([[np.where((np.arange(10) > 4) & fall[k], 5.0, 10.0) for k in seconds]
                     for fall in falls]).reshape(2, -1).T  # fmt: skip
    time = 40.0 + 0.1 * np.arange(len(cwnd))
    record = RecordedRun(time, cwnd, cwnd, 0 * time, np.zeros(2), 0 * time, 1.0, 0.0, 0.0)
    assert shared_cuts(record) == pytest.approx(correlation)


def test_an_average_of_ten_differences():
    """Packets 91 to 100 of a connection have 1 to 10 ms of queueing: 5.5 ms on average."""
    law = AveragingVegas()
    flow = sender(law, base_rtt=100.0 * MS, acked_transmissions=1, round_end=10**9, cwnd=10.0)
    for packet in range(1, 102):
        flow.una = packet
        law.rules.on_ack(flow, (100 + max(packet - 90, 0)) * MS, 1)
    assert flow.backlog_delay / MS == pytest.approx(5.5)
    assert flow.cwnd == 10.0


@pytest.mark.parametrize("law", [ReportingVegas(dialect="ns2"), ReportingModified()])
def test_reported_base_rtts_are_in_seconds(law):
    flow = sender(law, base_rtt=100.0 * MS, acked_transmissions=1, round_end=10**9, una=1)
    law.rules.on_ack(flow, 110 * MS, 1)
    assert flow.vegas_diff == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([5, 5, 5], 0),
        ([0, 1, 2, 3, 4, 5, 6], 1),  # a rise without a fall
        ([0, 3, 1, 3, 1, 3, 1], 0),  # too shallow
        ([0, 4, 0, 4, 0], 4),
        ([9, 7, 8, 5, 4, 6, 8], 2),
    ],
)
def test_reversals_go_from_turn_to_turn(values, count):
    assert reversals(np.array(values, float), 4.0) == count


def test_reversals_of_a_steady_oscillation_by_its_period():
    """A window of 10 packets with an amplitude of 6, 10 s a period: 12 reversals a minute."""
    time = np.arange(0.0, 141.0)
    waves = 10 + 6 * np.sin(2 * np.pi * time / 10)
    record = a_course(waves, np.column_stack([waves])[:, 0])
    assert reversals_a_minute(record, 50.0, 0.5) == pytest.approx(12, abs=0.7)
    assert reversals_a_minute(record, 50.0, 1.3) == 0


def test_the_margin_is_the_smaller_of_a_fifth_of_the_base_rtt_and_100_ms():
    assert margin_ms(300.0) == pytest.approx(60, abs=1e-3)
    assert margin_ms(501.0) == pytest.approx(100, abs=1e-3)


def test_starts_before_the_congestion_are_left_out():
    """One drop a second up to 15 s, then none but two a second within 5 s of a start."""
    times = np.arange(0.0, 140.5, 0.5)
    middles = (times[1:] + times[:-1]) / 2
    after = ((middles > 15) & (middles < 30)) | ((middles > 40) & (middles < 45))
    drops = np.r_[0.0, np.cumsum(np.where(middles < 15, 50.0, np.where(after, 1.0, 0.5)))]
    assert drops_after_starts(times, drops, CONGESTED) == pytest.approx(2.0)


def test_windows_that_fall_are_compared_with_quiet_periods():
    """Windows that halve in any 20 s, and one that does so after the tenth start only."""
    time = np.arange(0.0, 140.05, 0.1)
    always = np.where(time % 20 < 10, 5.0, 10.0)
    once = np.where((time > 50) & (time < 55), 5.0, 10.0)
    cwnd = np.stack([always] * 4 + [once] + [np.full_like(time, 10.0)] * 5, axis=1)
    record = RecordedRun(time, cwnd, cwnd, 0 * time, np.zeros(10), 0 * time, 1.0, 0.0, 0.0)
    assert backing_off(record) == pytest.approx(5 / 9)
    assert backing_off_more(record) == pytest.approx(1 / 9)


def test_a_network_without_congestion_has_two_connections():
    assert list(with_few(0).flows) == ["connection1", "connection2"]


def test_a_surge_is_measured_by_the_largest_quiet_period():
    time = np.arange(0.0, 140.05, 0.1)
    queue = np.where((time >= 40) & (time < 50), 66.0, np.where(time > 130, 60.0, 50.0))
    cwnd = np.ones((len(time), 1))
    record = RecordedRun(time, cwnd, cwnd, queue, np.zeros(1), 0 * time, 1.0, 0.0, 0.0)
    assert surge_over_quiet(record) == pytest.approx(1.1, abs=0.01)


def test_a_column_that_a_reading_did_not_run_is_the_usual_one():
    usual, own = a_course(np.ones((2, 1))), a_course(np.zeros((2, 1)))
    runs = {"red": [usual], "vegas": [usual]}
    assert compared({"red": [own]}, runs, "red", "vegas") == [(own, usual)]
    assert compared({"modified": [own]}, runs, "red", "vegas") == []

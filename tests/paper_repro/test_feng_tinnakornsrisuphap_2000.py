"""Feng and Tinnakornsrisuphap's networks against their tables, and their quick claims."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import xarray as xr

import vegasfluid as vf
from paper_repro.feng_tinnakornsrisuphap_2000.adaptation import start_up
from paper_repro.feng_tinnakornsrisuphap_2000.arithmetic import other_buffers
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    CURRENT,
    PROPOSED,
    SESSION_FLOWS,
    Setting,
    network_of,
    theoretical_cov,
)
from paper_repro.feng_tinnakornsrisuphap_2000.figures11to14 import (
    Windows,
    near_best,
    pauses,
    shared_cuts,
)
from paper_repro.feng_tinnakornsrisuphap_2000.measures import (
    axis_below,
    over_all_numbers,
    saturation,
)
from paper_repro.feng_tinnakornsrisuphap_2000.ns2 import RUNS, ns2_rows
from paper_repro.feng_tinnakornsrisuphap_2000.other_sources import clients_with, on_off
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import Curve


@pytest.mark.parametrize(
    ("topology", "rate", "round_trip"),
    [
        # 2 x 2.297 ms, and 1540 bytes over two host links, a router and the switch
        (CURRENT, 155e6 / 12000, 0.004594 + 2 * 12320 / 100e6 + 2 * 12320 / 155e6),
        (PROPOSED, 622e6 / 12000, 0.004594 + 2 * 12320 / 1000e6 + 2 * 12320 / 622e6),
    ],
)
def test_the_network_is_that_of_the_tables(topology, rate, round_trip):
    network = network_of(Setting(topology, "vegas", 7))
    assert [link.capacity for link in network.links.values()] == pytest.approx([rate] * 5)
    buffers = {name: link.buffer for name, link in network.links.items()}
    assert buffers["lanl_port"] == buffers["snl_port"] == 2315
    assert buffers["lanl_router"] == buffers["snl_router"] == topology.router_buffer
    assert network.base_rtts("lanl") == pytest.approx([round_trip] * 7)
    assert network.base_rtts("snl") == pytest.approx([round_trip] * 7)


def test_outside_sessions_offer_64_mbps_to_each_site():
    network = network_of(Setting(CURRENT, "reno", 2))
    for site, way in (("snl", 0.020834), ("lanl", 0.02376)):
        flows = network.flows[f"outside_{site}"]
        assert flows.count == SESSION_FLOWS
        traffic = flows.traffic
        assert isinstance(traffic, vf.Sessions)
        assert traffic.overlapping
        bits = 8e6 * traffic.mean_size * flows.count / traffic.mean_gap
        assert bits == pytest.approx(64e6)
        assert flows.propagation([]) == pytest.approx([way] * SESSION_FLOWS)


def test_readings_change_what_they_say():
    base = Setting(CURRENT, "vegas", 5, queue="red")
    network = network_of(base)
    assert network.links["lanl_router"].aqm == vf.Red(min_thresh=6711, max_thresh=26843)
    assert network.links["snl_port"].aqm == vf.DropTail()
    assert list(network_of(replace(base, both_send=False)).flows)[2:] == ["lanl"]
    traced = network_of(replace(base, traced=True)).flows
    assert [name for name in traced if name.startswith("lanl_")] == [f"lanl_{i}" for i in range(5)]
    assert list(network_of(replace(base, outside="none")).flows) == ["lanl", "snl"]


def test_buffers_under_other_readings():
    """65536 cells of 48 bytes, or 2048 frames, of 1500 bytes; 33554 and 65536 x 53 over 10^6."""
    found = {tuple(values.values()) for values in other_buffers().values()}
    assert found == {(2097, 3.0), (2048, 2048 * 1500 / 2**20), (50.331, 3.473408)}


def test_equation_1():
    # 1 / sqrt(1250 x 60 x 0.0046)
    assert theoretical_cov(PROPOSED, 60) == pytest.approx(1 / 345**0.5)


def a_summary(cov: float, packets: float) -> Summary:
    others = {item.name: 0.0 for item in fields(Summary) if item.name != "hurst"}
    return replace(Summary(hurst={}, **others), cov=cov, packets=packets)


def test_excess_and_saturation_of_a_curve():
    # two seeds at 2 clients and, of figures that make the sums easy, at 60
    theory = {n: theoretical_cov(CURRENT, n) for n in (2, 60)}
    points = {
        2: [a_summary(theory[2], 200.0), a_summary(1.5 * theory[2], 200.0)],
        60: [a_summary(4 * theory[60], 3000.0), a_summary(2 * theory[60], 3200.0)],
    }
    curve = Curve(CURRENT, points)
    assert curve.excess() == pytest.approx(np.array([[0, 0.5], [3, 1]]))
    assert saturation(curve) == pytest.approx([30, 32])


def test_ns2_ran_the_networks_of_its_evidence():
    assert set(ns2_rows()) == {
        (network, law, clients) for network, clients, _ in RUNS for law in ("reno", "vegas")
    }
    # a packet each 4 ms from 2 x 60 clients for 200 s is more than the line takes
    assert ns2_rows()["current", "vegas", 60]["sent"] < 2 * 60 * 250 * 200


def windows(cwnd, sent, timeouts):
    times = np.arange(len(sent)) * 0.1
    return Windows(times, np.array(cwnd, float), np.array(sent), np.array(sent), np.array(timeouts))


def test_the_longest_silence_and_its_timeouts():
    # the second client sends in the steps that begin at 0.1 and at 0.6 s, after two timeouts
    sent = [[i, 0 if i < 2 else 5 if i < 7 else 6] for i in range(10)]
    timeouts = [[0, 0 if i < 4 else 1 if i < 7 else 2] for i in range(10)]
    recorded = windows(np.ones((10, 2)), sent, timeouts)
    assert max(pauses(recorded, recorded.sent)) == pytest.approx((0.5, 2))


def test_simultaneous_cuts_are_distinguished_from_others():
    def cutting(*places):
        cwnd = np.full(41, 10.0)
        for place in places:
            cwnd[place:] /= 2
        return cwnd

    sent = np.zeros((41, 2))
    together = np.stack([cutting(3, 23), cutting(4, 21)], 1)
    apart = np.stack([cutting(3, 23), cutting(14, 34)], 1)
    assert shared_cuts(windows(together, sent, sent)) == pytest.approx(1)
    assert shared_cuts(windows(apart, sent, sent)) < 0


def test_a_slow_start_ends_and_half_of_the_capacity_returns():
    """Losses at 2 s, nothing from 2 to 5 s, 60 of 100 packets/s from then on."""
    times = np.arange(0.0, 20.05, 0.1)
    delivered = np.where(times < 2, 50 * times, 100 + 60 * np.maximum(times - 5, 0))
    counters = {"dropped": np.where(times >= 2, 30.0, 0.0), "delivered": delivered}
    data = {name: (("time", "flow_class"), values[:, None]) for name, values in counters.items()}
    run = xr.Dataset(data | {"capacity": ("link", [100.0])}, coords={"time": times})
    record = start_up(run)
    assert record.lost == 30.0
    assert record.seconds == pytest.approx(3 + 50 / 60, abs=0.11)


def test_windows_near_the_optimal_one():
    """Two clients share 2315 packets of buffer and 238 in flight: 1277 each."""
    cwnd = np.array([[1277.0, 700.0], [600.0, 1900.0]])
    zeros = np.zeros_like(cwnd)
    assert near_best(Windows(np.arange(2.0), cwnd, zeros, zeros, zeros)) == pytest.approx(0.75)


def test_only_clients_get_another_source():
    traffic = on_off("current")
    network = clients_with(network_of(Setting(CURRENT, "reno", 3)), traffic=traffic)
    sources = {name: type(flows.traffic) for name, flows in network.flows.items()}
    assert sources["lanl"] == sources["snl"] == vf.OnOff
    assert sources["outside_snl"] == sources["outside_lanl"] == vf.Sessions
    assert (traffic.on, traffic.off) == pytest.approx((0.003, 0.097))


def test_the_axis_below_a_bound_does_not_depend_on_where_we_ran():
    """Excesses of 0 up to 20 clients, rising to 0.4 at 60: below a tenth up to 29 of 2 to 60."""

    @dataclass(frozen=True)
    class Line(Curve):
        def excess(self, *clients: int) -> np.ndarray:
            counts = np.array(clients or self.clients)
            return np.maximum(0, (counts - 20) / 100)[:, np.newaxis]

    for counts in ((2, 20, 60), (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 60)):
        curve = Line(CURRENT, dict.fromkeys(counts, ()))
        assert axis_below(curve, 0.1) == pytest.approx([28 / 59])


@pytest.mark.parametrize(("end", "mean"), [(None, 2.0), (6, 1.5)])
def test_a_mean_over_all_numbers_of_clients_is_of_straight_lines(end, mean):
    values = np.array([[0.0], [2.0], [4.0]])
    assert over_all_numbers([2, 4, 6], values) == pytest.approx([2.0])
    assert over_all_numbers([2, 4, 6], values, end) == pytest.approx([mean])

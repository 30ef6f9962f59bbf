"""Estimates from measurements with a known network: made by hand, and of a Linux kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.made import (
    BASE,
    BUFFER,
    CAPACITY,
    PERIOD,
    SEGMENT,
    TIMES,
    drop_tail,
    queue,
    samples,
    within,
)
from tests.paths import ROOT
from vegasfluid.errors import InvalidInput
from vegasfluid.observe import (
    Measurement,
    QueueSamples,
    estimate,
    read_files,
)
from vegasfluid.observe.base_rtt import base_rtts
from vegasfluid.observe.competitors import competitors_from_rates, flows_of_correlation
from vegasfluid.observe.time_grid import time_grid


def test_a_drop_tail_queue_that_fills_is_found():
    found = estimate(drop_tail())
    within(found.capacity, CAPACITY, 1e-3)
    (reno,) = found.classes
    within(reno.base_rtt, BASE, 1e-3)
    assert reno.goodput == pytest.approx(CAPACITY / 2, rel=1e-3)
    assert found.discipline.name == "droptail"
    within(found.buffer, BUFFER, 0.05)
    assert found.competitors is None
    assert found.packet_bytes == 1500


def test_a_flow_that_never_saw_an_empty_queue_is_corrected_by_another():
    late = TIMES[100:]
    first = samples("a > x", TIMES, 0.5, min_rtt_s=np.full(len(TIMES), BASE))
    second = samples("b > y", late, 0.5, base=0.100)  # the queue holds at least 20 ms
    found = estimate(Measurement((first, second)))
    assert [each.base_rtt.value for each in found.classes] == pytest.approx([BASE, 0.1], abs=1e-3)
    alone = estimate(Measurement((second,)))
    assert alone.classes[0].base_rtt.value == pytest.approx(0.120, abs=1e-3)


def test_a_link_that_is_never_full_has_no_capacity_but_a_lower_bound():
    flow = samples("a > x", TIMES, 0.3, rtt_s=np.full(len(TIMES), BASE))
    found = estimate(Measurement((flow,)))
    assert not found.is_full
    assert found.capacity.value is None
    assert found.capacity.low == pytest.approx(0.3 * CAPACITY, rel=0.01)
    assert "not full for long enough" in found.capacity.how


def rates_of(total, flows, intervals=40_000, seed=3):
    """Rates of flows that are alike and have a constant sum; (flow, interval)."""
    return np.random.default_rng(seed).dirichlet(np.full(total, 5.0), intervals).T[:flows]


@pytest.mark.parametrize("total", [3, 6, 12])
def test_the_number_of_flows_follows_from_their_correlation(total):
    assert flows_of_correlation(rates_of(total, 2)) == pytest.approx(total, rel=0.2)
    assert flows_of_correlation(rates_of(total, total)) == pytest.approx(total, rel=1e-6)


def test_flows_that_were_not_measured_are_counted():
    shares = rates_of(6, 3, intervals=len(TIMES) // 3)
    data = [np.cumsum(np.repeat(each, 3)) * 0.1 * CAPACITY * SEGMENT for each in shares]
    flows = tuple(
        samples(f"{k} > x", TIMES, 1 / 6, delivered_bytes=data[k], receiver="x") for k in range(3)
    )
    found = estimate(Measurement(flows))
    assert found.competitors is not None
    within(found.competitors.count, 3, 0.34)
    within(found.capacity, CAPACITY, 0.2)
    one = competitors_from_rates(time_grid(Measurement(flows[:1])))
    assert not one.count.is_known
    assert "two measured flows" in one.count.how


def test_rates_that_rise_and_fall_together_bound_nothing():
    """They show no number of flows, and at least one other is the most that can be said."""
    [shares] = rates_of(6, 1, intervals=len(TIMES) // 3)
    data = np.cumsum(np.repeat(shares, 3)) * 0.1 * CAPACITY * SEGMENT
    flows = [samples(f"{k} > x", TIMES, 1 / 6, delivered_bytes=data) for k in range(3)]
    found = competitors_from_rates(time_grid(Measurement(tuple(flows)))).count
    assert not found.is_known
    assert found.low == 1.0
    assert "many others" in found.how


def counters(kind="pfifo", **parameters):
    """A queue's counters on a link of 1000 packets/s, as tc shows them every second."""
    time = np.arange(60.0)
    return QueueSamples(
        interface="eth0",
        handle="10:",
        parent="root",
        kind=kind,
        source="made",
        time_s=time,
        parameters=parameters,
        backlog_packets=np.full(60, 30.0),
        sent_bytes=time * CAPACITY * 1514,
        sent_packets=time * CAPACITY,
        dropped_packets=time,
    )


def test_counters_of_the_router_show_what_flows_cannot():
    flows = drop_tail().flows
    found = estimate(Measurement(flows[:1], (counters(limit=77.0),)))
    within(found.capacity, CAPACITY, 1e-3)
    assert (found.buffer.value, found.discipline.certain) == (77, True)
    assert found.competitors is not None  # a flow with 60 % of the link: another has 40 %
    within(found.competitors.rate, 0.4 * CAPACITY, 0.01)
    assert estimate(Measurement(flows, (counters(limit=77.0),))).competitors is None
    red = estimate(Measurement(flows, (counters("red", min=15140.0, max=45420.0, limit=151400.0),)))
    assert red.discipline.options == pytest.approx({"min": 10, "max": 30})
    assert red.buffer.value == pytest.approx(100)


def vegas_alone(delay):
    """Two Vegas flows with 3 and 8 packets in the queue, in which they wait for `delay` (s)."""
    flows = tuple(
        samples(
            f"{k} > x",
            TIMES,
            0.5,
            control="vegas",
            rtt_s=np.full(len(TIMES), BASE + delay),
            min_rtt_s=np.full(len(TIMES), BASE),
            window_packets=np.full(len(TIMES), backlog * BASE / delay),
            retransmitted_packets=np.zeros(len(TIMES)),
        )
        for k, backlog in enumerate((3.0, 8.0))
    )
    (vegas,) = estimate(Measurement(flows)).classes
    return vegas.vegas


def test_vegas_keeps_packets_between_alpha_and_beta_in_the_queue():
    alpha, beta = vegas_alone(0.010)
    assert alpha.low <= 3 <= alpha.high
    assert beta.low <= 8 <= beta.high


def test_small_windows_say_nothing_of_alpha():
    """Windows of 3 and 8 packets: the first is so small that Linux's Vegas grows as Reno does."""
    alpha, beta = vegas_alone(0.040)
    assert (alpha.low, beta.high) == (pytest.approx(5.0), pytest.approx(9.5))  # of 8 packets alone
    alpha, beta = vegas_alone(0.060)
    assert not alpha.is_known
    assert "grows as Reno does" in beta.how


def test_whole_milliseconds_are_less_accurate():
    flow = drop_tail().flows[0]
    base = [
        estimate(Measurement((replace(flow, min_rtt_s=np.full(len(TIMES), least)),))).classes[0]
        for least in (0.040, BASE)
    ]
    assert base[0].base_rtt.high == pytest.approx(0.041)  # Linux rounds time stamps down
    assert base[1].base_rtt.high - BASE < 1e-4


WAITING = 20.0
"""Packets that are always in the queue of `standing`."""


def standing(shares=(0.6, 0.4), path=True):
    """Flows of base RTT 40.1 ms in a queue that never has fewer than 20 packets (20 ms)."""
    ends = {"sender": "a", "receiver": "x"} if path else {}
    return tuple(
        samples(f"a:{k} > x", TIMES, share, rtt_s=BASE + queue() / CAPACITY, **ends)
        for k, share in enumerate(shares)
    )


def router(kind="pfifo", lost=0.0, **more):
    """Counters of the queue of `standing`, of which the fraction `lost` is dropped."""
    time = np.arange(60.0)
    return replace(
        counters(kind, limit=float(BUFFER)),
        backlog_packets=queue(time) * (1 + lost),
        dropped_packets=lost * CAPACITY * time,
        **more,
    )


def base_rtt_of(flows, *queues):
    """Base RTT of the first class."""
    return estimate(Measurement(flows, queues)).classes[0].base_rtt


@pytest.mark.parametrize("kind", ["pfifo", "red", "pie"])
def test_the_routers_queue_corrects_flows_that_never_saw_it_empty(kind):
    """RTT without the time in the queue, by hand; delayed ACKs may add up to 2.8 ms to RTTs."""
    alone = base_rtt_of(standing())
    assert alone.value == pytest.approx(BASE + WAITING / CAPACITY, abs=1e-4)
    found = base_rtt_of(standing(), router(kind))
    within(found, BASE, 0.04)
    assert "tc shows" in found.how


def test_packets_that_codel_drops_have_waited_too():
    """Little: of 1.5 packets that pass the queue in 1 ms one is sent, so 45 packets wait 30 ms."""
    within(base_rtt_of(standing(), router("codel", lost=0.5)), BASE, 0.04)


def test_flows_with_queues_of_their_own_do_not_wait_for_all_packets():
    found = base_rtt_of(standing(), router("fq_codel"))
    assert found.value == pytest.approx(BASE + WAITING / CAPACITY, abs=1e-4)


def test_a_few_samples_of_the_queue_correct_nothing():
    time = np.arange(5.0)
    few = replace(
        counters(limit=float(BUFFER)),
        time_s=time,
        **{
            name: np.asarray(getattr(router(), name))[:5]
            for name in ("backlog_packets", "sent_bytes", "sent_packets", "dropped_packets")
        },
    )
    assert "tc shows" not in base_rtt_of(standing(), few).how


def test_flows_that_were_not_measured_may_keep_the_queue_filled():
    """The flow has 0.6 of the link: others may never have let the queue empty."""
    first = standing((0.6,))[0]
    noise = np.random.default_rng(1).uniform(-0.1, 0.1, len(TIMES)) * CAPACITY * SEGMENT
    varying = replace(first, delivered_bytes=first.delivered_bytes + np.cumsum(noise) * 0.3)
    found = estimate(Measurement((varying,)))
    assert found.competitors is not None
    base = found.classes[0].base_rtt
    assert base.low <= BASE < base.value


def test_differences_within_their_accuracy_correct_nothing():
    """A smallest RTT that is 0.4 ms larger than the other flow indicates."""
    own = replace(standing(path=False)[0], min_rtt_s=np.full(len(TIMES), BASE))
    other = replace(standing(path=False)[1], min_rtt_s=np.full(len(TIMES), BASE + 4e-4))
    found = base_rtts(time_grid(Measurement((own, other)))).flows
    assert [each.value for each in found] == [BASE, BASE + 4e-4]
    assert found[1].low <= BASE


def test_rtts_of_a_slow_flow_may_be_longer_by_half_the_time_between_its_packets():
    """Delayed ACKs: 10 packets/s wait up to 20 ms, so the fast flow is not corrected by them."""
    fast, slow = standing((0.95, 0.05), path=False)
    least = np.full(len(TIMES), BASE)
    fast, slow = replace(fast, min_rtt_s=least), replace(slow, min_rtt_s=least)
    assert slow.rtt_s is not None
    slow = replace(slow, rtt_s=slow.rtt_s + 0.008)
    found = base_rtts(time_grid(Measurement((fast, slow)))).flows
    assert [each.value for each in found] == pytest.approx([BASE, BASE], abs=1e-3)


def test_the_queue_is_that_of_the_flow_with_most_packets():
    """A flow with few packets waits for delayed ACKs, which are no queue."""
    empty = {"min_rtt_s": np.full(len(TIMES), BASE)}
    few = samples("c > y", TIMES, 0.1, **empty)
    assert few.rtt_s is not None
    late = replace(few, rtt_s=few.rtt_s + np.where(np.arange(len(TIMES)) % 3, 0.0, 0.03))
    delay = base_rtts(time_grid(Measurement((samples("a > x", TIMES, 0.9, **empty), late)))).delay
    assert delay.max() < BUFFER / CAPACITY + 0.004


def test_a_flow_that_does_not_count_losses_is_not_taken_as_lossless():
    """By hand: 3 of the 5 * 600 packets of each sawtooth are sent again."""
    counted, other = drop_tail().flows
    other = replace(other, retransmitted_packets=None)
    assert estimate(Measurement((counted, other))).loss_fraction == pytest.approx(1e-3, rel=0.1)
    document = estimate(Measurement((other,))).document()
    assert document["retransmit_share"] is None
    assert document["queue"]["how"] == "unknown, as retransmissions were not measured"


def test_a_queue_of_unknown_discipline_leaves_the_estimate_from_losses():
    assert estimate(Measurement(drop_tail().flows, (counters(""),))).discipline.name == "droptail"


def test_vegas_without_windows_has_no_known_parameters():
    flow = samples("a > x", TIMES, 1.0, control="vegas", window_packets=None)
    (vegas,) = estimate(Measurement((flow,))).classes
    assert vegas.vegas is not None
    assert not vegas.vegas.alpha.is_known
    assert "were not measured" in vegas.vegas.beta.how


def test_a_flow_that_ends_before_the_measured_time_is_left_out():
    early = samples("c > z", TIMES[:40], 0.4)
    assert estimate(Measurement((*drop_tail().flows, early))) == estimate(drop_tail())


@pytest.mark.parametrize("span", [0.0, 0.005])
def test_a_measurement_at_a_single_time_is_refused(span):
    """A clock of whole seconds, and a transfer within one."""
    time = np.linspace(0.0, span, 30)
    data = np.arange(30) * 10 * SEGMENT
    with pytest.raises(InvalidInput, match="without such a flow"):
        estimate(Measurement((samples("a > x", time, 1.0, delivered_bytes=data),)))


@pytest.mark.parametrize("missing", ["rtt_s", "delivered_bytes"])
def test_a_measurement_without_rtts_or_data_is_refused(missing):
    flows = tuple(replace(flow, **{missing: None}) for flow in drop_tail().flows)
    with pytest.raises(InvalidInput, match="without such a flow"):
        estimate(Measurement(flows))


@pytest.mark.parametrize(
    ("file", "mbps", "base_rtt", "queue"),
    [("droptail_ss.txt", 15.9, 0.0198, "droptail"), ("red_ss.txt", 5.3, 0.0116, "")],
)
def test_traces_of_a_kernel(file, mbps, base_rtt, queue):
    found = estimate(read_files([ROOT / "tests/observe/data" / file]))
    assert found.capacity.scaled(12e-3).value == pytest.approx(mbps, rel=0.02)
    least = min(found.classes, key=lambda each: each.base_rtt.value or 1.0)
    assert least.base_rtt.value == pytest.approx(base_rtt, abs=1e-3)
    for each in found.classes:  # one never saw the queue empty, and comes from another sender
        assert each.base_rtt.low <= base_rtt <= each.base_rtt.high
    assert found.discipline.name == queue  # RED: samples are too far apart to tell
    assert found.competitors is None
    if queue == "droptail":
        assert found.buffer.value == pytest.approx(19, rel=0.15)


def given_to_tcp(flow, period):
    """The flow as iperf3 reports it: data counts when it is given to TCP, which may hold it back.

    The send buffer holds up to three windows, more and less with this period, s.
    """
    level = 0.5 + 0.5 * np.sin(2 * np.pi * flow.time_s / period)
    given = flow.delivered_bytes + 3 * SEGMENT * flow.window_packets * level
    return replace(flow, delivered_bytes=None, sent_bytes=np.maximum.accumulate(given))


@pytest.mark.parametrize("seconds", [6, 60, 600])
def test_data_given_to_tcp_shows_what_was_delivered_less_exactly(seconds):
    """Send buffers made rates vary, so that other flows were seen where there are none."""
    time = np.arange(0.0, seconds, 0.1)
    shares = (("a:1 > x", 0.6, 4.7), ("a:2 > x", 0.4, 7.3))
    flows = tuple(given_to_tcp(samples(name, time, share), each) for name, share, each in shares)
    found = estimate(Measurement(flows))
    assert found.competitors is None
    assert found.capacity.low <= CAPACITY <= found.capacity.high
    assert found.capacity.low == pytest.approx(CAPACITY, rel=0.2 if seconds > 6 else 1)


def test_data_given_to_tcp_by_flows_without_windows():
    flows = tuple(
        replace(flow, delivered_bytes=None, sent_bytes=flow.delivered_bytes, window_packets=None)
        for flow in drop_tail().flows
    )
    found = estimate(Measurement(flows))
    assert found.competitors is None
    assert found.capacity.low == pytest.approx(CAPACITY, rel=0.2)
    assert found.capacity.low <= CAPACITY <= found.capacity.high


def test_delays_of_the_host_are_no_queue():
    """Flows within one machine: RTTs vary by 10 us, which at their rate are 10 packets."""
    rtt = 2e-5 + 1e-5 * np.mod(TIMES, PERIOD) / PERIOD
    data = 1e6 * SEGMENT * TIMES
    flow = samples("a > b", TIMES, 1.0, rtt_s=rtt, min_rtt_s=None, delivered_bytes=data)
    found = estimate(Measurement((flow,)))
    assert not found.capacity.is_known
    assert found.capacity.low == pytest.approx(1e6, rel=1e-3)
    assert found.busy == 0

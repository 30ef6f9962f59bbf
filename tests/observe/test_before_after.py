"""A measurement before a change and one after it, with known rates."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.observe.made import BASE, CAPACITY, SEGMENT, TIMES, samples
from vegasfluid.observe import Measurement, compare
from vegasfluid.observe.before_after import flow_rates, observed, ratio_of
from vegasfluid.observe.time_grid import time_grid


def measured(vegas, *, base=BASE, control="vegas", noise=0.0, seed=1):
    """A flow of `control` with the share `vegas` of the link, and one of Reno with the rest.

    The shares vary by `noise`, with a correlation of one second.
    """
    rng = np.random.default_rng(seed)
    steps = np.repeat(rng.normal(0.0, noise, len(TIMES) // 10 + 1), 10)[: len(TIMES)]
    carried = {}
    for name, share in (("vegas", vegas + steps), ("reno", 1 - vegas - steps)):
        carried[name] = SEGMENT * CAPACITY * np.cumsum(share) * (TIMES[1] - TIMES[0])
    flows = (
        samples("a > x", TIMES, vegas, base, control, delivered_bytes=carried["vegas"]),
        samples("b > y", TIMES, 1 - vegas, base, delivered_bytes=carried["reno"]),
    )
    least = np.full(len(TIMES), base)
    return Measurement(tuple(replace(flow, min_rtt_s=least) for flow in flows))


def test_the_means_before_and_after_are_those_of_the_flows():
    found = compare(measured(0.2), measured(0.5))
    by_name = {each.name: each for each in found.quantities}
    ratio = by_name["ratio"]
    assert (ratio.before.value, ratio.after.value) == pytest.approx((0.25, 1.0))
    assert ratio.factor.value == pytest.approx(4.0)
    assert by_name["throughput_packets_per_s"].after.value == pytest.approx(CAPACITY)
    assert by_name["queueing_delay_s"].after.value == pytest.approx(0.060, rel=0.02)  # 20 to 100 ms
    assert by_name["jain_index"].before.value == pytest.approx(1 / (2 * (0.2**2 + 0.8**2)))
    # Three packets of each of two flows at 10, 15, ... 55 s, in the 55 s that count.
    assert by_name["retransmit_share"].after.value == pytest.approx(60 / 55 / CAPACITY, rel=0.01)
    assert found.differences == ()


@pytest.mark.parametrize(
    ("share", "noise", "goal", "verdict"),
    [
        (0.5, 0.0, 1.0, "reached"),
        (0.48, 0.02, 1.0, "reached"),
        (0.4, 0.02, 1.0, "missed"),
        (0.6, 0.02, 1.0, "missed"),
        (0.6, 0.02, 1.5, "reached"),
        (0.46, 0.1, 1.0, "undecided"),
    ],
)
def test_the_verdict_follows_from_the_interval(share, noise, goal, verdict):
    assert compare(measured(0.2), measured(share, noise=noise), goal).verdict == verdict


def test_nine_intervals_of_ten_contain_the_ratio():
    inside = 0
    for seed in range(100):
        grid = time_grid(measured(0.45, noise=0.1, seed=seed))
        ratio = ratio_of(flow_rates(grid), np.array([True, False]), grid.controls)
        inside += ratio.low <= 0.45 / 0.55 <= ratio.high
    assert 80 <= inside <= 97


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (measured(0.5, control="cubic"), "no flow runs Vegas"),
        (measured(0.5, control=None), "no flow runs Vegas"),
        (Measurement(measured(0.5).flows[:1]), "all flows run Vegas"),
    ],
)
def test_without_vegas_beside_others_there_is_no_verdict(after, why):
    found = compare(measured(0.2), after)
    assert found.verdict == "unknown"
    assert found.after.ratio.how == why


def test_without_names_of_congestion_controls_there_is_no_ratio():
    flows = tuple(replace(flow, congestion_control=None) for flow in measured(0.5).flows)
    assert observed(Measurement(flows)).ratio.how == "no congestion control is known"


def test_what_else_changed_is_named():
    more = measured(0.5, base=0.0601)
    more = Measurement((*more.flows, replace(more.flows[1], name="c > z")))
    found = compare(measured(0.2), more)
    assert found.differences[:2] == (
        "flows of reno: 1 before and 2 after.",
        "capacity: 12 Mbit/s before and 18 Mbit/s after.",
    )
    words = re.fullmatch(r"base RTT: (.*) ms before and (.*) ms after\.", found.differences[2])
    assert words is not None
    assert [float(word) for word in words.groups()] == pytest.approx([40.1, 60.1], abs=0.5)


def test_a_flow_that_is_there_for_half_of_the_time_has_its_rate_of_that_time():
    half = len(TIMES) // 2
    flows = measured(0.5).flows
    short = replace(
        flows[0],
        time_s=flows[0].time_s[half:],
        **{
            name: getattr(flows[0], name)[half:]
            for name in ("window_packets", "rtt_s", "min_rtt_s", "delivered_bytes")
        },
        retransmitted_packets=flows[0].retransmitted_packets[half:],
    )
    assert observed(Measurement((short, flows[1]))).ratio.value == pytest.approx(1.0, rel=1e-3)

"""The test in a User Mode Linux kernel, where $VEGASFLUID_KERNEL names one.

Flows whose windows are limited, over links that are never full, have window / base RTT: this checks
delays, windows, routes and the counting of payload.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vegasfluid as vf
from vegasfluid.crosscheck import reference_runs, references
from vegasfluid.crosscheck.averages import Averages
from vegasfluid.model import Model

KERNEL = os.environ.get("VEGASFLUID_KERNEL")
pytestmark = [
    pytest.mark.skipif(KERNEL is None, reason="VEGASFLUID_KERNEL names no User Mode Linux kernel"),
    pytest.mark.slow,
]
LAW = vf.Reno(recovery="sack")
SIZE = 1 + 40 / 1500
"""A packet and its ACK, packets."""


def ran(
    network: vf.Network, duration: float = 20.0, warmup: float = 5.0, *seeds: int
) -> tuple[Averages, ...]:
    reference = references(["linux"], Path(str(KERNEL)))["linux"]
    return reference_runs(Model(network, duration, warmup), reference, seeds or (1,)).runs


def limited(window: int, **more) -> vf.Flows:
    return vf.Flows(1, LAW, **{"base_rtt": 0.04, "send_overhead": 0.0, **more}, max_window=window)


def test_limited_flows_have_their_window_in_each_base_rtt():
    links = {"up": vf.Link(2000.0, 500), "down": vf.Link(1000.0, 500)}
    flows = {
        "both": limited(10, path=("up", "down")),
        "far": limited(10, base_rtt=0.1, path=("up", "down"), start=1.0),
        "access": limited(10, access=4000.0, path=("down",)),
        "back": limited(10, direction="reverse", path=("up",)),
        "noisy": limited(10, path=("up",), send_overhead=0.004, delayed_ack=0.04),
    }
    (found,) = ran(vf.Network(links, flows))
    up, down = SIZE / 2000, SIZE / 1000
    rtts = [0.04 + up + down, 0.1 + up + down, 0.04 + down + 2 * SIZE / 4000, 0.04 + up]
    assert found.goodput[:4] == pytest.approx([10 / rtt for rtt in rtts], rel=0.01)
    assert 10 / 0.047 < found.goodput[4] < 10 / 0.041
    assert max(found.drop_share) == 0


def test_a_full_link_is_full_of_payload():
    """Reno's windows vary between 1 and 1/2 of 83 + 34 packets: the link is always busy."""
    (found,) = ran(vf.Network(vf.Link(vf.mbps(10), 83), {"reno": limited(100_000)}), 60.0, 20.0)
    assert found.goodput[0] == pytest.approx(10e6 / 8 / 1500, rel=0.01)
    assert 30 < found.queue[0] < 65
    assert 0 < found.drop_share[0] < 0.01


def test_vegas_keeps_alpha_to_beta_packets_at_its_base_rtt():
    """Its window times (rtt - base) / base is 20 to 22 packets: a queue of some 13."""
    vegas = vf.Flows(1, vf.Vegas(20, 22, 1, dialect="linux"), base_rtt=0.04, send_overhead=0.0)
    (found,) = ran(vf.Network(vf.Link(vf.mbps(10), 200), {"vegas": vegas}), 60.0, 20.0)
    base = (0.04 + 1.2e-3 * SIZE) * 833.3
    low, high = ((-base + (base**2 + 4 * base * n) ** 0.5) / 2 for n in (19, 24))
    assert low < found.queue[0] < high
    assert found.goodput[0] == pytest.approx(833.3, rel=0.01)
    assert found.drop_share[0] == 0


def test_runs_repeat_by_their_seeds():
    """The kernel of these tests takes its random numbers from a seed; RED's drops are random."""
    link = vf.Link(vf.mbps(5), 100, vf.Red(min_thresh=5, max_thresh=40, max_drop=0.1))
    network = vf.Network(link, {"reno": limited(1000, start=vf.UniformStart(1.0))})
    first, other, again = ran(network, 10.0, 2.0, 1, 2, 1)
    assert first == again
    assert first != other

"""The fluid simulator's books: bounds, conservation, classes and groups, slow start."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.fluid.common_grid import simulate_on_common_grid
from vegasfluid import Flows, InvalidInput, Link, Network, Red, Reno, UniformStart, Vegas, metrics
from vegasfluid import simulate_fluid as simulate
from vegasfluid.fluid import FluidOptions, build
from vegasfluid.fluid.flow_groups import group_of_each_flow

RED = Red(min_thresh=20, max_thresh=80)
LINK = Link(1000.0, 200, RED)
SMOOTH = FluidOptions(whole_packets=False)


FINE = {"samples": 3001, "step": 0.0039, "lags": (0.05, 2.0)}
"""So fine a grid that a buffer of 8 packets does not fill in a step."""


@pytest.mark.parametrize("aqm", [{}, {"aqm": RED}], ids=["droptail", "red"])
@pytest.mark.parametrize("buffer", [8, 60])
def test_queue_stays_in_its_buffer(aqm, buffer):
    """Slow start overflows it; the samples include both ends."""
    network = Network(
        Link(1000.0, buffer, **aqm),
        {"reno": Flows(10, Reno(), base_rtt=0.1), "vegas": Flows(5, Vegas(), base_rtt=0.05)},
    )
    run = simulate_on_common_grid(network, 30.0, **FINE)
    queue = run["queue"].values
    assert queue.min() == 0.0
    assert buffer - 1 <= queue.max() <= buffer
    assert run["cwnd"].values.min() >= 1.0


def test_the_link_sends_no_more_than_its_capacity():
    """What was admitted and no longer waits was sent: capacity times time, while packets wait.

    When a window's growth fills the buffer, what one step brings beyond it is forgotten.
    """
    network = Network(Link(1000.0, 50), {"reno": Flows(10, Reno(), base_rtt=0.05)})
    run = simulate_on_common_grid(network, 40.0)
    sent = (run["admitted"] - run["queue"]).values[:, 0]
    steps = np.diff(sent) / np.diff(run["time"].values)
    assert (sent[-1] - sent[100]) / 30 <= 1000.0 * (1 + 2e-4)
    brought = 10 / 0.05 * 0.02  # ten flows, a packet each in a round trip at least, one step
    assert steps[10:].max() * 0.1 - 100 < brought
    assert steps[:10].max() * 0.1 - 100 < 2 * 1000.0 * 0.02
    queue = run["queue"].values[:, 0]
    busy = np.minimum(queue[:-1], queue[1:]) > 10  # not empty in between either: 0.1 s apart
    assert busy[200:].sum() > 100
    assert steps[200:][busy[200:]].min() > 999.0
    assert steps[200:].mean() > 980.0
    total = (run["delivered"] * run["count"]).sum("flow_class").values
    np.testing.assert_allclose(total, run["admitted"].values[:, 0])
    waited = np.trapezoid(run["queue"].values[200:, 0], run["time"].values[200:])
    assert float(run["waited"][-1, 0] - run["waited"][200, 0]) == pytest.approx(waited, rel=0.01)


def test_round_trip_is_base_and_queue():
    network = Network(
        LINK, {"near": Flows(3, Reno(), base_rtt=0.02), "far": Flows(3, Reno(), base_rtt=0.08)}
    )
    run = simulate(network, until=20)
    sending = (1 + 40 / 1500) / 1000
    expected = np.array([0.02, 0.08]) + sending + run["queue"].values / 1000
    np.testing.assert_allclose(run["rtt"], expected)


def test_a_class_is_the_same_as_its_flows_one_by_one():
    """Three identical flows as one class (one state), or as two classes of 1 and 2."""
    law = Reno()
    one = Network(
        LINK, {"all": Flows(3, law, base_rtt=0.1), "vegas": Flows(2, Vegas(), base_rtt=0.05)}
    )
    parts = {f"part{n}": Flows(n, law, base_rtt=0.1) for n in (1, 2)}
    split = Network(LINK, {**parts, "vegas": Flows(2, Vegas(), base_rtt=0.05)})
    together, apart = (simulate_on_common_grid(item, 30.0, **FINE) for item in (one, split))
    assert build(one).structure.groups_per_class == (1, 1)
    for name in ("cwnd", "delivered", "dropped"):
        for part in parts:
            expected = together[name].sel(flow_class="all").values
            np.testing.assert_allclose(apart[name].sel(flow_class=part), expected, rtol=1e-9)
    np.testing.assert_allclose(apart["queue"], together["queue"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(apart["flow_delivered"], together["flow_delivered"], rtol=1e-9)


def test_lists_of_round_trips_and_starts_are_groups():
    """A list is what its distinct values are as classes; the order of the flows is kept."""
    mixed = Flows(4, Reno(), base_rtt=(0.02, 0.06, 0.02, 0.06), start=(0.0, 1.0, 0.0, 0.0))
    listed = Network(LINK, {"mixed": mixed})
    structure = build(listed).structure
    assert structure.groups_per_class == (3,)
    assert structure.rtt_index == (0, 1, 1)
    assert group_of_each_flow(listed).tolist() == [0, 1, 0, 2]
    classes = Network(
        LINK,
        {
            "near": Flows(2, Reno(), base_rtt=0.02),
            "late": Flows(1, Reno(), base_rtt=0.06, start=1.0),
            "far": Flows(1, Reno(), base_rtt=0.06),
        },
    )
    one, other = simulate(listed, until=30), simulate(classes, until=30)
    flows = other["flow_delivered"].values[:, [0, 2, 1, 3]]
    np.testing.assert_allclose(one["flow_delivered"], flows, rtol=1e-9)
    np.testing.assert_allclose(one["cwnd"][:, 0], other["cwnd"] @ other["count"] / 4, rtol=1e-9)
    rates = metrics.goodput(other)
    assert float(rates.sel(flow_class="near")) > 1.5 * float(rates.sel(flow_class="far"))


def test_random_starts_are_at_their_mean():
    spread = Network(LINK, {"reno": Flows(3, Reno(), base_rtt=0.05, start=UniformStart(2.0))})
    fixed = Network(LINK, {"reno": Flows(3, Reno(), base_rtt=0.05, start=1.0)})
    np.testing.assert_array_equal(simulate(spread, 5)["cwnd"], simulate(fixed, 5)["cwnd"])


@pytest.mark.parametrize(
    ("law", "rounds"), [(Reno(), 1), (Vegas(), 2), (Vegas(dialect="linux"), 1)]
)
def test_slow_start_doubles_the_window(law, rounds):
    """dW/dt = W/R, or W/(2R) for Vegas but Linux's: the window doubles each R ln 2 (or 2 R ln 2).

    On a link so fast that no queue stands; the flow starts at 1 s.
    """
    flows = Flows(1, law, base_rtt=0.1, start=1.0)
    network = Network(Link(1e6, 40_000), {"flow": flows})
    run = simulate_on_common_grid(network, 4.0, options=SMOOTH, step=0.002, aligned=True)
    late = run.sel(time=slice(1.2, 2.0))
    slope = np.diff(np.log2(late["cwnd"].values[:, 0])) / np.diff(late["time"].values)
    np.testing.assert_allclose(slope, 1 / (rounds * 0.1 * math.log(2)), rtol=1e-4)


def test_slow_start_ends_at_the_initial_ssthresh():
    """From there a window grows by one packet a round trip."""
    flows = Flows(1, Reno(), base_rtt=0.1, initial_ssthresh=16.0)
    network = Network(Link(1e6, 40_000), {"flow": flows})
    run = simulate_on_common_grid(network, 4.0, options=SMOOTH)
    late = run["cwnd"].sel(time=slice(2.0, 4.0))
    slope = np.diff(late.values[:, 0]) / np.diff(late["time"].values)
    np.testing.assert_allclose(slope, 1 / 0.1, rtol=1e-3)
    assert 16 < float(run["cwnd"].sel(time=1.0)[0]) < 16 + 2 + (1.0 - 0.1 * math.log(16)) / 0.1


def test_access_links_limit_the_rate():
    network = Network(Link(1000.0, 100), {"access": Flows(2, Reno(), base_rtt=0.1, access=80.0)})
    run = simulate_on_common_grid(network, 40.0, warmup=10.0)
    np.testing.assert_allclose(metrics.goodput(run), 80.0, rtol=1e-6)
    assert float(run["queue"].max()) == 0.0


def test_max_window_limits_the_rate():
    network = Network(Link(1000.0, 100), {"window": Flows(2, Reno(), base_rtt=0.1, max_window=5.0)})
    run = simulate_on_common_grid(network, 40.0, warmup=10.0)
    np.testing.assert_allclose(metrics.goodput(run), 5 / network.base_rtts("window")[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"until": 0.0}, "until must be above 0"),
        ({"until": float("nan")}, "until must be above 0"),
        ({"until": 10.0, "warmup": 10.0}, "warmup must be at least 0 and below 10"),
        ({"until": 10.0, "samples": 1}, "samples must be at least 2"),
    ],
)
def test_rejected_times(times, message):
    network = Network(LINK, {"reno": Flows(1, Reno(), base_rtt=0.1)})
    with pytest.raises(InvalidInput, match=message):
        simulate(network, **times)

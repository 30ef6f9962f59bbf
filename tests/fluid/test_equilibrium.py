"""Where, and whether, the fluid model converges: against closed forms of the theory sheet.

With N flows of window W over a link of capacity C, base RTT T and queue q: N W = C T + q, and one
halving for each additive increase, p W^2 = 2 (Misra, Gong and Towsley; small p W). RED with `wait`
drops a share p of packets where its curve is p_b, p = 2 p_b / (3 - p_b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import brentq

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, metrics
from vegasfluid.fluid import MISRA_GONG_TOWSLEY, simulate_fluid

ACK_SHARE = 40 / 1500


@dataclass(frozen=True)
class Setting:
    """A link of 5000 packets/s with RED, and the round trip without a queue."""

    capacity: float = 5000.0
    base_rtt: float = 0.17
    slope: float = 1e-5
    weight: float = 0.1

    @property
    def pipe(self) -> float:
        """Packets that the round trip holds: propagation, and sending packet and ACK."""
        return self.capacity * self.base_rtt + 1 + ACK_SHARE

    def link(self, min_thresh: float) -> Link:
        span = 1000.0
        red = Red(min_thresh, min_thresh + span, max_drop=self.slope * span, weight=self.weight)
        return Link(self.capacity, 2000, red)

    def flows(self, count: int, law) -> Flows:
        return Flows(count, law, base_rtt=self.base_rtt, initial_ssthresh=60.0)


def curve_for(drop_prob: float) -> float:
    """The value of RED's curve at which this share of packets is dropped."""
    return 3 * drop_prob / (2 + drop_prob)


def require_equilibrium(run: xr.Dataset) -> None:
    """The last tenth of the run does not move."""
    last = run["queue"].values[-40:, 0]
    assert np.ptp(last) < 1e-3 * last.mean()


@pytest.mark.parametrize(("count", "min_thresh"), [(10, 100.0), (8, 150.0), (12, 60.0)])
def test_reno_over_red(count, min_thresh):
    """Section 3: the root of k_R L (q - min) (C T + q)^2 = 2 N^2, with RED's exact spacing."""
    setting = Setting()

    def excess(queue: float) -> float:
        window = (setting.pipe + queue) / count
        return (queue - min_thresh) * setting.slope - curve_for(2 / window**2)

    queue = brentq(excess, min_thresh, 2000.0)
    network = Network(setting.link(min_thresh), {"reno": setting.flows(count, Reno())})
    run = simulate_fluid(network, until=300.0, options=MISRA_GONG_TOWSLEY)
    require_equilibrium(run)
    assert float(run["queue"][-1, 0]) == pytest.approx(queue, rel=0.01)
    assert float(run["cwnd"][-1, 0]) == pytest.approx((setting.pipe + queue) / count, rel=0.01)
    assert float(metrics.drop_share(run, warmup=250)[0]) == pytest.approx(
        2 * count**2 / (setting.pipe + queue) ** 2, rel=0.03
    )


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.3])
def test_shares_of_reno_and_vegas(ratio):
    """Section 5e: alpha = r q / (N_r + r N_v) gives a Vegas flow r times a Reno flow's goodput.

    Vegas loses a quarter at a loss (ns-2's dialect), so at this ratio a share g = r^2 / 2 of its
    flows must grow to make good for losses: with 1 - exp(-s) = g the mean backlog is s eighths of
    itself below alpha. The threshold of RED is placed so that alpha is 20.
    """
    setting, alpha, law = Setting(), 20.0, Vegas(20, 22, dialect="ns2")
    alpha_rests = alpha + law.implementation.alpha_offset
    backlog = alpha_rests / (1 - math.log1p(-(ratio**2) / 2) / 8)
    flows = 5 + ratio * 5
    queue = backlog * flows / ratio
    window = (setting.pipe + queue) / flows
    min_thresh = queue - curve_for(2 / window**2) / setting.slope
    network = Network(
        setting.link(min_thresh),
        {"reno": setting.flows(5, Reno()), "vegas": setting.flows(5, law)},
    )
    run = simulate_fluid(network, until=300.0, options=MISRA_GONG_TOWSLEY)
    require_equilibrium(run)
    assert metrics.goodput_ratio(run, "vegas", warmup=290) == pytest.approx(ratio, rel=0.01)
    assert float(run["queue"][-1, 0]) == pytest.approx(queue, rel=0.01)


def amplitude(run: xr.Dataset, begin: float, end: float) -> float:
    return float(np.ptp(run["queue"].sel(time=slice(begin, end)).values))


@pytest.mark.parametrize(("part", "stable"), [(0.7, True), (0.9, True), (1.1, False), (1.5, False)])
def test_stability_of_reno_over_red(part, stable):
    """Section 4b: at W = 50, equilibrium is stable if A = N L / p < A_c = 1.184, a cycle if above.

    L is the slope of the share of packets dropped, and N / A = q - min_thresh, so the threshold
    is placed below the equilibrium queue by so much. The average follows the queue at once.
    """
    count, window, critical = 20, 50.0, 1.184
    drop_prob = 2 / window**2
    below = count / (part * critical)
    setting = Setting(slope=curve_for(drop_prob) / below)
    queue = count * window - setting.pipe
    network = Network(setting.link(queue - below), {"reno": setting.flows(count, Reno())})
    run = simulate_fluid(network, until=300.0, options=MISRA_GONG_TOWSLEY)
    early, late = amplitude(run, 60, 100), amplitude(run, 260, 300)
    if stable:
        assert late < 1e-3 * queue
        assert float(run["queue"][-1, 0]) == pytest.approx(queue, rel=0.01)
    else:
        assert late > 10
        assert late > 0.9 * early

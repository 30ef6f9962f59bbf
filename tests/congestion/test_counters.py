"""Net100's counters: what Vegas decided, once a round trip, and by which backlog."""

from __future__ import annotations

import pytest

from tests.congestion.sender import FAR, RTT, Clock
from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, simulate_packets
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.congestion.vegas.implementation import COUNTERS
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.trajectory import CLASS_VARIABLES

DECISIONS = ("vegas_below_alpha", "vegas_unchanged", "vegas_above_beta", "vegas_above_gamma")


def test_every_dialect_has_them_and_a_trajectory_explains_them() -> None:
    assert set(COUNTERS) == {*DECISIONS, "vegas_diff"}
    for rules in (*(d.rules for d in DIALECTS.values()), VegasRerouting().rules):
        assert set(rules.counters) == set(COUNTERS) <= set(rules.state)
    assert set(COUNTERS) <= set(CLASS_VARIABLES)


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize(
    ("thresholds", "counter"),
    [((90, 95), "vegas_below_alpha"), ((2, 90), "vegas_unchanged"), ((1, 1), "vegas_above_beta")],
)
def test_one_decision_is_counted_a_round_trip(
    dialect: str, thresholds: tuple[int, int], counter: str
) -> None:
    """With rtt = 2 base and a window near 40, Vegas sees 20 of its packets, Linux 40."""
    alpha, beta = thresholds
    clock = Clock(Vegas(alpha, beta, dialect=dialect), 40.0, RTT / 2)
    clock.run_until(3 * RTT)
    before = {name: int(clock.flow[name]) for name in DECISIONS}
    clock.run_until(8 * RTT)
    gained = {name: int(clock.flow[name]) - before[name] for name in DECISIONS}
    assert gained == {name: 5 if name == counter else 0 for name in DECISIONS}
    share = 1.0 if dialect == "linux" else 0.5
    last = [share * float(clock.flow.cwnd) + shift for shift in (-1, 0, 1)]
    assert min(last) - 1 <= clock.flow.vegas_diff <= max(last) + 1


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_the_end_of_slow_start_by_gamma_is_counted_once(dialect: str) -> None:
    clock = Clock(Vegas(dialect=dialect), 20.0, RTT / 1.5, ssthresh=FAR)
    clock.run_until(3 * RTT)
    assert clock.flow.ssthresh < FAR
    clock.run_until(10 * RTT)
    assert clock.flow.vegas_above_gamma == 1


def test_a_trajectory_shows_the_means_over_the_class() -> None:
    flows = {
        "reno": Flows(1, Reno(), base_rtt=0.04, start=10.0),
        "vegas": Flows(2, Vegas(dialect="ns2"), base_rtt=0.04),
    }
    # RED drops nothing here: this is the kernel of the bundled models.
    run = simulate_packets(Network(Link(1000.0, 200, Red(150, 200)), flows), 10.0, samples=11)
    assert run["vegas_diff"].attrs["units"] == "packets"
    vegas, reno = (run.isel(time=-1).sel(flow_class=name) for name in ("vegas", "reno"))
    assert all(float(reno[name]) == 0.0 for name in COUNTERS)
    assert 1 <= float(vegas["vegas_diff"]) <= 3  # between alpha and beta
    # 10 s are 10 / (0.04 + queue / 1000) round trips; slow start's count only where they end it.
    rounds = 10.0 / float(run["rtt"].sel(flow_class="vegas").isel(time=slice(2, None)).mean())
    counted = sum(float(vegas[name]) for name in DECISIONS)
    assert 0.9 * rounds <= counted <= rounds + 1
    assert (run["vegas_unchanged"].sel(flow_class="vegas").diff("time") >= 0).all()

"""A run depends on its network alone, and estimates its error against the exact solution."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.networks import office
from vegasfluid import DropTail, Flows, InvalidInput, Link, Network, Reno, mbps, metrics, ms
from vegasfluid import simulate_fluid as simulate
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid import accuracy, record_fluid
from vegasfluid.fluid.accuracy import Error, difference, estimated_error, most_steps, refined
from vegasfluid.fluid.time_grid import mean_field_grid

FULL = office(aqm=DropTail())
"""Losses at a full buffer, and Vegas's dead band: corners that no order of convergence survives."""


@cache
def run(samples=401, until=30.0, **more):
    return simulate(FULL, until, warmup=10.0, samples=samples, **more)


@pytest.mark.parametrize("samples", [31, 262])
def test_samples_only_say_where_the_result_is_read(samples):
    """Also where no sample falls on the end of the warm-up."""
    usual, other = run(), run(samples)
    assert 10.0 in other["time"].values
    for item in (metrics.goodput, metrics.mean_queue, metrics.drop_share):
        np.testing.assert_allclose(item(other), item(usual), rtol=1e-9)
    together = np.intersect1d(usual["time"].values, other["time"].values)
    assert together.size >= 3
    for name in ("cwnd", "queue", "dropped"):
        at = [item[name].sel(time=together).values for item in (usual, other)]
        np.testing.assert_allclose(*at, rtol=1e-9)


def test_a_longer_run_begins_like_a_shorter_one():
    step = mean_field_grid(FULL, 30.0).step
    assert mean_field_grid(FULL, 4000.0).step == step
    runs = [record_fluid(FULL, until, 61, tolerance=None) for until in (15.0, 30.0)]
    shorter, longer = (item.flows["cwnd"] for item in runs)
    np.testing.assert_allclose(longer[:31], shorter[::2], rtol=1e-9)


def test_the_estimate_bounds_what_much_shorter_steps_change():
    rough, exact = (
        record_fluid(FULL, 30.0, 401, warmup=10.0, tolerance=item) for item in (10.0, 1e-4)
    )
    assert rough.error is not None
    assert exact.error is not None
    assert max(exact.error) < max(rough.error)
    found = difference(rough, exact, 10.0)
    assert max(found) > 1e-6
    assert all(off <= 1.2 * estimate for off, estimate in zip(found, rough.error, strict=True))


def test_a_run_carries_its_estimate():
    """One figure for goodput, queue and drops, also in a file; below the tolerance."""
    attributes = run().attrs
    assert np.shape(attributes["error_estimate"]) == (3,)
    assert 0 < max(attributes["error_estimate"]) <= attributes["tolerance"] == 0.01
    assert "steps" not in attributes.get("warnings", "")


def test_a_tolerance_that_cannot_be_met_is_reported_as_missed():
    assert (
        "is not met: due to the solver's steps, goodput may be off by"
        in run(until=12.0, tolerance=1e-13).attrs["warnings"]
    )


def failing(too_long: float):
    """Runs of one network, of which those with steps longer than some fail; and the steps tried."""
    tried: list[float] = []

    def run(grid):
        tried.append(grid.step)
        if grid.step > too_long:
            raise SolveFailed("these steps are too long")
        return record_fluid(office(), 10.0, 101, tolerance=None)

    return run, tried


def test_a_run_that_fails_is_made_again_with_shorter_steps():
    grid = mean_field_grid(office(), 10.0, 101)
    run, tried = failing(too_long=0.6 * grid.step)
    assert refined(run, grid, 0.01, 2.0).error == (0.0, 0.0, 0.0)
    assert tried == pytest.approx([grid.step / part for part in (1, 2, 4)])


def test_two_consecutive_failed_runs_are_enough():
    run, tried = failing(too_long=0.0)
    with pytest.raises(SolveFailed, match="too long"):
        refined(run, mean_field_grid(office(), 10.0, 101), 0.01, 2.0)
    assert len(tried) == 2


def test_a_large_state_has_fewer_halvings(monkeypatch):
    """Steps of the density model with thousands of cells take as long as hundreds of others."""
    monkeypatch.setattr(accuracy, "difference", lambda *_: Error(1.0, 1.0, 1.0))
    grid = mean_field_grid(office(), 10.0, 101)
    run, tried = failing(too_long=1.0)
    assert refined(run, grid, 0.01, 2.0, most=grid.until / grid.step).error == (3.0, 3.0, 3.0)
    assert tried == pytest.approx([grid.step, grid.step / 2])  # the first is always done
    assert most_steps(100) > 20 * most_steps(20_000)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_an_invalid_tolerance_is_rejected(tolerance):
    with pytest.raises(InvalidInput, match="tolerance must be above 0 and finite"):
        simulate(FULL, 10.0, tolerance=tolerance)


def test_differences_are_parts_of_what_is_not_too_small():
    """By hand: two classes of 1 and 3 packets/s, of which one is off by a tenth."""
    recording = record_fluid(FULL, 2.0, 3, warmup=1.0, tolerance=None)
    flows = dict(recording.flows)
    flows["delivered"] = flows["delivered"] * np.where(np.arange(8) < 4, 1.1, 1.0)
    more = recording._replace(flows=flows)
    found = difference(more, recording, 1.0)
    assert found == Error(pytest.approx(0.1), 0.0, 0.0)


def test_a_change_that_is_small_by_accident_does_not_make_the_estimate_small():
    """By hand: three times the change; a quarter of the one before; half the largest."""
    none = Error(0.0, 0.0, 0.0)
    assert estimated_error(Error(0.01, 0.008, 0.006), none) == pytest.approx((0.03, 0.024, 0.018))
    assert estimated_error(Error(0.01, 0.001, 0.006), none) == pytest.approx((0.03, 0.015, 0.018))
    before = Error(0.08, 0.004, 0.001)
    assert estimated_error(Error(0.001, 0.002, 0.0), before) == pytest.approx((0.06, 0.03, 0.03))


@pytest.mark.parametrize("rtt", [4, 12])
def test_reno_alone_over_drop_tail_goes_on_losing_and_growing(rtt):
    """It stood still for good after its first losses, at a utilisation of 0.09 (4 ms). The buffer
    holds three times what the path does, so that the link is always busy.
    """
    link = Link(mbps(100), buffer=200)
    found = simulate(Network(link, {"reno": Flows(4, Reno(), base_rtt=ms(rtt))}), 60.0, warmup=20)
    late = found.sel(time=slice(40.0, None))
    assert np.ptp(late["cwnd"].values) > 1.0
    assert np.ptp(late["dropped"].values) > 1.0
    assert float(metrics.utilisation(found)[0]) > 0.95

"""The fluid's outputs and their derivatives, against separate runs."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import Flows, InvalidInput, Link, Network, Red, Reno, Vegas, metrics, simulate_fluid
from vegasfluid.tuning import fluid_gradients
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid, outputs_and_slopes
from vegasfluid.tuning.parameters import tuned_parameters, with_values

UNTIL, WARMUP, WIDTH = 60.0, 15.0, 1e-5
VALUES = np.array([2.0, 20.0, 60.0, 0.1])


def network(**options) -> Network:
    link = Link(10e6 / 12000, 100, Red(min_thresh=10, max_thresh=80))
    flows = {"reno": Flows(4, Reno(), base_rtt=0.02)}
    flows["vegas"] = Flows(4, Vegas(dialect="ns2"), base_rtt=(0.02, 0.02, 0.04, 0.04))
    return Network(link, flows, **options)


PARAMETERS = tuned_parameters(network(), {"vegas": 2.0}, tune_queue=True)


@pytest.fixture
@cache
def fluid() -> DifferentiableFluid:
    return DifferentiableFluid(network(), PARAMETERS, UNTIL, WARMUP)


def test_names_and_ranges_of_the_parameters():
    assert [parameter.name for parameter in PARAMETERS] == [
        "vegas.alpha_packets", "min_thresh_packets", "spread_packets", "max_drop",
    ]  # fmt: skip
    assert [parameter.value(network()) for parameter in PARAMETERS] == [1.0, 10.0, 70.0, 0.1]
    assert PARAMETERS[1].range(network()) == (1.0, 99.0)
    changed = with_values(network(), PARAMETERS, [3.0, 20.0, 30.0, 0.5])
    assert changed.link.aqm == Red(min_thresh=20.0, max_thresh=50.0, max_drop=0.5)
    assert changed.flows["vegas"].law == Vegas(3.0, 5.0, dialect="ns2")


def test_red_cannot_be_tuned_where_there_is_none():
    tail = Network(Link(1000.0, 100), network().flows)
    with pytest.raises(InvalidInput, match="must be red to be tuned, but is 'droptail'"):
        tuned_parameters(tail, {"vegas": 2.0}, tune_queue=True)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_outputs_are_those_of_a_simulation(fluid):
    """The same network simulated separately with half the first step, and measured by `metrics`."""
    result, _ = fluid.at(np.log(VALUES))
    at_values = with_values(network(), PARAMETERS, [jnp.asarray(value) for value in VALUES])
    run = simulate_fluid(at_values, UNTIL, warmup=WARMUP, tolerance=1.0)  # halves the step once
    rates = [np.average(result.goodput[own], weights=fluid.count[own]) for own in fluid.classes]
    np.testing.assert_allclose(rates, metrics.goodput(run), rtol=1e-6)
    assert result.queueing_delay == pytest.approx(float(metrics.queueing_delay(run)[0]), rel=1e-6)
    assert result.drop_share == pytest.approx(float(metrics.drop_share(run)[0]), rel=1e-6)
    assert result.utilisation == pytest.approx(float(metrics.utilisation(run)[0]), rel=1e-6)


@pytest.mark.parametrize("number", range(len(PARAMETERS)))
def test_derivatives_are_those_of_central_differences(fluid, number):
    step = WIDTH * np.eye(len(PARAMETERS))[number]
    above, below = fluid.at(np.log(VALUES) + step)[0], fluid.at(np.log(VALUES) - step)[0]
    slopes = fluid.at(np.log(VALUES))[1]
    for name, slope in slopes._asdict().items():
        expected = (getattr(above, name) - getattr(below, name)) / (2 * WIDTH)
        scale = np.max(np.abs(getattr(above, name)))
        np.testing.assert_allclose(slope[..., number], expected, rtol=2e-3, atol=1e-5 * scale)
    assert abs(slopes.goodput[-1, 0]) > 1.0


def test_a_point_is_evaluated_once(fluid):
    before = fluid.evaluations
    fluid.at(np.log(VALUES) + 0.01)
    fluid.at(np.log(VALUES) + 0.01)
    assert fluid.evaluations == before + 1


def test_where_a_derivative_grows_beyond_all_numbers_differences_take_its_place(fluid, monkeypatch):
    """Oscillations of a network with data both ways do that; differences are near derivatives."""
    values, slopes = fluid.at(np.log(VALUES))

    def overflown(*given):
        result, along, solution = outputs_and_slopes(*given)
        return result, along._replace(goodput=along.goodput * np.inf), solution

    monkeypatch.setattr(fluid_gradients, "outputs_and_slopes", overflown)
    same, instead = DifferentiableFluid(network(), PARAMETERS, UNTIL, WARMUP).at(np.log(VALUES))
    np.testing.assert_allclose(same.goodput, values.goodput, rtol=1e-6)
    np.testing.assert_allclose(
        instead.goodput, slopes.goodput, atol=0.05 * np.abs(slopes.goodput).max()
    )
    np.testing.assert_allclose(
        instead.queueing_delay, slopes.queueing_delay, atol=0.05 * abs(slopes.queueing_delay).max()
    )


def test_further_points_correct_the_differences_by_a_run_each(monkeypatch):
    """Their slopes show how the outputs changed on the way, and across it are those of before."""
    fluid = DifferentiableFluid(network(), PARAMETERS, UNTIL, WARMUP)
    fluid._overflows = True
    runs = []
    alone = fluid_gradients.outputs_alone
    monkeypatch.setattr(
        fluid_gradients,
        "outputs_alone",
        lambda x, *arguments: runs.append(x) or alone(x, *arguments),
    )
    here, step, across = (
        np.log(VALUES),
        np.array([0.3, -0.1, 0.0, 0.0]),
        np.array([0.1, 0.3, 0.2, -0.1]),
    )
    before, old = fluid.at(here)
    after, new = fluid.at(here + step)
    assert len(runs) == 1 + len(PARAMETERS) + 1
    for name in before._fields:
        slopes, change = getattr(new, name), getattr(after, name) - getattr(before, name)
        np.testing.assert_allclose(slopes @ step, change, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(slopes @ across, getattr(old, name) @ across, rtol=1e-9)
    assert fluid.at(here + step + 0.01)[1] is new  # so near a difference would be of oscillations

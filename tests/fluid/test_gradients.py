"""Through a whole run: derivatives against central differences, batches against loops."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid import FluidModel, build
from vegasfluid.fluid.output import delivered
from vegasfluid.tuning.parameters import with_alpha

NETWORK = Network(
    Link(500.0, 150, Red(min_thresh=20, max_thresh=100)),
    {
        "reno": Flows(4, Reno(), base_rtt=0.08),
        "vegas": Flows(3, Vegas(1.5, 3.5), base_rtt=0.1),
    },
)
MODEL = build(NETWORK)
GRID = MODEL.time_grid(30.0, 61)
PARAMETERS = {"alpha": 1.5, "max_drop": 0.1, "capacity": 500.0, "base_rtt": 0.1}


def model_with(parameters) -> FluidModel:
    base = MODEL.parameters
    reno, vegas = base.laws
    aqm = Red(20, 100, max_drop=parameters["max_drop"])
    rtts = jnp.asarray(base.groups.base_rtt).at[1].set(parameters["base_rtt"])
    changed = base._replace(
        laws=(reno, with_alpha(vegas, parameters["alpha"])),
        aqm=(aqm,),
        queues=base.queues._replace(capacity=jnp.reshape(parameters["capacity"], 1)),
        groups=base.groups._replace(base_rtt=rtts),
    )
    return replace(MODEL, parameters=changed)


@jax.jit
def solved(parameters):
    """The states of a run with these parameters."""
    return model_with(parameters).solve(30.0, grid=GRID).states


def log_ratio(parameters):
    """Log of what a Vegas flow delivered over what a Reno flow did, in the last two thirds."""
    gained = delivered(solved(parameters), MODEL.structure)
    reno, vegas = gained[-1] - gained[GRID.samples // 3]
    return jnp.log(vegas / reno)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"until": 20.0}, "grid.until must be 30, that of solve, but is 20.0"),
        ({"warmup": 7.0}, "grid.warmup must be None, since samples are evenly spaced, but is 7.0"),
    ],
)
def test_a_grid_for_another_run_is_refused(changed, message) -> None:
    """Means after a warm-up of 25 s would be those of a run to 20 s, or over wrong times."""
    with pytest.raises(InvalidInput, match=message):
        MODEL.solve(30.0, warmup=25.0, grid=GRID._replace(**changed))


def traced(parameters):
    return {name: jnp.asarray(value) for name, value in parameters.items()}


def test_losses_matter_in_this_run():
    state = solved(traced(PARAMETERS))
    dropped = np.asarray(state.dropped[-1] - state.dropped[20])
    assert dropped.min() > 2


compiled_jvp = jax.jit(lambda parameters, by: jax.jvp(log_ratio, (parameters,), (by,)))


def value_and_derivative(parameters, name):
    """The log ratio, and its derivative by one parameter in forward mode."""
    by = {key: float(key == name) for key in parameters}
    return map(float, compiled_jvp(traced(parameters), traced(by)))


def forward(parameters, name):
    """The derivative by one parameter, in forward mode."""
    return list(value_and_derivative(parameters, name))[1]


@pytest.mark.parametrize(
    ("name", "width", "rtol"),
    [
        ("alpha", 1e-4, 1e-5),
        ("max_drop", 1e-4, 1e-5),
        ("capacity", 1e-5, 1e-4),
        ("base_rtt", 1e-5, 1e-2),
    ],
)
def test_forward_derivative_is_that_of_central_differences(name, width, rtol):
    """By capacity and base RTT the lags move, where the method's derivative is of order 3."""
    value = PARAMETERS[name]
    above, below = value * (1 + width), value * (1 - width)
    (high, _), (low, _) = (
        value_and_derivative({**PARAMETERS, name: moved}, name) for moved in (above, below)
    )
    difference = high - low
    assert abs(difference) > 1e-7
    np.testing.assert_allclose(forward(PARAMETERS, name), difference / (above - below), rtol=rtol)


def test_reverse_derivatives_are_those_of_forward_mode():
    """Of all parameters at once, on any grid."""
    slopes = jax.jit(jax.grad(log_ratio))(traced(PARAMETERS))
    for name, slope in slopes.items():
        assert float(slope) == pytest.approx(forward(PARAMETERS, name), rel=1e-9)


def test_above_saturation_alpha_changes_nothing():
    """Vegas that halves and always grows is Reno (section 5d)."""
    assert abs(forward({**PARAMETERS, "alpha": 60.0}, "alpha")) < 1e-6
    assert abs(forward(PARAMETERS, "alpha")) > 0.01


def test_batch_is_a_loop():
    alphas, drops = jnp.array([2.0, 6.0, 20.0]), jnp.array([0.1, 0.05, 0.02])

    def one(alpha, max_drop):
        return solved({**traced(PARAMETERS), "alpha": alpha, "max_drop": max_drop})

    batch = jax.jit(jax.vmap(one))(alphas, drops)
    for i in range(3):
        alone = one(alphas[i], drops[i])
        for many, single in zip(jax.tree.leaves(batch), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(many[i], single, rtol=1e-9, atol=1e-9)


def fairness(alpha):
    """Jain's index as a user would write it, by the public interface."""
    vegas = Vegas(alpha=alpha, beta=alpha + 2)
    model = build(NETWORK.with_law("vegas", vegas))
    solution = model.solve(30.0)
    return model.jain_index(solution), model.goodput(solution)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jains_index_by_alpha_through_the_public_interface():
    """Forward derivative against central differences; its value from the classes' goodput."""
    (index, goodput), (slope, _) = jax.jvp(fairness, (4.0,), (1.0,))
    counts = np.array([4.0, 3.0])
    expected = (counts @ goodput) ** 2 / (7 * (counts @ np.square(goodput)))
    assert float(index) == pytest.approx(float(expected), rel=1e-12)
    width = 1e-4
    high, low = (fairness(4.0 + sign * width)[0] for sign in (1, -1))
    assert abs(float(slope)) > 1e-3
    assert float(slope) == pytest.approx(float(high - low) / (2 * width), rel=1e-4)

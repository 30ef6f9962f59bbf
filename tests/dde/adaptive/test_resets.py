"""Events that act on the state, end the solve or stand at given times, against closed forms."""

from __future__ import annotations

import math

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.errors import InvalidInput

BOSH3 = diffrax.Bosh3()
FINE = tolerance(1e-8, 1e-10)
REVERSE = diffrax.RecursiveCheckpointAdjoint()


def latched(t, y, history, args):
    """A quantity that rises at rate 1 until the second component states that it was too high."""
    rate, _ = args
    return jnp.stack([jnp.where(y[1] > 0.5, -y[0] / rate, 1.0), 0.0 * y[1]])


LATCH = dde.Reset(
    lambda t, y, history, args: y[0] - args[1],
    lambda t, y, args: y.at[1].set(1.0),
    direction=True,
)


def tripped(args, adjoint=None):
    """The quantity at t = 60 and 100; the threshold is 50."""
    return dde.solve(
        latched, BOSH3, 0.0, 100.0, None, jnp.zeros(2), args, resets=[LATCH], adjoint=adjoint,
        saveat=diffrax.SaveAt(ts=jnp.array([60.0, 100.0])), stepsize_controller=FINE,
        max_steps=4096,
    ).ys[:, 0]  # fmt: skip


TRIPPED = np.array([50 * math.exp(-2), 50 * math.exp(-10)])


def test_a_latch_stays():
    """Once above h, y = h exp(-(t - h)/r): neurophysik/jitcdde issue 53."""
    np.testing.assert_allclose(tripped((5.0, 50.0)), TRIPPED, rtol=1e-5)


@pytest.mark.parametrize("with_timer", [False, True])
def test_a_guard_that_should_latch_names_the_remedy(with_timer):
    """A guard forgets at once; so does one on the time since, which only grows after the event."""

    def rhs(t, y, history, args, above):
        on = jnp.any(above)
        return jnp.stack([jnp.where(on, -y[0] / 5, 1.0), jnp.where(on, 1.0, 0.0)])

    indicators = (
        (lambda t, y, h, a: jnp.stack([y[0] - 50.0, y[1] - 1e-9]))
        if with_timer
        else (lambda t, y, h, a: y[:1] - 50.0)
    )
    found = dde.solve(
        rhs, BOSH3, 0.0, 100.0, None, jnp.zeros(2), guards=indicators, throw=False,
        stepsize_controller=FINE,
    )  # fmt: skip
    assert found.result == dde.Outcome.CHATTERING
    assert float(found.time) == pytest.approx(50.0, abs=1e-6)
    assert "dde.Reset" in dde.Outcome(int(found.result)).meaning


@pytest.mark.slow
def test_a_latch_is_differentiable():
    args, known, h, r = (jnp.float64(5.0), jnp.float64(50.0)), TRIPPED, 50.0, 5.0
    by_rate, by_threshold = jax.jacfwd(tripped)(args)
    np.testing.assert_allclose(by_rate, known * (np.array([60.0, 100.0]) - h) / r**2, rtol=1e-5)
    np.testing.assert_allclose(by_threshold, known * (1 / h + 1 / r), rtol=1e-5)
    back = jax.grad(lambda args: tripped(args, REVERSE)[0])(args)
    np.testing.assert_allclose(back, (by_rate[0], by_threshold[0]), rtol=1e-9)


def dosed(args, adjoint=None):
    """A decay with a dose at a time, and a component that reads it late: x' = y(t - 1)."""
    rate, dose, at = args
    give = dde.Reset(
        lambda t, y, history, args: t - args[2], lambda t, y, args: y.at[0].add(args[1]), True
    )
    return dde.solve(
        lambda t, y, history, args: jnp.stack([-args[0] * y[0], history(t - 1.0)[0]]),
        BOSH3, 0.0, 4.0, None, jnp.array([1.0, 0.0]), (rate, dose, at), resets=[give],
        stepsize_controller=FINE, adjoint=adjoint, max_steps=1024,
    ).ys[-1]  # fmt: skip


DOSE = (0.5, 2.0, 1.25)


def after_dose(rate, dose, at):
    """The closed form of `dosed`: the reader integrates the dose from a lag after it."""
    y = jnp.exp(-4 * rate) + dose * jnp.exp(-rate * (4 - at))
    late = 1.0 + (1 - jnp.exp(-3 * rate)) / rate + dose * (1 - jnp.exp(-rate * (3 - at))) / rate
    return jnp.stack([y, late])


def test_a_dose_enters_the_history():
    np.testing.assert_allclose(dosed(DOSE), after_dose(*DOSE), rtol=1e-7)


@pytest.mark.slow
def test_a_dose_is_differentiable_in_its_size_and_time():
    """By forward and by reverse mode."""
    args = tuple(map(jnp.float64, DOSE))
    expected = jax.jacfwd(lambda args: after_dose(*args))(args)
    np.testing.assert_allclose(jax.jacfwd(dosed)(args), expected, rtol=1e-6)
    for row in (0, 1):
        found = jax.grad(lambda args, row=row: dosed(args, REVERSE)[row])(args)
        np.testing.assert_allclose(found, [each[row] for each in expected], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_ball_that_bounces():
    """From height 1 with gravity 2, half of the speed kept: impacts at 1, 2 and 2.5."""
    bounce = dde.Reset(
        lambda t, y, history, args: y[0], lambda t, y, args: jnp.stack([0.0 * y[0], -y[1] / 2])
    )
    found = dde.solve(
        lambda t, y, history, args: jnp.stack([y[1], -2.0 + 0.0 * history(t - 5.0)[1]]), BOSH3,
        0.0, 2.6, None, jnp.array([1.0, 0.0]), resets=[bounce], stepsize_controller=FINE,
        saveat=diffrax.SaveAt(ts=jnp.array([0.5, 1.0, 1.5, 2.25, 2.6]), dense=True),
        max_steps=256,
    )  # fmt: skip
    tops = [0.75, 0.0, 0.25, 0.0625, 0.1 * (0.25 - 0.1)]
    np.testing.assert_allclose(found.ys[:, 0], tops, rtol=0, atol=1e-9)
    assert int(found.stats["num_events"]) == 3
    # Before and after the first impact, as in diffrax; saved states are those after it.
    np.testing.assert_allclose(found.evaluate(1.0), [0.0, -2.0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.evaluate(1.0, left=False), [0.0, 1.0], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.ys[1], found.evaluate(1.0, left=False))
    np.testing.assert_allclose(found.derivative(1.0)[0], -2.0, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.derivative(1.0, left=False)[0], 1.0, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.evaluate(0.5, 1.5), [-0.5, 1.0], rtol=0, atol=1e-9)


def falling(height, adjoint=None, **options):
    """A fall from rest, y'' = -1 written with a history, until the ground at 0 or below 5."""
    event = diffrax.Event({"ground": lambda t, y, args, **_: y[0], "low": low}, None, options["up"])
    return dde.solve(
        lambda t, y, history, args: jnp.stack([y[1], -1.0 + 0.0 * history(t - 1.0)[0]]), BOSH3,
        0.0, 10.0, None, jnp.stack([height, 0.0 * height]), event=event, adjoint=adjoint,
        stepsize_controller=FINE, max_steps=256,
        saveat=diffrax.SaveAt(ts=jnp.array([1.0, 9.0]), t1=True),
    )  # fmt: skip


def low(t, y, args, *, history):
    return history(t - 1.0)[0] - 5.0


EVENTS = [
    (None, math.sqrt(2 * 3.0) + 1, "low"),
    pytest.param({"ground": None, "low": True}, 4.0, "ground", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("up", "at", "which"), EVENTS)
def test_an_event_ends_the_solve(up, at, which):
    """From height 8: the height was 5 at sqrt 6, which is read one later; the ground is at 4."""
    found = falling(jnp.float64(8.0), up=up)
    assert found.result == dde.Outcome.SUCCESS
    np.testing.assert_allclose(found.ts[-1], at, rtol=1e-8)
    np.testing.assert_allclose(found.ys[[0, -1], 0], [7.5, 8 - at**2 / 2], rtol=0, atol=1e-7)
    assert np.isnan(found.ys[1]).all()
    assert {name: bool(value) for name, value in found.event_mask.items()} == {
        "ground": which == "ground",
        "low": which == "low",
    }


@pytest.mark.slow
def test_the_time_of_an_event_is_differentiable():
    """It is the square root of 2 h, in both modes."""
    up = {"ground": None, "low": True}
    height = jnp.float64(8.0)
    forward = jax.jacfwd(lambda height: falling(height, up=up).ts[-1])(height)
    reverse = jax.grad(lambda height: falling(height, REVERSE, up=up).ts[-1])(height)
    np.testing.assert_allclose([forward, reverse], 1 / math.sqrt(16.0), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jumps_at_given_times():
    """Steps end at each jump, so that a short pulse is not missed, and a reader reads it late."""
    jumps = jnp.array([1.0, 1.001, 2.5])
    controller = diffrax.ClipStepSizeController(FINE, step_ts=jnp.array([0.3]), jump_ts=jumps)

    def counting(t, y, history, args):
        height = jnp.where(t < jumps[0], 0.0, jnp.where(t < jumps[1], 1000.0, 0.0))
        return jnp.stack([height + jnp.where(t < jumps[2], 0.0, 2.0), history(t - 1.0)[0]])

    found = dde.solve(
        counting, BOSH3, 0.0, 4.0, None, jnp.zeros(2), stepsize_controller=controller,
        saveat=diffrax.SaveAt(steps=True), max_steps=512,
    )  # fmt: skip
    ts = np.asarray(found.ts)
    last = np.flatnonzero(np.isfinite(ts))[-1]
    late = 1000 * 0.001**2 / 2 + (3.0 - 1.001) + 0.5**2
    np.testing.assert_allclose(found.ys[last], [1 + 3.0, late], rtol=1e-9)
    assert np.abs(ts[:, None] - np.array([0.3, 1.0, 1.001, 2.5]))[: last + 1].min(0).max() < 1e-12
    assert last < 60


@pytest.mark.slow
def test_a_jump_is_differentiable_in_its_time():
    """The end is 3 (4 - jump): -3, in both modes."""

    def end(jump, adjoint=None):
        controller = diffrax.ClipStepSizeController(FINE, jump_ts=jump[None])
        return dde.solve(
            lambda t, y, history, jump: jnp.where(t < jump, 0.0, 3.0) + 0.0 * history(t - 1.0),
            BOSH3, 0.0, 4.0, None, jnp.zeros(1), jump, stepsize_controller=controller,
            adjoint=adjoint, max_steps=64,
        ).ys[-1, 0]  # fmt: skip

    jump = jnp.float64(1.5)
    assert float(jax.jacfwd(end)(jump)) == pytest.approx(-3.0, rel=1e-12)
    assert float(jax.grad(lambda jump: end(jump, REVERSE))(jump)) == pytest.approx(-3.0, rel=1e-12)


def bellen_zennaro(t, y, history, args):
    return 5.0 - history(t - 2.0 - y[0] ** 2)


def past(s, args):
    return jnp.where(s < -1.0, 4.5, -0.5)[None]


def test_a_jump_of_the_past_and_the_end_of_a_solution():
    """Starts as -1/2 + t/2 up to 1, then 5.5 (t - 1) up to 125/121, where no solution goes on.

    Source: an equation of Bellen and Zennaro's book, by neurophysik/jitcdde issue 7.
    """

    @jax.jit
    def end(t1):
        return dde.solve(
            bellen_zennaro, BOSH3, 0.0, t1, None, jnp.array([-0.5]), initial_history=past,
            past_breaks=[-1.0], throw=False, stepsize_controller=FINE,
        )  # fmt: skip

    for t1, known in ((0.9, -0.05), (1.02, 0.11), (1.033, 0.1815)):
        assert float(end(t1).ys[-1, 0]) == pytest.approx(known, abs=1e-9)
    found = end(1.2)
    assert found.result == dde.Outcome.CHATTERING
    assert float(found.time) == pytest.approx(125 / 121, abs=1e-9)


def test_a_kink_of_the_past_costs_no_accuracy():
    """One step over the past abs(s + 1/3), with y' = y(t - 1): two parabolas."""
    found = dde.solve(
        lambda t, y, history, args: history(t - 1.0), BOSH3, 0.0, 1.0, 1.0, jnp.array([1 / 3]),
        initial_history=lambda s, args: jnp.abs(s + 1 / 3)[None], past_breaks=[-1 / 3],
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    known = 1 / 3 + (2 / 3) ** 2 / 2 + (1 / 3) ** 2 / 2
    assert float(found.ys[-1, 0]) == pytest.approx(known, rel=1e-13)


def test_a_bound_keeps_the_right_hand_side_inside_its_domain():
    """From 1 with y' = -sqrt y: (1 - t/2)^2, then 0; PositiveIntegrators.jl issue 142."""
    ts = jnp.array([1.0, 1.9, 2.5, 3.0])
    found = dde.solve(
        lambda t, y, history, args: -jnp.sqrt(y), BOSH3, 0.0, 3.0, None, jnp.ones(1),
        bounds=[dde.Bound(0, lower=0.0)], saveat=diffrax.SaveAt(ts=ts), stepsize_controller=FINE,
    )  # fmt: skip
    np.testing.assert_allclose(found.ys[:, 0], [0.25, 0.0025, 0.0, 0.0], rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_history_grows_where_it_may():
    """A lag of 12 is 1200 steps of 0.01, more than are kept at first; not under jit."""

    def late(t1):
        return dde.solve(
            lambda t, y, history, args: -history(t - 12.0), BOSH3, 0.0, t1, 0.01, jnp.ones(1),
            stepsize_controller=diffrax.ConstantStepSize(), throw=False,
        )  # fmt: skip

    assert float(late(14.0).ys[-1, 0]) == pytest.approx(1 - 14.0 + 2.0, abs=1e-9)
    assert jax.jit(late)(14.0).result == dde.Outcome.HISTORY_OVERFLOW


def by_network(t, y, history, network):
    return network(jnp.concatenate([y, history(t - 1.0)]))


def loss(network, adjoint=None):
    """The end of a neural delay equation, through its activation function."""
    return dde.solve(
        by_network, BOSH3, 0.0, 2.0, 0.25, jnp.ones(1), network, adjoint=adjoint, max_steps=16,
        stepsize_controller=diffrax.ConstantStepSize(),
        saveat=diffrax.SaveAt(t1=True, fn=lambda t, y, net: net.activation(y)),
    ).ys[-1, 0]  # fmt: skip


NETWORK = eqx.nn.MLP(2, 1, 4, 1, activation=jnp.tanh, key=jax.random.PRNGKey(0))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_network_in_the_arguments():
    """An equinox module with its activation function gives what its arrays alone do."""
    arrays, static = eqx.partition(NETWORK, eqx.is_array)
    found = dde.solve(
        lambda t, y, history, arrays: by_network(t, y, history, eqx.combine(arrays, static)),
        BOSH3, 0.0, 2.0, 0.25, jnp.ones(1), arrays,
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    assert float(loss(NETWORK)) == pytest.approx(math.tanh(float(found.ys[-1, 0])), rel=1e-14)


@pytest.mark.slow
def test_a_network_in_the_arguments_is_differentiable():
    """The gradient agrees with differences."""
    found = eqx.filter_grad(loss)(NETWORK, REVERSE).layers[0].weight[0, 1]

    def moved(by):
        weights = NETWORK.layers[0].weight.at[0, 1].add(by)
        return float(loss(eqx.tree_at(lambda net: net.layers[0].weight, NETWORK, weights)))

    by_differences = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert float(found) == pytest.approx(by_differences, rel=1e-7)


INVALID = [
    ("event", {"event": lambda t, y, args: y[0]}),
    ("event", {"event": diffrax.Event(lambda t, y, args, **_: y)}),
    ("resets", {"resets": [lambda t, y, history, args: y[0]]}),
    ("resets", {"resets": [dde.Reset(lambda t, y, history, args: y, lambda t, y, args: y)]}),
    ("resets", {"resets": [dde.Reset(lambda t, y, history, args: y[0], lambda t, y, args: 0.0)]}),
    ("past_breaks", {"past_breaks": [0.5]}),
    ("past_breaks", {"past_breaks": [-1.0, -2.0]}),
]


@pytest.mark.parametrize(("name", "options"), INVALID)
def test_wrong_events_are_refused(name, options):
    with pytest.raises(InvalidInput, match=rf"^dde\.solve: {name} must be .*, but is "):
        dde.solve(
            lambda t, y, history, args: -history(t - 1.0), BOSH3, 0.0, 1.0, None, jnp.ones(2),
            **options,
        )  # fmt: skip


def test_a_condition_that_is_a_bool_is_refused():
    event = diffrax.Event(lambda t, y, args, **_: y[0] < 0)
    with pytest.raises(InvalidInput, match=r"a bool is not supported: return a number that is"):
        dde.solve(
            lambda t, y, history, args: -history(t - 1.0), BOSH3, 0.0, 1.0, None, jnp.ones(1),
            event=event,
        )  # fmt: skip

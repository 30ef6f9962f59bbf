"""States that are pytrees, scalars, matrices or complex, against closed forms."""

from __future__ import annotations

import cmath
import math
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.dde.adaptive.options import with_defaults
from vegasfluid.dde.adaptive.state_options import options_of_vector
from vegasfluid.dde.adaptive.states import StateForm, StructuredHistory, vector_and_form
from vegasfluid.errors import InvalidInput, Unsupported

BOSH3, TSIT5 = diffrax.Bosh3(), diffrax.Tsit5()
TIGHT = tolerance(1e-9)


class Pair(eqx.Module):
    """A module as part of a state."""

    first: Any
    second: Any


def staircase(t):
    """The solution of y' = -y(t - 1) from 1, up to t = 3."""
    parts = [1.0, -t, max(t - 1, 0.0) ** 2 / 2, -(max(t - 2, 0.0) ** 3) / 6]
    return sum(parts)


def scaled(y):
    """A state of this form whose components are known multiples of `y`."""
    matrix = jnp.array([[1.0, -2.0], [0.5, 3.0]])
    return {"pair": Pair(y, (4 * y,)), "matrix": matrix * jnp.asarray(y)[..., None, None]}


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_tree_of_scalars_and_matrices():
    """Reads of one time and of several, saved states, `fn`, dense output, all of y0's form."""

    def rhs(t, y, history, args):
        assert jax.tree.structure(y) == jax.tree.structure(scaled(1.0))
        several = history(t - jnp.array([0.3, 1.0]))
        assert several["matrix"].shape == (2, 2, 2)
        assert several["pair"].first.shape == (2,)
        late = {"matrix": several["matrix"][1], "pair": history.ago(1.0)["pair"]}
        whole = history.integral(t - 0.2, t)
        part = history.integral(t - 0.2, t, lambda s, y: y["matrix"])
        late["matrix"] += 0 * (part - whole["matrix"])
        return jax.tree.map(lambda leaf: -leaf, late)

    ts = jnp.array([0.5, 1.5, 2.7])
    saveat = diffrax.SaveAt(
        dense=True,
        subs={
            "all": diffrax.SubSaveAt(ts=ts),
            "sum": diffrax.SubSaveAt(ts=ts, fn=lambda t, y, args: y["matrix"].sum() + args),
        },
    )
    solution = dde.solve(
        rhs, BOSH3, 0.0, 3.0, None, scaled(1.0), 7.0, initial_history=lambda s, args: scaled(1.0),
        saveat=saveat, stepsize_controller=TIGHT, max_steps=4096,
    )  # fmt: skip
    known = scaled(jnp.array([staircase(t) for t in (0.5, 1.5, 2.7)]))
    for found in (solution.ys["all"], solution.evaluate(ts)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-8), found, known)
    sums = known["matrix"].sum((1, 2)) + 7.0
    np.testing.assert_allclose(solution.ys["sum"], sums, atol=1e-8)
    one = solution.evaluate(1.5)
    assert one["matrix"].shape == (2, 2)
    assert one["pair"].first == pytest.approx(staircase(1.5), abs=1e-8)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_number_and_its_batch():
    """From y0 constant before, y(t) = y0 (1 - rate t) up to the lag."""

    def solve(y0):
        return dde.solve(
            lambda t, y, history, rate: -rate * history(t - 1.0), BOSH3, 0.0, 0.5, None, y0, 0.4
        )

    one = solve(2.0)
    assert one.ys.shape == (1,)
    assert one.ys[0] == pytest.approx(1.6, abs=1e-7)
    batch = dde.solve_batch(
        lambda t, y, history, rate: {"a": -rate * history(t - 1.0)["a"], "b": jnp.eye(2)},
        BOSH3, 0.0, 0.5, None, {"a": jnp.array([1.0, 2.0, 3.0]), "b": jnp.zeros((3, 2, 2))},
        jnp.array([0.1, 0.2, 0.4]), chunk=2, saveat=diffrax.SaveAt(dense=True, ts=jnp.array([0.5])),
        max_steps=64,
    )  # fmt: skip
    np.testing.assert_allclose(batch.ys["a"][:, 0], [0.95, 1.8, 2.4], atol=1e-6)
    np.testing.assert_allclose(batch.ys["b"][:, 0], np.eye(2)[None] * np.full((3, 1, 1), 0.5))
    assert batch.evaluate(0.25)["b"].shape == (3, 2, 2)
    np.testing.assert_allclose(batch.evaluate(0.25)["a"], [0.975, 1.9, 2.7], atol=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_resets_events_and_guards_get_the_state():
    """It rises to 5 where it trips, decays, and ends at 1 at t = 5 + 5 log 5."""

    def rhs(t, y, history, args, above):
        late = history(t - 1.0)["tripped"]
        slope = jnp.where(above[0], -y["level"] / 5.0, 1.0)
        return {"level": slope, "tripped": 0.0, "late": late[None]}

    y0 = {"level": 0.0, "tripped": 0.0, "late": jnp.zeros(1)}

    solution = dde.solve(
        rhs, TSIT5, 0.0, 60.0, None, y0, initial_history=lambda s, args: y0,
        guards=lambda t, y, history, args: jnp.stack([y["tripped"] - 0.5]),
        resets=[
            dde.Reset(
                lambda t, y, history, args: y["level"] - 5.0,
                lambda t, y, args: {**y, "tripped": jnp.ones(())}, direction=True,
            )
        ],
        event=diffrax.Event(
            lambda t, y, args, history: y["level"] - 1.0 + 9 * (1 - y["tripped"]), direction=False
        ),
        stepsize_controller=TIGHT,
    )  # fmt: skip
    assert solution.event_mask
    assert solution.ts[-1] == pytest.approx(5 + 5 * math.log(5), abs=1e-7)
    assert solution.ys["level"][-1] == pytest.approx(1.0, abs=1e-8)
    assert solution.ys["late"][-1, 0] == pytest.approx(5 * math.log(5) - 1, abs=1e-7)


@pytest.mark.parametrize(
    "y0",
    [
        {"queues": jnp.zeros(2), "total": 0.0},
        pytest.param(jnp.zeros(3), marks=[pytest.mark.slow, pytest.mark.unoptimised]),
    ],
)
def test_bounds_select_components(y0):
    """The first queue fills up to 1 and stays, the second stays empty, the total is projected."""
    keyed = isinstance(y0, dict)

    def rhs(t, y, history, args):
        slopes = jnp.array([1.0, -1.0])
        total = history(t - 1.0)["total"] if keyed else history(t - 1.0)[2]
        free = jnp.ones(()) + 0 * total
        return {"queues": slopes, "total": free} if keyed else jnp.append(slopes, free)

    bound = dde.Bound(
        lambda y: y["queues"] if keyed else y[:2],
        lower=0.0, upper=lambda args: jnp.array([args, 3.0]),
    )  # fmt: skip

    def project(y, args):
        total = jnp.minimum(y["total"] if keyed else y[2], 2.0)
        return {**y, "total": total} if keyed else y.at[2].set(total)

    y = dde.solve(rhs, BOSH3, 0.0, 2.5, None, y0, 1.0, bounds=[bound], project=project).ys
    queues, total = (y["queues"], y["total"]) if keyed else (y[:, :2], y[:, 2])
    np.testing.assert_allclose(queues[-1], [1.0, 0.0], atol=1e-12)
    assert total[-1] == 2.0


@pytest.mark.slow
@pytest.mark.unoptimised
def test_complex_states_and_their_gradients():
    """Y = exp(r t) solves y' = r exp(r) y(t - 1); |y|^2 = exp(2 t Re r)."""
    t1 = 2.0

    def size(real, mode):
        root = jax.lax.complex(real, 1.3)

        def rhs(t, y, history, root):
            return {"y": root * jnp.exp(root) * history(t - 1.0)["y"]}

        solution = dde.solve(
            rhs, TSIT5, 0.0, t1, None, {"y": jnp.ones((), complex)}, root,
            initial_history=lambda s, root: {"y": jnp.exp(root * s.astype(complex))},
            adjoint=mode, max_steps=512, stepsize_controller=TIGHT,
        )  # fmt: skip
        return jnp.abs(solution.ys["y"][-1]) ** 2, solution.ys["y"][-1]

    (square, y), slope = jax.value_and_grad(size, has_aux=True)(
        0.2, diffrax.RecursiveCheckpointAdjoint()
    )
    assert complex(y) == pytest.approx(cmath.exp((0.2 + 1.3j) * t1), rel=1e-8)
    assert square == pytest.approx(math.exp(0.4 * t1), rel=1e-8)
    assert slope == pytest.approx(2 * t1 * math.exp(0.4 * t1), rel=1e-7)
    forward = jax.jacfwd(lambda real: size(real, None)[0])(0.2)
    assert forward == pytest.approx(float(slope), rel=1e-9)


def by_lag(t, y, history, args):
    return jax.tree.map(lambda leaf: -leaf, history(t - 1.0))


COMPLEX = {"a": jnp.array([1 + 3j, 2 + 4j]), "b": jnp.array(5.0)}


def test_the_vector_of_a_complex_state_has_real_parts_first():
    vector, form = vector_and_form("dde.solve", COMPLEX, batch=False)
    assert form is not None
    np.testing.assert_array_equal(vector, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(form.vector("rhs", COMPLEX), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(form.tree(vector)["a"], COMPLEX["a"])
    assert form.tree(vector)["b"] == 5


class Polynomial:
    """A history y(s) = (s, s^2) at t = 10, in the form that a solve hands over."""

    def __call__(self, s):
        return jnp.stack([s, s**2], axis=-1)

    def ago(self, lag):
        return self(10 - lag)

    def derivative(self, s):
        return jnp.stack([jnp.ones_like(s), 2 * s], axis=-1)

    def derivative_ago(self, lag):
        return self.derivative(10 - lag)

    def integral(self, start, end, integrand=None, nodes=3):
        assert nodes == 5
        middle = jnp.asarray((start + end) / 2)
        value = self(middle) if integrand is None else integrand(middle, self(middle))
        return (end - start) * value


def test_a_history_of_trees_reads_as_that_of_vectors_does():
    y0 = {"a": 0.0, "b": jnp.zeros((1, 1))}
    history = StructuredHistory(Polynomial(), vector_and_form("dde.solve", y0, batch=False)[1])
    three = jnp.array(3.0)
    for read, known in (
        (history(three), (3, 9)),
        (history.ago(three), (7, 49)),
        (history.derivative(three), (1, 6)),
        (history.derivative_ago(three), (1, 14)),
        (history.integral(2.0, 4.0, nodes=5), (6, 18)),
    ):
        assert read["a"] == known[0]
        np.testing.assert_array_equal(read["b"], [[known[1]]])
    assert history.integral(2.0, 4.0, lambda s, y: s * y["a"], nodes=5) == 18
    several = history(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(several["a"], [1, 2])
    assert several["b"].shape == (2, 1, 1)


@pytest.mark.parametrize(
    ("name", "y0", "options", "message"),
    [
        ("y0['a']", {"a": 1, "b": 1.0}, {}, "write 1.0 for 1"),
        ("y0['a']", {"a": "x"}, {}, "eqx.partition"),
        ("y0", {}, {}, "at least one number"),
        ("bounds", {"a": 1.0}, {"bounds": [dde.Bound(0, lower=0.0)]}, "lambda y: y"),
        ("bounds", jnp.ones(2), {"bounds": [dde.Bound(lambda y: y / 2, lower=0.0)]}, "selects"),
        (
            "bounds",
            jnp.ones(2),
            {"bounds": [dde.Bound(lambda y: y, lower=jnp.zeros(3))]},
            r"shape \(\) or \(2,\)",
        ),
        ("initial_history", {"a": 1.0}, {"initial_history": lambda s, args: 1.0}, "'a'"),
        (
            "initial_history",
            {"a": 1.0},
            {"initial_history": lambda s, args: {"a": jnp.ones(2)}},
            r"at \['a'\] an array of shape \(\)",
        ),
        (
            "initial_history",
            {"a": 1.0},
            {"initial_history": lambda s, args: {"a": 1j}},
            "real numbers",
        ),
    ],
)
def test_wrong_states_are_refused_with_the_remedy(name, y0, options, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        dde.solve(by_lag, BOSH3, 0.0, 2.0, None, y0, **options)
    assert caught.value.name == name
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_complex_components_have_no_bounds():
    with pytest.raises(Unsupported, match="no order"):
        dde.solve(
            by_lag, BOSH3, 0.0, 2.0, None, {"a": 1j}, bounds=[dde.Bound(lambda y: y["a"], 0.0)]
        )


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_neutral_equation_of_a_tree():
    """From y = s before 0 and y' = y'(t - 1) / 2, y' is 1/2 up to t = 1."""

    def rhs(t, y, history, args):
        late, same = history.derivative(t - 1.0), history.derivative_ago(1.0)
        return {"a": (late["a"] + same["a"]) / 4.0}

    solution = dde.solve(
        rhs, BOSH3, 0.0, 1.0, None, {"a": jnp.zeros((2, 1))},
        initial_history=lambda s, args: {"a": jnp.full((2, 1), s)},
    )  # fmt: skip
    np.testing.assert_allclose(solution.ys["a"][0], np.full((2, 1), 0.5), atol=1e-9)


def test_a_norm_of_the_users_sees_the_tree():
    """Diffrax's own norm sees the vector, as it always does."""
    form = StateForm(jax.tree.structure({"a": 0, "b": 0}), ((), (2,)), (False, False))

    def largest(state):
        return jnp.max(jnp.abs(state["b"]))

    for given in (
        diffrax.PIDController(1e-3, 1e-6, norm=largest),
        diffrax.ClipStepSizeController(diffrax.PIDController(1e-3, 1e-6, norm=largest)),
    ):
        options = with_defaults({"stepsize_controller": given})
        controller = options_of_vector(options, form)["stepsize_controller"]
        norm = getattr(controller, "controller", controller).norm
        assert float(norm(jnp.array([9.0, -4.0, 2.0]))) == 4.0
    usual = with_defaults({})["stepsize_controller"]
    assert options_of_vector(with_defaults({}), form)["stepsize_controller"].norm is usual.norm

"""What makes no sense is rejected beforehand, in one line."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde
from vegasfluid.errors import InvalidInput, Unsupported

CONSTANT = diffrax.ConstantStepSize()


def by_lag(t, y, history, args):
    return -history(t - 1.0)


def at(**options):
    return {"saveat": diffrax.SaveAt(**options)}


def one_switch(value):
    return {
        "guards": lambda t, y, history, args: value,
        "rhs": lambda t, y, history, args, above: -history(t - 1.0),
    }


ALONE = [
    ("y0", {"y0": np.ones(2, int)}),
    ("y0", {"y0": np.ones(0)}),
    ("t0", {"t0": np.zeros(1)}),
    ("t1", {"t1": np.ones((1, 1))}),
    ("dt0", {"dt0": np.ones(1)}),
    ("dt0", {"dt0": 0.0}),
    ("dt0", {"dt0": -0.1}),
    ("dt0", {"dt0": float("nan")}),
    ("dt0", {"dt0": None, "stepsize_controller": CONSTANT}),
    ("solver", {"solver": "Tsit5"}),
    ("solver", {"solver": diffrax.Tsit5}),
    ("stepsize_controller", {"solver": diffrax.Euler()}),
    ("stepsize_controller", {"stepsize_controller": diffrax.StepTo(ts=np.linspace(0, 1, 5))}),
    ("stepsize_controller", {"stepsize_controller": None}),
    ("adjoint", {"adjoint": diffrax.DirectAdjoint()}),
    ("adjoint", {"adjoint": diffrax.BacksolveAdjoint()}),
    ("progress_meter", {"progress_meter": "text"}),
    ("history_capacity", {"history_capacity": 7}),
    ("history_capacity", {"history_capacity": 64.0}),
    ("history_capacity", {"history_capacity": 2**30}),
    (
        "stepsize_controller",
        {
            "stepsize_controller": diffrax.ClipStepSizeController(
                diffrax.PIDController(rtol=1e-3, atol=1e-3), store_rejected_steps=4
            )
        },
    ),
    ("max_steps", {"max_steps": 0}),
    ("max_steps", {"max_steps": None}),
    ("bounds", {"bounds": [(0, 0.0, None)]}),
    ("bounds", {"bounds": [dde.Bound(1, lower=0.0)]}),
    ("bounds", {"bounds": [dde.Bound(-1, lower=0.0)]}),
    ("bounds", {"bounds": [dde.Bound(0, lower=0.0), dde.Bound(0, upper=1.0)]}),
    ("rhs", {"rhs": lambda t, y, history, args: history(t - 1.0)[0]}),
    ("rhs", {"rhs": lambda t, y, history, args: jnp.ones(2) * history(t - 1.0)}),
    ("rhs", {"rhs": lambda t, y, history, args: 0.0}),
    ("initial_history", {"initial_history": lambda s, args: jnp.ones(2)}),
    ("initial_history", {"initial_history": lambda s, args: s}),
    ("guards", one_switch(jnp.float64(1.0))),
    ("guards", one_switch(jnp.ones((1, 1)))),
    ("guards", one_switch(1.0)),
    ("saveat", at(ts=jnp.array([0.0, 1.0]), steps=True)),
    ("saveat", at(ts=jnp.array([1.0, 0.5]))),
    ("saveat", at(ts=jnp.array([0.0, jnp.nan]))),
    ("saveat", at(ts=jnp.array([0.0, 2.1]))),
    ("saveat", at(ts=jnp.array([-0.1, 1.0]))),
]


@pytest.mark.parametrize(("name", "change"), ALONE)
def test_solve_rejects(name, change):
    given = {"rhs": by_lag, "solver": diffrax.Bosh3(), "t0": 0.0, "t1": 2.0, "dt0": None}
    given |= {"y0": np.ones(1)} | change
    positional = [given.pop(key) for key in ("rhs", "solver", "t0", "t1", "dt0", "y0")]
    with pytest.raises(InvalidInput) as caught:
        dde.solve(*positional, **given)
    refused_in_one_line(caught.value, name)


@pytest.mark.parametrize("option", ["solver_state", "controller_state", "made_jump"])
def test_a_state_of_the_solver_cannot_be_saved(option):
    with pytest.raises(Unsupported, match=rf"SaveAt\({option}=True\) is not supported: a solve "):
        dde.solve(by_lag, diffrax.Bosh3(), 0.0, 2.0, None, np.ones(1), **at(t1=True, **{option: 1}))


BATCH = [
    ("y0", {"y0": np.ones((0, 1))}),
    ("y0", {"y0": 1.0}),
    ("y0", {"y0": (np.ones(3), np.ones((2, 1)))}),
    ("t0", {"t0": np.zeros(2)}),
    ("t1", {"t1": np.ones((3, 1))}),
    ("dt0", {"dt0": np.array([0.1, 0.0, 0.1])}),
    ("args", {"args": 1.0}),
    ("args", {"args": (np.ones(3), np.ones((1, 3)))}),
    ("chunk", {"chunk": 0}),
    ("chunk", {"chunk": 2.0}),
    ("history_capacity", {"history_capacity": 1}),
    ("saveat", at(ts=jnp.array([0.0, 2.1]))),
    ("saveat", {"t1": np.array([1.0, 2.0, 3.0]), **at(ts=jnp.array([0.5, 1.5]))}),
]


@pytest.mark.parametrize(("name", "change"), BATCH)
def test_solve_batch_rejects(name, change):
    given = {"t0": 0.0, "t1": 2.0, "dt0": None, "y0": np.ones((3, 1)), "args": None} | change
    positional = [given.pop(key) for key in ("t0", "t1", "dt0", "y0", "args")]
    with pytest.raises(InvalidInput) as caught:
        dde.solve_batch(by_lag, diffrax.Bosh3(), *positional, **given)
    refused_in_one_line(caught.value, name)


def test_a_method_for_other_equations_is_refused_with_a_remedy():
    with pytest.raises(Unsupported, match=r"solver LeapfrogMidpoint is not supported: .*Kvaerno5"):
        dde.solve(by_lag, diffrax.LeapfrogMidpoint(), 0.0, 2.0, None, np.ones(1))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_reverse_mode_without_its_adjoint_names_it():
    """Forward mode is the default: the derivative of 1 - 2 rate by the rate is there."""

    def end(rate):
        return dde.solve(
            lambda t, y, history, rate: -rate * history(t - 3.0), diffrax.Heun(), 0.0, 2.0, 0.5,
            jnp.ones(1), rate, stepsize_controller=CONSTANT,
        ).ys[-1, 0]  # fmt: skip

    assert float(jax.jacfwd(end)(1.0)) == pytest.approx(-2.0, rel=1e-12)
    with pytest.raises(RuntimeError, match=r"adjoint=diffrax\.RecursiveCheckpointAdjoint\(\)"):
        jax.grad(end)(1.0)


def refused_in_one_line(error, name):
    """Whose, which, what is allowed, what was given."""
    assert error.name == name
    assert error.whose.startswith("dde.")
    message = str(error)
    assert message.startswith(f"{error.whose}: {name} must be ")
    assert "\n" not in message
    assert ", but is " in message
    assert len(message) < 200


def test_reading_between_steps_needs_dense_output():
    solution = dde.solve(
        lambda t, y, history, args: -y, diffrax.Tsit5(), 0.0, 1.0, None, jnp.ones(1)
    )
    with pytest.raises(InvalidInput, match=r"requested with saveat=SaveAt\(dense=True\)"):
        solution.evaluate(0.5)

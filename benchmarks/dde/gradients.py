"""Cost of derivatives in forward and reverse mode, relative to a run without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde.problems import METHODS, PROBLEMS, options_of
from benchmarks.dde.switched_systems import Red
from benchmarks.dde.timing import alternating, seconds
from benchmarks.harness import Figures
from vegasfluid import dde

__all__ = ["add_forward", "add_reverse"]

RTOL = 1e-6
"""Relative and absolute tolerance."""
STEPS = {"C": 4096, "D": 4096}
"""Largest number of attempted steps by problem; reverse mode stores as many."""
PARAMETERS = {"C": ("flows", "max_prob"), "D": ("alpha", "beta")}
"""Parameters by problem for which derivatives are computed."""
ROWS = {"C": 256, "D": 1024}
"""History capacity by problem, steps."""
SAVES = 101
"""Number of save times."""


def with_parameters(name: str, values: Any) -> Red:
    """Return a problem's arguments with two parameters replaced."""
    base: Red = PROBLEMS[name].args
    return base._replace(**dict(zip(PARAMETERS[name], values, strict=True)))


def base_values(name: str) -> Any:
    """Return the two parameters of a problem; (2,)."""
    return jnp.asarray([getattr(PROBLEMS[name].args, each) for each in PARAMETERS[name]])


def common(name: str, adjoint: diffrax.AbstractAdjoint | None) -> dict[str, Any]:
    """Return the options of both `solve` and `solve_batch`."""
    system = PROBLEMS[name]
    times = jnp.linspace(system.t0, system.t1, SAVES)
    return options_of(system) | {
        "saveat": diffrax.SaveAt(ts=times),
        "stepsize_controller": diffrax.PIDController(rtol=RTOL, atol=RTOL),
        "history_capacity": ROWS[name],
        "max_steps": STEPS[name],
        "adjoint": adjoint,
        "throw": False,
    }


def mean_queue(name: str, adjoint: diffrax.AbstractAdjoint | None = None) -> Callable[[Any], Any]:
    """Return a function from two parameters to the mean of a problem's queue over save times."""
    system, method = PROBLEMS[name], METHODS["Tsit5"]
    (queue, *_), *_ = system.bounds

    def mean(values: Any) -> Any:
        args, y0 = with_parameters(name, values), jnp.asarray(system.y0)
        span = (system.t0, system.t1, None)
        solution = dde.solve(system.rhs, method, *span, y0, args, **common(name, adjoint))
        return jnp.mean(solution.ys[:, queue])

    return mean


def mean_queues(
    name: str, count: int, adjoint: diffrax.AbstractAdjoint | None = None
) -> Callable[[Any], Any]:
    """Return a function from parameters (count, 2) to the sum of the instances' mean queues."""
    system, method = PROBLEMS[name], METHODS["Tsit5"]
    (queue, *_), *_ = system.bounds

    def total(values: Any) -> Any:
        args = jax.vmap(lambda row: with_parameters(name, row))(values)
        args = jax.tree.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf), (count,)), args)
        y0 = jnp.broadcast_to(jnp.asarray(system.y0), (count, len(system.y0)))
        span = (system.t0, system.t1, None)
        solution = dde.solve_batch(system.rhs, method, *span, y0, args, **common(name, adjoint))
        return jnp.sum(jnp.mean(solution.ys[..., queue], axis=1))

    return total


def ratio(derived: Any, plain: Any, values: Any, repeats: int) -> float:
    """Return the time of a run with derivatives over that of a run without."""
    jax.block_until_ready((derived(values), plain(values)))
    time, plain_time = alternating(
        lambda: seconds(lambda: derived(values))[0],
        lambda: seconds(lambda: plain(values))[0],
        repeats=repeats,
    )
    return time / plain_time


def add_forward(figures: Figures) -> None:
    """Add the cost of derivatives by two parameters, by `jax.jacfwd`."""
    for name in PARAMETERS:
        plain, values = mean_queue(name), base_values(name)
        derived, run = jax.jit(jax.jacfwd(plain)), jax.jit(plain)
        figures.add(f"gradient.{name}.forward_over_run", ratio(derived, run, values, 10), at_most=5)


def varied_parameters(values: Any, count: int) -> Any:
    """Return parameters (count, n) of a batch, uniform within 5 % of `values`."""
    factors = np.random.default_rng(5).uniform(0.95, 1.05, (count, len(values)))
    return jnp.asarray(factors) * values


def add_reverse(figures: Figures) -> None:
    """Add reverse mode of one run and of a batch: cost, and difference from forward mode."""
    adjoint = diffrax.RecursiveCheckpointAdjoint()
    values = base_values("C")
    forward = jax.jit(jax.jacfwd(mean_queue("C")))(values)
    reverse = jax.jit(jax.grad(mean_queue("C", adjoint)))
    difference = jnp.max(jnp.abs(reverse(values) / forward - 1))
    figures.add("gradient.C.reverse_off", float(difference), at_most=1e-6)
    run = jax.jit(mean_queue("C"))
    figures.add("gradient.C.reverse_over_run", ratio(reverse, run, values, 10), at_most=5)
    parameters, count = varied_parameters(values, 100), 100
    reverse = jax.jit(jax.grad(mean_queues("C", count, adjoint)))
    run = jax.jit(mean_queues("C", count))
    figures.add(
        "gradient.C.batch100.reverse_over_run", ratio(reverse, run, parameters, 3), at_most=5
    )
    # Each total depends on its own parameters alone, so the batch's gradient is every instance's.
    single = jax.jit(jax.jacfwd(mean_queue("C")))
    gradients = reverse(parameters)
    worst = max(
        float(jnp.max(jnp.abs(gradients[i] / single(parameters[i]) - 1)))
        for i in range(0, count, 10)
    )
    figures.add("gradient.C.batch100.reverse_off", worst, at_most=1e-6)

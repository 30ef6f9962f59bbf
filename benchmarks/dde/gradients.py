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
STEPS = {"C": 4096, "D": 4096}
"""Attempts: the bound up to which a run is kept for the way back."""
PARAMETERS = {"C": ("flows", "max_prob"), "D": ("alpha", "beta")}
ROWS = {"C": 256, "D": 1024}
SAVES = 101


def with_parameters(name: str, values: Any) -> Red:
    """A problem's arguments with two of them changed."""
    base: Red = PROBLEMS[name].args
    return base._replace(**dict(zip(PARAMETERS[name], values, strict=True)))


def base_values(name: str) -> Any:
    """The two parameters as they are."""
    return jnp.asarray([getattr(PROBLEMS[name].args, each) for each in PARAMETERS[name]])


def common(name: str, adjoint: diffrax.AbstractAdjoint | None) -> dict[str, Any]:
    """What is told to both `solve` and `solve_batch`."""
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
    """The mean of a problem's queue over the save times, of its two parameters."""
    system, method = PROBLEMS[name], METHODS["Tsit5"]
    (queue, *_), *_ = system.bounds

    def mean(values: Any) -> Any:
        args, y0 = with_parameters(name, values), jnp.asarray(system.y0)
        span = (system.t0, system.t1, None)
        found = dde.solve(system.rhs, method, *span, y0, args, **common(name, adjoint))
        return jnp.mean(found.ys[:, queue])

    return mean


def mean_queues(
    name: str, count: int, adjoint: diffrax.AbstractAdjoint | None = None
) -> Callable[[Any], Any]:
    """The sum over a batch of the means of the queues, of parameters (count, 2)."""
    system, method = PROBLEMS[name], METHODS["Tsit5"]
    (queue, *_), *_ = system.bounds

    def total(values: Any) -> Any:
        args = jax.vmap(lambda own: with_parameters(name, own))(values)
        args = jax.tree.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf), (count,)), args)
        y0 = jnp.broadcast_to(jnp.asarray(system.y0), (count, len(system.y0)))
        span = (system.t0, system.t1, None)
        found = dde.solve_batch(system.rhs, method, *span, y0, args, **common(name, adjoint))
        return jnp.sum(jnp.mean(found.ys[..., queue], axis=1))

    return total


def ratio(derived: Any, plain: Any, values: Any, repeats: int) -> float:
    """How many times as long as a run one with its derivatives takes."""
    jax.block_until_ready((derived(values), plain(values)))
    took, run = alternating(
        lambda: seconds(lambda: derived(values))[0],
        lambda: seconds(lambda: plain(values))[0],
        repeats=repeats,
    )
    return took / run


def add_forward(figures: Figures) -> None:
    """The derivative by two parameters, by `jax.jacfwd`."""
    for name in PARAMETERS:
        plain, values = mean_queue(name), base_values(name)
        derived, run = jax.jit(jax.jacfwd(plain)), jax.jit(plain)
        figures.add(f"gradient.{name}.forward_over_run", ratio(derived, run, values, 10), at_most=5)


def _spread(values: Any, count: int) -> Any:
    """Parameters of a batch: all within a tenth of these."""
    share = np.random.default_rng(5).uniform(0.95, 1.05, (count, len(values)))
    return jnp.asarray(share) * values


def add_reverse(figures: Figures) -> None:
    """The same in reverse, of one run and of a batch; against the forward one."""
    adjoint = diffrax.RecursiveCheckpointAdjoint()
    values = base_values("C")
    forward = jax.jit(jax.jacfwd(mean_queue("C")))(values)
    reverse = jax.jit(jax.grad(mean_queue("C", adjoint)))
    off = jnp.max(jnp.abs(reverse(values) / forward - 1))
    figures.add("gradient.C.reverse_off", float(off), at_most=1e-6)
    run = jax.jit(mean_queue("C"))
    figures.add("gradient.C.reverse_over_run", ratio(reverse, run, values, 10), at_most=8)
    many, count = _spread(values, 100), 100
    reverse = jax.jit(jax.grad(mean_queues("C", count, adjoint)))
    run = jax.jit(mean_queues("C", count))
    figures.add("gradient.C.batch100.reverse_over_run", ratio(reverse, run, many, 3), at_most=8)
    # Each total depends on its own parameters alone, so the batch's gradient is every instance's.
    single = jax.jit(jax.jacfwd(mean_queue("C")))
    found = reverse(many)
    worst = max(
        float(jnp.max(jnp.abs(found[i] / single(many[i]) - 1))) for i in range(0, count, 10)
    )
    figures.add("gradient.C.batch100.reverse_off", worst, at_most=1e-6)

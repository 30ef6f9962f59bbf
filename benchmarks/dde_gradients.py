"""Errors of derivatives of `dde.solve` against exact ones, as multiples of the tolerance.

The equation is y' = -rate y(t - lag) with y = 1 + height sin 2s before 0 and y(0) = start. SymPy
solves it by the method of steps, with symbols in the place of all numbers, and differentiates the
result. An error is the larger one of forward and reverse mode, divided by
tolerance x (1 + |value|).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import sympy

from benchmarks.dde_accuracy import METHODS, TOLERANCES, WANTED
from benchmarks.harness import Figures, run
from vegasfluid import dde

__all__ = ["ADJOINTS", "Numbers", "exact", "gradient_errors", "table"]


class Numbers(NamedTuple):
    """The numbers of the equation by which its solution is differentiated.

    Args:
        rate: factor of the delayed state, per unit of time.
        lag: the lag, in units of time.
        height: amplitude of the sine in the past.
        start: state at 0.
    """

    rate: Any
    lag: Any
    height: Any
    start: Any


VALUES = Numbers(1.3, 1.0, 0.6, 1.2)
"""The numbers at which derivatives are compared; y jumps at 0."""
END = 2.4
"""Time at which the solution is compared, in the third lag."""
ADJOINTS = {"forward": diffrax.ForwardMode(), "reverse": diffrax.RecursiveCheckpointAdjoint()}
"""Ways of differentiation by name."""
MAX_STEPS = 2048
"""Largest number of attempted steps."""


@lru_cache(1)
def exact() -> dict[str, float]:
    """Return y at the end, by the name `state`, and its derivative by each number, by its name."""
    symbols = Numbers(*sympy.symbols("rate lag height start", positive=True))
    t, u = sympy.symbols("t u")
    y, value = 1 + symbols.height * sympy.sin(2 * t), symbols.start
    for number in range(3):
        begin = number * symbols.lag
        delayed = y.subs(t, u - symbols.lag)
        y = value - symbols.rate * sympy.integrate(sympy.expand(delayed), (u, begin, t))
        value = y.subs(t, begin + symbols.lag)
    at = {**dict(zip(symbols, VALUES, strict=True)), t: END}
    found = {"state": float(y.subs(at).evalf(30))}
    for name, symbol in symbols._asdict().items():
        found[name] = float(sympy.diff(y, symbol).subs(at).evalf(30))
    return found


def solved(
    numbers: Numbers, solver: diffrax.AbstractSolver, tolerance: Any, adjoint: Any
) -> jax.Array:
    """Return y at the end, shape (), as `dde.solve` computes it.

    Args:
        numbers: the numbers of the equation.
        solver: a method of diffrax.
        tolerance: relative and absolute tolerance.
        adjoint: the way of differentiation.
    """
    solution = dde.solve(
        lambda t, y, history, args: -args.rate * history(t - args.lag),
        *(solver, 0.0, END, None, jnp.reshape(numbers.start, 1), numbers),
        initial_history=lambda s, args: (1 + args.height * jnp.sin(2 * s))[None],
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        max_steps=MAX_STEPS,
        adjoint=adjoint,
    )
    return solution.ys[-1, 0]


def gradient_errors(
    solver: diffrax.AbstractSolver, mode: str, tolerances: tuple[float, ...]
) -> list[dict[str, float]]:
    """Return for each tolerance the errors of y at the end and of its derivatives, in tolerances.

    Args:
        solver: a method of diffrax.
        mode: `forward` or `reverse`.
        tolerances: relative and absolute tolerances.

    Returns:
        For each tolerance the errors by name, as in `exact`, divided by
        tolerance x (1 + |exact value|).
    """
    adjoint = ADJOINTS[mode]
    differentiate = jax.jacfwd if mode == "forward" else jax.grad

    @jax.jit
    def found(numbers: Numbers, tolerance: jax.Array) -> tuple[jax.Array, Numbers]:
        def end(numbers: Numbers) -> jax.Array:
            return solved(numbers, solver, tolerance, adjoint)

        return end(numbers), differentiate(end)(numbers)

    errors = []
    for tolerance in tolerances:
        state, gradient = found(Numbers(*map(jnp.asarray, VALUES)), jnp.asarray(tolerance))
        numbers = {"state": state, **gradient._asdict()}
        errors.append(
            {
                name: abs(float(numbers[name]) - value) / (tolerance * (1 + abs(value)))
                for name, value in exact().items()
            }
        )
    return errors


def measure(full: bool) -> Figures:
    """Return the larger error of both modes for each method, number and tolerance."""
    jax.config.update("jax_enable_x64", True)
    figures = Figures()
    for method, solver in METHODS.items():
        modes = [gradient_errors(solver, mode, TOLERANCES) for mode in ADJOINTS]
        for tolerance, *errors in zip(TOLERANCES, *modes, strict=True):
            for name in exact():
                largest = max(each[name] for each in errors)
                figures.add(f"{name}.{method}.{tolerance:.0e}", largest, at_most=WANTED)
        jax.clear_caches()
    return figures


def table(values: dict[str, float]) -> list[str]:
    """Return the lines of a Markdown table of all errors, from the figures by name."""
    columns = [f"{method}, {tolerance:.0e}" for method in METHODS for tolerance in TOLERANCES]
    lines = [
        "| derivative with respect to | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name in exact():
        keys = [f"{name}.{column.replace(', ', '.')}" for column in columns]
        cells = [f"{values[key]:.2g}" for key in keys]
        row = "none: the state itself" if name == "state" else name
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    run(measure, __doc__ or "")

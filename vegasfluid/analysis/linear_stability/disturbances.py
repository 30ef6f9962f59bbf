"""What the nonlinear delay equations make of a small disturbance of rest.

The run begins at rest, with the past of a network that has long been there and queues and windows a
little larger; so the verdict of the linear system (`verdicts`) can be held against the equations
themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid import dde
from vegasfluid.analysis.equilibria.equations import LATE, Unknowns
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, arrays, solution
from vegasfluid.analysis.equilibria.pseudo_transient import Case
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters, build_parameters
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.time_grid import mean_field_grid
from vegasfluid.fluid.vector_field import VectorField

__all__ = ["disturbed", "growth_rate"]

SAMPLES = 4001
PARTS = 12
"""Steps are no longer than this part of the shortest round trip."""
TENTHS = 10
ROUNDING, LINEAR = 1e-11, 0.02
"""Swings between these parts of the queue tell the rate."""


class Lengths(NamedTuple):
    """How a run goes; concrete.

    Args:
        until: s.
        step: s.
        longest_lag: s.
    """

    until: float
    step: float
    longest_lag: float


def disturbed(
    rests: Sequence[Equilibrium], until: float, by: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Run networks from near rest, all together.

    Args:
        rests: of networks of the same structure and options.
        until: simulated time, s.
        by: the part of themselves by which queues and windows are larger at the beginning.

    Returns:
        Times, s, (samples,); and windows, packets, (networks, samples, groups).

    Raises:
        InvalidInput: for networks of different structure.
    """
    cases = [arrays(rest.network) for rest in rests]
    (_, plan), options = cases[0], rests[0].options
    if any(other != plan for _, other in cases) or any(of.options != options for of in rests):
        raise InvalidInput("disturbed", "rests", "of one structure and options", "different ones")
    found = [
        solution(posed, plan, options, of.solved)
        for (posed, _), of in zip(cases, rests, strict=True)
    ]
    posed, begin = together([posed for posed, _ in cases]), together(found)
    bounds = [build_parameters(rest.network)[0].delay_bounds for rest in rests]
    longest = max(of.longest for of in bounds)
    posed = posed._replace(delay_bounds=together([jax.tree.map(jnp.asarray, of) for of in bounds]))
    steps = (mean_field_grid(rest.network, until).step for rest in rests)
    shortest = float(jnp.min(posed.groups.base_rtt))
    step = min(shortest / PARTS, *steps)
    lengths = Lengths(until, step, longest)
    windows = jax.vmap(lambda p, u: run(p, plan, options, u, lengths, by))(posed, begin)
    return np.linspace(0.0, until, SAMPLES), np.asarray(windows)


def together(many: Sequence[Any]) -> Any:
    """Trees of arrays as one, with one more axis."""
    return jax.tree.map(lambda *of: jnp.stack(of), *many)


@partial(jax.jit, static_argnames=("plan", "options", "lengths"))
def run(
    posed: FluidParameters,
    plan: FluidStructure,
    options: FluidOptions,
    rest: Unknowns,
    lengths: Lengths,
    by: Any,
) -> Any:
    """The windows of one network from near rest; (samples, groups)."""
    steady = Case(posed, plan, options).steady
    system, kept = steady.system, steady.system.history_size
    rest, still = steady.worked(rest), jnp.zeros_like(rest.queue)
    rates = jnp.concatenate([rest.rates, still])[:kept]
    larger = jax.tree.map(lambda of: of * (1 + by), (rest.queue, rest.classes))
    state = steady.placed(rest._replace(queue=larger[0], classes=larger[1]))
    at_rest = system.layout.pack(steady.placed(rest))[:kept]
    # counters stand at zero when the run begins, and had risen evenly up to then
    found = dde.solve_fixed(
        lambda t, y, history, args: system.derivative(t + LATE, y, Later(history, rates)),
        system.layout.pack(state),
        ts=np.linspace(0.0, lengths.until, SAMPLES),
        dt0=lengths.step,
        longest_lag=lengths.longest_lag,
        initial_history=lambda t: at_rest + rates * t,
        project=system.project,
        history_components=kept,
        save=lambda t, y: cwnd_of(system, t, y),
    )
    return found.ys


def cwnd_of(system: VectorField, time: Any, y: Any) -> Any:
    """The windows of a state, packets; (groups,)."""
    saved = system.saved.unpack(system.save(time + LATE, y))
    return jnp.concatenate([of.cwnd for of in saved.classes])


class Later:
    """A history in whose time the run began at `LATE`, and before it rates were those of rest.

    Args:
        history: the solver's.
        rates: of its components, 1/s.
    """

    def __init__(self, history: Any, rates: Any) -> None:
        self._history, self._rates = history, rates

    def __call__(self, times: Any, of: Any = None) -> Any:
        """The components at past times."""
        return self._history(times - LATE, of=of)

    def slope(self, times: Any, of: Any = None) -> Any:
        """Their rates."""
        known = self._history.slope(times - LATE, of=of)
        earlier = jnp.asarray(times < LATE)[..., None] if of is None else times < LATE
        return jnp.where(earlier, self._rates if of is None else self._rates[of], known)


def growth_rate(times: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """The rate at which disturbances grow while they are small, 1/s; below zero they die.

    From the swings of the window that swings most in tenths of the run, those left out that are as
    small as rounding, or so large that the equations are not linear any more.

    Args:
        times: s; (samples,).
        windows: packets; (networks, samples, groups).
    """
    return np.array([growth_of(times, cwnd) for cwnd in windows])


def growth_of(times: np.ndarray, cwnd: np.ndarray) -> float:
    """The same of one network; (samples, groups)."""
    part = len(times) // TENTHS
    swings = np.array([np.ptp(cwnd[n * part : (n + 1) * part], axis=0) for n in range(2, TENTHS)])
    swing = swings[:, np.argmax(swings[-1])]
    middles = times[part // 2 :: part][2:TENTHS]
    small = (swing > ROUNDING * cwnd.mean()) & (swing < LINEAR * cwnd.mean())
    if small.sum() < 2:
        return float(np.sign(swing[-1] - swing[0]) * np.inf)
    return float(np.polyfit(middles[small], np.log(swing[small]), 1)[0])

"""How much a delay equation amplifies perturbations: computed without the adaptive solver.

The equation is integrated by the classic Runge-Kutta method of order 4 with short constant steps
and cubic Hermite history; a jump at a guard is spread over some steps. In copies of it the state is
moved a little at one time and in one component. The differences give the response G(t, s) of the
state at t to a perturbation at s.
"""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde.systems import System

__all__ = ["condition"]

STEPS = 6000
"""Constant steps from t0 to t1 (chosen: the response need be known to ten per cent only)."""
KICKS = 60
"""Times at which the state is perturbed."""
SPREAD = 4.0
"""Steps over which a jump at a guard is spread, about (chosen)."""
KICK = 1e-5
"""Perturbation relative to 1 + |y|."""


def condition(system: System, until: float | None = None) -> float:
    """Return the largest relative error that local errors of one tolerance can add up to.

    Local errors of a solver act as a perturbation of the right-hand side. Here it is as large as a
    tolerance (relative to 1 + |y|) in each time scale of the solution, the shortest time in which a
    component may change by its own size: (1 + max |y|) / max |y'|. The result is the largest sum
    over all times and components of the responses, relative to 1 + max |y|; at least 1.
    """
    end = system.t1 if until is None else until
    step = (end - system.t0) / STEPS
    size, n = KICKS * len(system.y0), len(system.y0)
    starts = np.append(np.repeat(np.arange(KICKS) * (STEPS // KICKS), n), -1)
    components = np.append(np.tile(np.arange(n), KICKS), 0)
    _, indicators = _path(system, step, -1, 0, None)
    widths = SPREAD * jnp.max(jnp.abs(jnp.diff(indicators, axis=0)), axis=0)
    one = lambda start, component: _path(system, step, start, component, widths)[0]  # noqa: E731
    run = jax.jit(jax.vmap(one))
    paths = np.asarray(run(jnp.asarray(starts), jnp.asarray(components)))
    base, moved = paths[-1], paths[:-1]
    largest = 1 + np.abs(base).max(axis=0)
    kicks = KICK * (1 + np.abs(base[starts[:size], components[:size]]))
    response = np.abs(moved - base) / kicks[:, None, None]
    scales = (1 + np.abs(base[starts[:size], components[:size]]))[:, None, None] / largest
    rate = np.max(np.abs(np.diff(base, axis=0)).max(axis=0) / step / largest)
    total = np.sum(response * scales, axis=0) * (end - system.t0) / KICKS * rate
    return max(1.0, float(total.max()))


def _blended(system: System, t: Any, y: Any, history: Any, widths: Any) -> tuple[Any, Any]:
    """Return the slope, with jumps at guards spread over these widths, and the indicators."""
    if system.guards is None:
        return system.rhs(t, y, history, system.args), jnp.zeros(0)
    indicators = system.guards(t, y, history, system.args)
    if widths is None:
        return system.rhs(t, y, history, system.args, indicators >= 0), indicators
    shares, total = jax.nn.sigmoid(4 * indicators / widths), jnp.zeros_like(y)
    for signs in itertools.product((False, True), repeat=indicators.shape[0]):
        above = jnp.array(signs)
        share = jnp.prod(jnp.where(above, shares, 1 - shares))
        slope = system.rhs(t, y, history, system.args, above)
        total = total + jnp.where(share > 1e-12, share * slope, 0.0)
    return total, indicators


class HermiteHistory:
    """The past of a path: cubic Hermite polynomials between the steps made.

    Args:
        system: the equation.
        step: length of the steps.
        number: number of steps made.
        ys: states at all steps, (STEPS + 1, n).
        slopes: slopes there.
    """

    def __init__(self, system: System, step: float, number: Any, ys: Any, slopes: Any) -> None:
        self._system, self._step, self._number = system, step, number
        self._ys, self._slopes = ys, slopes

    def __call__(self, s: Any) -> Any:
        """Return the states at times s, (*s.shape, n)."""
        begin, number, s = self._system.t0, self._number, jnp.asarray(s)
        place = (s - begin) / self._step
        row = jnp.clip(jnp.floor(place).astype(int), 0, jnp.maximum(number - 1, 0))
        u = (place - row.astype(float))[..., None]
        bend = (1 - u) * self._slopes[row] - u * self._slopes[row + 1]
        weight = u * u * (3 - 2 * u)
        late = (1 - weight) * self._ys[row] + weight * self._ys[row + 1]
        late += self._step * u * (1 - u) * bend
        first = jnp.asarray(self._system.y0) + (s - begin)[..., None] * self._slopes[0]
        past = self._system.initial_history(jnp.minimum(s, begin), self._system.args)
        return jnp.where((s < begin)[..., None], past, jnp.where(number == 0, first, late))

    def derivative(self, s: Any) -> Any:
        """Return the slopes at times s, (*s.shape, n)."""
        s = jnp.asarray(s)
        # Within a step, not at its end, where a time may be rounded to either side.
        return jax.jvp(self, (s + 1e-3 * self._step,), (jnp.ones_like(s),))[1]


def _path(system: System, step: float, start: Any, component: Any, widths: Any) -> tuple[Any, Any]:
    """Return the states at all steps, (STEPS + 1, n), and the indicators at each, (STEPS, m).

    One component is kicked at step `start`.
    """
    y0 = jnp.asarray(system.y0)
    lower, upper = np.full(len(system.y0), -np.inf), np.full(len(system.y0), np.inf)
    for index, low, high in system.bounds:
        lower[index] = -np.inf if low is None else low
        upper[index] = np.inf if high is None else high

    def slope(number: Any, fraction: float, y: Any, ys: Any, slopes: Any) -> Any:
        t = system.t0 + (number.astype(float) + fraction) * step

        history = HermiteHistory(system, step, number, ys, slopes)
        found, indicators = _blended(system, t, y, history, widths)
        out = ((y <= lower) & (found < 0)) | ((y >= upper) & (found > 0))
        return jnp.where(out, 0.0, found), indicators

    def advance(carry: Any, number: Any) -> Any:
        y, ys, slopes = carry
        kick = KICK * (1 + jnp.abs(y[component]))
        y = y.at[component].add(jnp.where(number == start, kick, 0.0))
        ys = ys.at[number].set(y)
        k1, indicators = slope(number, 0.0, y, ys, slopes)
        slopes = slopes.at[number].set(k1)
        k2, _ = slope(number, 0.5, y + step / 2 * k1, ys, slopes)
        k3, _ = slope(number, 0.5, y + step / 2 * k2, ys, slopes)
        k4, _ = slope(number, 1.0, y + step * k3, ys, slopes)
        new = jnp.clip(y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4), lower, upper)
        return (new, ys.at[number + 1].set(new), slopes), indicators

    blank = jnp.zeros((STEPS + 1, len(system.y0)))
    initial = (y0, blank.at[0].set(y0), blank)
    (_, ys, _), indicators = jax.lax.scan(advance, initial, jnp.arange(STEPS))
    return ys, indicators

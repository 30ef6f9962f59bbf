"""The history of the solution, as the user's functions read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vegasfluid.dde.adaptive.reads import read_p, window_p
from vegasfluid.errors import InvalidInput, Words

__all__ = ["History"]


@jax.tree_util.register_static
@dataclass(frozen=True)
class History:
    """The past of the solution: `history(s)` is y(s), `history.ago(lag)` is y(t - lag).

    `history.derivative(s)` and `history.derivative_ago(lag)` are dy/dt at these times, for neutral
    equations. Here s <= t and lag >= 0. It may be called inside `jax.vmap`, `jax.jit`,
    `jax.checkpoint`, `lax.cond`, `lax.switch`, `lax.scan` and a `lax.fori_loop` of known length. A
    loop is written out: its cost is that of its reads one after the other. It must not be called
    inside `lax.while_loop` or a function with a custom derivative (`jax.custom_jvp`).

    Args:
        size: number of components of the state, n.
        dtype: its dtype.
    """

    size: int
    dtype: Any

    def __call__(self, s: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The state y at past times; before t0 the initial history.

        A time after t ends the solve with LAG_NEGATIVE, unless a shorter step avoids it.

        Args:
            s: one time, or an array of times, in the unit of t; s <= t.

        Returns:
            The state, shape (n,); for an array of times, shape (..., n).
        """
        return self._read(s, ago=False, derivative=False)

    def ago(self, lag: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """State y at the time t - lag, computed without the rounding error of t.

        `history(t - lag)` is the same state, but with that error. Before t0 it is the initial
        history. A negative lag ends the solve with LAG_NEGATIVE, unless a shorter step avoids it.

        Args:
            lag: one lag, or an array of lags, in the unit of t; lag >= 0.

        Returns:
            The state, shape (n,); for an array of lags, shape (..., n).
        """
        return self._read(lag, ago=True, derivative=False)

    def derivative(self, s: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The derivative dy/dt at past times, for neutral equations.

        Before t0 it is that of the initial history, by forward mode.

        Args:
            s: one time, or an array of times, in the unit of t; s <= t.

        Returns:
            The derivative, shape (n,); for an array of times, shape (..., n).
        """
        return self._read(s, ago=False, derivative=True)

    def derivative_ago(self, lag: float | Float[Array, "*lags"]) -> Float[Array, "*lags n"]:
        """The derivative dy/dt at t - lag, without the rounding error of t.

        Args:
            lag: one lag, or an array of lags, in the unit of t; lag >= 0.

        Returns:
            The derivative, shape (n,); for an array of lags, shape (..., n).
        """
        return self._read(lag, ago=True, derivative=True)

    def integral(
        self,
        start: float | Float[Array, ""],
        end: float | Float[Array, ""],
        integrand: Callable[[Array, Array], Array] | None = None,
        *,
        nodes: int = 8,
        panels: int = 3,
    ) -> Array:
        """The integral of `integrand(s, y(s))` over s from `start` to `end`: a distributed delay.

        Gauss-Legendre quadrature in panels between the breaking points of the solution. A step ends
        where an end of the window passes a breaking point, but not where a node does. Kinks of the
        integrand itself need two windows.

        Args:
            start: begin of the window, at most `end`.
            end: end of the window, at most t.
            integrand: function of a time, shape (), and the state there, shape (n,), to an array;
                None: the state.
            nodes: nodes in each panel, from 1 up. With 8, polynomials of degree 15 are exact.
            panels: largest number of panels, from 1 up: the window is divided at the first
                `panels` - 1 breaking points after `start`; later ones reduce the accuracy.

        Returns:
            The integral, of the shape that `integrand` returns; without it (n,).

        Raises:
            InvalidInput: unless `nodes` and `panels` are whole numbers from 1 up, and `start` and
                `end` numbers.
        """
        for name, value in (("nodes", nodes), ("panels", panels)):
            if not isinstance(value, int) or value < 1:
                raise InvalidInput("history.integral", name, "a whole number from 1 up", value)
        ends = [jnp.asarray(time, self.dtype) for time in (start, end)]
        for name, value in zip(("start", "end"), ends, strict=True):
            if value.shape:
                allowed = "one number; use jax.vmap for several windows"
                raise InvalidInput("history.integral", name, allowed, Words(f"shape {value.shape}"))
        times, weights, ys = window_p.bind(*ends, size=self.size, nodes=nodes, panels=panels)
        values = ys if integrand is None else jax.vmap(jax.vmap(integrand))(times, ys)
        return jnp.tensordot(weights, values, 2)

    def _read(self, times: Any, *, ago: bool, derivative: bool) -> Array:
        """The state y at times of any shape (`ago`: lags); with `derivative`, its slope dy/dt."""
        times = jnp.asarray(times, self.dtype)
        return read_p.bind(times, size=self.size, ago=ago, derivative=derivative)

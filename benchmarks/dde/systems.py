"""Delay equations with known solutions: closed forms, or stored references.

"DDETST" is C. A. H. Paul, *A Test Set of Functional Differential Equations*, Numerical Analysis
Report 243, Manchester Centre for Computational Mathematics, 1994. Its problems and their letters
are written from memory: a problem with `exact` is verified by substitution
(`tests/dde/test_systems.py`), so it is correct whatever its name there; equations and numbers of
the others (C1 to C4) are not checked against the report. D2 and E are left out, as their
numbers could not be verified. The other systems cite their sources; no citation was
looked up. The systems with switches or bounds are in `switched_systems.py`, those
that read the derivative of the past in `neutral_systems.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

SQRT2 = math.sqrt(2)
CHECKED = "; the answer is checked by substitution"
"""End of the citation of a system whose solution is verified."""
UNCHECKED = "; from memory, its numbers are not checked against the report"
"""End of the citation of a system whose numbers are not verified."""


@dataclass(frozen=True)
class System:
    """An equation y' = rhs(t, y, history, args[, above]), y = initial_history(t, args) before t0.

    Args:
        name: name of the system.
        citation: source, and whether the solution is verified.
        rhs: right-hand side; `above` states which guards are positive.
        y0: initial state.
        t0: start.
        t1: end.
        initial_history: state before t0.
        longest_lag: upper bound of all lags.
        args: parameters.
        exact: closed form: from times (k,) to states (k, n).
        reference: file in `data` where there is no `exact`.
        bounds: index, lower and upper bound of a component.
        guards: functions whose zeros are switches.
        breaks: times at which `exact` is not smooth.
        smooth_start: whether `initial_history` is the solution before t0.
        vanishing: times at which a lag is 0.
        notes: remarks.
    """

    name: str
    citation: str
    rhs: Callable[..., Any]
    y0: tuple[float, ...]
    t0: float
    t1: float
    initial_history: Callable[[Any, Any], Any]
    longest_lag: float
    args: Any = None
    exact: Callable[[Any], np.ndarray] | None = None
    reference: str | None = None
    bounds: tuple[tuple[int, float | None, float | None], ...] = ()
    guards: Callable[..., Any] | None = None
    breaks: tuple[float, ...] = ()
    smooth_start: bool = False
    vanishing: tuple[float, ...] = ()
    notes: str = ""


def constant(*values: float) -> Callable[[Any, Any], Any]:
    """Return a constant initial history."""

    def initial_history(s, args):
        return jnp.broadcast_to(jnp.asarray(values), (*jnp.shape(s), len(values)))

    return initial_history


def stack(*parts: Any) -> Any:
    return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, parts)), axis=-1)


def piecewise(*parts: tuple[float, Callable[[Any], Any]]) -> Callable[[Any], np.ndarray]:
    """Return the solution of one component, from functions and the ends of their intervals."""
    ends = [end for end, _ in parts]

    def exact(t):
        t = np.asarray(t, dtype=float)
        begins = [-np.inf, *ends[:-1]]
        values = [
            part(np.clip(t, begin, end)) for begin, (end, part) in zip(begins, parts, strict=True)
        ]
        return np.select([t <= end for end in ends], values, np.nan)[..., None]

    return exact


def step_polynomial(t):
    """Return the solution of y' = -y(t-1), y = 1 before 0: polynomials between integer times."""
    t = np.asarray(t, dtype=float)
    terms = [
        np.where(t >= k - 1, (1.0 - k + t) ** k * (-1) ** k / math.factorial(k), 0.0)
        for k in range(1, 40)
    ]
    return np.asarray(1.0 + sum(terms))[..., None]


def delayed_decay(t, y, history, rate):
    return -rate * history(t - 1.0)


LINEAR = System(
    "delayed decay",
    "Driver, Ordinary and Delay Differential Equations, 1977" + CHECKED,
    delayed_decay,
    y0=(1.0,),
    t0=0.0,
    t1=10.0,
    initial_history=constant(1.0),
    longest_lag=1.0,
    args=1.0,
    exact=step_polynomial,
    breaks=tuple(range(11)),
    notes="the k-th derivative jumps at t = k - 1",
)

ROOT = -0.3
"""Rate of the exponential solution, a root of the characteristic equation."""


def decay_and_lag(t, y, history, gain):
    return -y + gain * history(t - 1.0)


EXPONENTIAL = System(
    "characteristic root",
    "an exponential of a root of s = -1 + b exp(-s)" + CHECKED,
    decay_and_lag,
    y0=(1.0,),
    t0=0.0,
    t1=10.0,
    initial_history=lambda s, args: stack(jnp.exp(ROOT * s)),
    longest_lag=1.0,
    args=(ROOT + 1) * math.exp(ROOT),
    exact=lambda t: np.exp(ROOT * np.asarray(t))[..., None],
    smooth_start=True,
)

SINE: dict[str, Any] = {
    "y0": (0.0,),
    "t0": 0.0,
    "t1": 10.0,
    "initial_history": lambda s, args: stack(jnp.sin(s)),
    "exact": lambda t: np.sin(np.asarray(t))[..., None],
}
"""Fields of systems whose solution is sin t."""


def two_lags(t, y, history, args):
    """Return cos t as a combination of y(t-1) and y(t-2)."""
    near, far = history(t - 1.0), history(t - 2.0)
    return math.cos(2) / math.sin(1) * near - math.cos(1) / math.sin(1) * far


TWO_LAGS = System(
    "two lags",
    "cos t written with sin(t-1) and sin(t-2)" + CHECKED,
    two_lags,
    **SINE,
    longest_lag=2.0,
    smooth_start=True,
)


def lag_by_state(t, y, history, args):
    """Return the derivative of an equation with the lag 1 + y^2 / 2, solved by sin t."""
    forcing = jnp.cos(t) + 0.5 * jnp.sin(t - 1 - 0.5 * jnp.sin(t) ** 2)
    return forcing - 0.5 * history(t - 1 - 0.5 * y[0] ** 2)


BY_STATE = System(
    "lag by state, smooth",
    "manufactured from sin t" + CHECKED,
    lag_by_state,
    **SINE,
    longest_lag=2.0,
    smooth_start=True,
)

PANTOGRAPH = System(
    "pantograph",
    "Evans and Raslan, Int. J. Computer Math. 82, 2005" + CHECKED,
    lambda t, y, history, args: 1 - 2 * history(t / 2) ** 2,
    **SINE,
    longest_lag=5.0,
    vanishing=(0.0,),
    smooth_start=True,
)

DDETST_B1 = System(
    "DDETST B1",
    "Neves 1975, in DDETST" + CHECKED,
    lambda t, y, history, args: 1 - history(jnp.exp(1 - 1 / t)),
    y0=(math.log(0.1),),
    t0=0.1,
    t1=10.0,
    initial_history=lambda s, args: stack(jnp.log(s)),
    longest_lag=7.6,
    exact=lambda t: np.log(np.asarray(t))[..., None],
    smooth_start=True,
    vanishing=(1.0,),
)


def ddetst_d1(t, y, history, args):
    """Return the time derivative of DDETST D1, whose lag depends on the second component."""
    back = jnp.exp(1 - y[1])
    return stack(y[1], -history(back)[1] * y[1] ** 2 * back)


DDETST_D1 = System(
    "DDETST D1",
    "Neves 1975, in DDETST" + CHECKED,
    ddetst_d1,
    y0=(math.log(0.1), 10.0),
    t0=0.1,
    t1=5.0,
    initial_history=lambda s, args: stack(jnp.log(s), 1 / s),
    longest_lag=3.0,
    exact=lambda t: np.stack([np.log(np.asarray(t)), 1 / np.asarray(t)], axis=-1),
    smooth_start=True,
    vanishing=(1.0,),
)

FELDSTEIN_NEVES = System(
    "Feldstein and Neves",
    "Feldstein and Neves, SIAM J. Numer. Anal. 21, 1984" + CHECKED,
    lambda t, y, history, args: history(y[0] - SQRT2 + 1) / (2 * jnp.sqrt(t)),
    y0=(1.0,),
    t0=1.0,
    t1=5.0,
    initial_history=constant(1.0),
    longest_lag=3.1,
    exact=piecewise((2.0, np.sqrt), (5.03, lambda t: t / 4 + 0.5 + (1 - 1 / SQRT2) * np.sqrt(t))),
    breaks=(1.0, 2.0),
    notes="the second derivative jumps at 2, the third at (3 sqrt 2 - 2)^2 = 5.03",
)

E = math.e
LOGARITHMIC_LAG = System(
    "lag by logarithm",
    "Neves and Feldstein, J. Math. Anal. Appl. 55, 1976" + CHECKED,
    lambda t, y, history, args: y * history(jnp.log(y[0])) / t,
    y0=(1.0,),
    t0=1.0,
    t1=14.0,
    initial_history=constant(1.0),
    longest_lag=10.0,
    exact=piecewise(
        (E, lambda t: t),
        (E**2, lambda t: np.exp(t / E)),
        (16.7, lambda t: (E / (3 - np.log(t))) ** E),
    ),
    breaks=(1.0, E, E**2),
    notes="grows to 340; the second derivative jumps at e, the third at e^2",
)


def mackey_glass(t, y, history, args):
    """Return the time derivative of the Mackey-Glass equation."""
    gain, decay, lag = args
    old = history(t - lag)
    return gain * old / (1 + old**10) - decay * y


MACKEY_GLASS = System(
    "Mackey-Glass",
    "Mackey and Glass, Science 197, 1977, at 0.2, 0.1, 10 and lag 17, with the past 1.2",
    mackey_glass,
    y0=(1.2,),
    t0=0.0,
    t1=500.0,
    initial_history=constant(1.2),
    longest_lag=17.0,
    args=(0.2, 0.1, 17.0),
    reference="mackey_glass.npz",
    notes="the lag is long, the solution irregular; t <= 100 is the short version",
)


def epidemic(t, y, history, args):
    """Return the time derivative of susceptible, infected and immune people.

    They are infected for 1 and immune for 10 units of time.
    """
    infected, waned = y[0] * history(t - 1.0)[1], history(t - 10.0)[1]
    return stack(waned - infected, infected - y[1], y[1] - waned)


KERMACK = System(
    "Kermack and McKendrick",
    "Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.17, figure 17.3",
    epidemic,
    y0=(5.0, 0.1, 1.0),
    t0=0.0,
    t1=40.0,
    initial_history=constant(5.0, 0.1, 1.0),
    longest_lag=10.0,
    reference="kermack_mckendrick.npz",
    notes="the sum of the components stays 6.1",
)

WILLE_BAKER = System(
    "Wille and Baker",
    "Wille and Baker, DELSOL, 1992; example 1 of dde23 (Shampine and Thompson 2001)",
    lambda t, y, history, args: stack(
        history(t - 1.0)[0], history(t - 1.0)[0] + history(t - 0.2)[1], y[1]
    ),
    y0=(1.0, 1.0, 1.0),
    t0=0.0,
    t1=5.0,
    initial_history=constant(1.0, 1.0, 1.0),
    longest_lag=1.0,
    reference="wille_baker.npz",
    notes="grows to 250",
)

HUTCHINSON = System(
    "Hutchinson",
    "Hutchinson, Ann. N. Y. Acad. Sci. 50, 1948: growth 2, lag 1",
    lambda t, y, history, args: args * y * (1 - history(t - 1.0)),
    y0=(0.5,),
    t0=0.0,
    t1=20.0,
    initial_history=constant(0.5),
    longest_lag=1.0,
    args=2.0,
    reference="hutchinson.npz",
    notes="tends to a limit cycle",
)

SYSTEMS = (
    LINEAR,
    EXPONENTIAL,
    TWO_LAGS,
    BY_STATE,
    PANTOGRAPH,
    DDETST_B1,
    DDETST_D1,
    FELDSTEIN_NEVES,
    LOGARITHMIC_LAG,
    MACKEY_GLASS,
    KERMACK,
    WILLE_BAKER,
    HUTCHINSON,
)

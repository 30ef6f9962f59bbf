"""Errors and times of solvers over tolerances, as figures by name, and what follows from them.

A solver has one curve for each problem (for several Runge-Kutta methods, one for each method): a
point for each tolerance. Needs neither JAX nor another solver, so that pages can be made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = [
    "COMPARED",
    "CURVES",
    "ERRORS",
    "METHODS",
    "ORDERS",
    "PROBLEMS",
    "TOLERANCES",
    "Point",
    "comparison",
    "curve",
    "key",
    "ratio_name",
    "time_at",
]

TOLERANCES = tuple(10.0**-digits for digits in range(2, 11))
"""Relative tolerances, the loosest first; the absolute ones are in proportion."""
METHODS = ("Bosh3", "Tsit5", "Dopri8")
"""Runge-Kutta methods of our solver and of diffrax."""
CURVES = {
    "vegasfluid": METHODS,
    "JiTCDDE": ("JiTCDDE",),
    "SciPy": ("SciPy_RK45", "SciPy_DOP853"),
    "diffrax": tuple(f"diffrax_{method}" for method in METHODS),
}
"""Names of each solver's curves."""
ORDERS = {
    **dict.fromkeys(("Bosh3", "JiTCDDE", "diffrax_Bosh3"), 3),
    **dict.fromkeys(("Tsit5", "SciPy_RK45", "diffrax_Tsit5"), 5),
    **dict.fromkeys(("Dopri8", "SciPy_DOP853", "diffrax_Dopri8"), 8),
}
"""Orders of the methods of the curves."""
ERRORS = (1e-3, 1e-5, 1e-7)
"""Errors at which the solvers are compared, relative; all solvers reach them."""
PROBLEMS = {
    "Mackey-Glass": "one constant lag, 1 state",
    "Kermack and McKendrick": "two constant lags, 3 states",
    "lag by state, smooth": "closed form, 1 state",
    "DDETST C2": "the lag is a state; kinks",
    "Reno over RED": "lag by state; a bound and kinks",
    "orbit": "no delay, 4 states",
}
"""Names of the problems, and what is particular about each."""
COMPARED = {
    "JiTCDDE": tuple(PROBLEMS)[:5],
    "SciPy": ("Mackey-Glass", "Kermack and McKendrick", "orbit"),
    "diffrax": ("orbit",),
}
"""Problems that each of the other solvers can solve."""


class Point(NamedTuple):
    """A solve at one tolerance.

    Args:
        error: largest error of a component, relative to its largest value.
        ms: CPU time of the solve, ms.
    """

    error: float
    ms: float


def key(problem: str, curve_name: str, tolerance: float) -> str:
    """Return the first part of the names of the figures of a solve."""
    return f"{short(problem)}.{curve_name}.{tolerance:.0e}"


def short(problem: str) -> str:
    """Return a problem's name as a part of a figure's name."""
    return problem.replace(",", "").replace(" ", "_")


def ratio_name(problem: str, peer: str, error: float) -> str:
    """Return the name of the figure that compares another solver with ours at an error."""
    return f"{short(problem)}.error_{error:.0e}.times_{peer.lower()}"


def curve(figures: Mapping[str, float], problem: str, curve_name: str) -> list[Point]:
    """Return the points of a curve that the figures have, the loosest tolerance first."""
    names = [key(problem, curve_name, tolerance) for tolerance in TOLERANCES]
    return [
        Point(figures[f"{name}.error"], figures[f"{name}.ms"])
        for name in names
        if f"{name}.error" in figures
    ]


def time_at(points: Iterable[Point], error: float) -> float:
    """Return the CPU time at which a curve stays within an error, ms; nan if it does not.

    Counted is the tolerance from which on all tighter ones are within the error, too, so that none
    is within it by chance. Between it and the next looser one, the time is interpolated, linearly
    in the logarithms of error and time. If all are within the error, it is the loosest one's time.

    Args:
        points: points of the curve, the loosest tolerance first.
        error: error to stay within, relative.
    """
    looser: Point | None = None
    tighter: Point | None = None
    for point in reversed(list(points)):
        if point.error > error:
            looser = point
            break
        tighter = point
    if tighter is None:
        return math.nan
    if looser is None:
        return tighter.ms
    part = math.log(looser.error / error) / math.log(looser.error / tighter.error)
    return looser.ms * (tighter.ms / looser.ms) ** part


def best_time_at(figures: Mapping[str, float], problem: str, solver: str, error: float) -> float:
    """Return the smallest time of a solver's curves at an error, ms; nan if none is within it."""
    times = [time_at(curve(figures, problem, name), error) for name in CURVES[solver]]
    return min((time for time in times if not math.isnan(time)), default=math.nan)


def comparison(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the times of other solvers over ours at equal errors, by the name of the figure.

    Of our methods, and of diffrax's, the fastest one at that error counts. Left out are errors
    that one of the two solvers does not reach.
    """
    ratios = {}
    for peer, problems in COMPARED.items():
        for problem in problems:
            for error in ERRORS:
                ours = best_time_at(figures, problem, "vegasfluid", error)
                theirs = best_time_at(figures, problem, peer, error)
                if not math.isnan(theirs / ours):
                    ratios[ratio_name(problem, peer, error)] = theirs / ours
    return ratios

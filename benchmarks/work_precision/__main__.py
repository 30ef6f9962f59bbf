"""Error and time of the delay solver and of other solvers over tolerances from 1e-2 to 1e-10.

    python -m benchmarks.work_precision [--json] [--full]

The problems are Mackey-Glass and Kermack and McKendrick, with constant lags; a smooth equation with
a closed form, DDETST C2, and Reno over RED, all three with lags that depend on the state; and an
orbit without delay. The other solvers are JiTCDDE, SciPy's
`solve_ivp` by the method of steps, which needs constant lags, and diffrax for the orbit. Solvers
that are not installed are left out.

An error is the largest error of a component at the stored times, relative to its largest value. The
reference is a closed form or, where there is none, a solution by the method of steps with SciPy's
DOP853 at 1e-12, from which a second one at 1e-10 differs by 6e-12 or less
(`tests/dde/make_references.py`).

Times are CPU ms of one core, of compiled programs, without compiling. All solves of a problem take
turns, and the fastest one of each counts. JiTCDDE has the compiler flags and the form of the
equations with which it is fastest. Its times and SciPy's are those of the integration alone; ours
and those of diffrax include the outputs. Solves that fail or have no correct digit are left out.

`times_jitcdde` is JiTCDDE's time divided by ours at the same error, where the fastest of our three
methods counts. Both times are interpolated in the logarithms of error and time. An error counts as
reached at the tolerance from which on all tighter ones are within it, too. `times_scipy` and
`times_diffrax` are the same for SciPy and diffrax. `--full` measures 21 turns instead of 7.
"""

from __future__ import annotations

import jax

from benchmarks.dde.problems import error_of, known
from benchmarks.dde.single import installed
from benchmarks.dde.timing import alternating, one_core
from benchmarks.harness import Figures, run
from benchmarks.work_precision.curves import COMPARED, CURVES, PROBLEMS, TOLERANCES, comparison, key
from benchmarks.work_precision.solvers import SYSTEMS, Solve, solve_of

LARGEST_ERROR = 0.5
"""Largest error of the runs that count, relative: no correct digit."""
TURN_S = 0.01
"""CPU time of a turn, s: short solves are repeated, at most `REPEATS` times."""
REPEATS = 3
"""Largest number of solves in a turn."""


def curves_of(problem: str) -> list[str]:
    """Return the curves of all solvers that can solve a problem and are installed."""
    peers = [name for name, problems in COMPARED.items() if problem in problems]
    there = [name for name in peers if installed(name.lower())]
    return [curve for solver in ("vegasfluid", *there) for curve in CURVES[solver]]


def turn(solve: Solve) -> float:
    """Return the smallest CPU seconds of the solves of a turn."""
    times = [solve()[1]]
    while len(times) < REPEATS and sum(times) < TURN_S:
        times.append(solve()[1])
    return min(times)


def add_problem(figures: Figures, problem: str, turns: int) -> None:
    """Add errors and times of all solvers on a problem."""
    _, reference = known(SYSTEMS[problem])
    solves, errors = {}, {}
    for curve in curves_of(problem):
        for tolerance in TOLERANCES:
            name, solve = key(problem, curve, tolerance), solve_of(problem, curve, tolerance)
            errors[name] = error_of(solve()[0], reference)
            if errors[name] <= LARGEST_ERROR:
                solves[name] = solve
    tasks = [lambda solve=solve: turn(solve) for solve in solves.values()]
    for name, time in zip(solves, alternating(*tasks, repeats=turns), strict=True):
        figures.add(f"{name}.error", errors[name])
        figures.add(f"{name}.ms", 1e3 * time)


def measure(full: bool) -> Figures:
    """Return the comparisons at equal errors, then errors and times of all solves."""
    jax.config.update("jax_enable_x64", True)
    one_core()
    measured, figures = Figures(), Figures()
    for problem in PROBLEMS:
        add_problem(measured, problem, 21 if full else 7)
        jax.clear_caches()
    for name, value in {**comparison(measured.values), **measured.values}.items():
        figures.add(name, value)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

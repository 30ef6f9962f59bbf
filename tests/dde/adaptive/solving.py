"""The test systems handed to the adaptive solver, and how far it is from their answers."""

from __future__ import annotations

import functools
import math
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dde.switched_systems import (
    DDETST_B2,
    DDETST_C1,
    DDETST_C2,
    DDETST_C3,
    DDETST_C4,
    EMPTIED,
    FOLDED,
    RELAY,
    RENO_RED,
    RENO_VEGAS,
    STATE_KINK,
    WALLS,
)
from benchmarks.dde.systems import (
    BY_STATE,
    DDETST_B1,
    DDETST_D1,
    EXPONENTIAL,
    FELDSTEIN_NEVES,
    KERMACK,
    LINEAR,
    LOGARITHMIC_LAG,
    MACKEY_GLASS,
    PANTOGRAPH,
    TWO_LAGS,
    System,
    constant,
)
from tests.dde.adaptive.families import Family
from tests.dde.make_references import DATA
from vegasfluid import dde

SMOOTH = Family(
    LINEAR,
    EXPONENTIAL,
    TWO_LAGS,
    BY_STATE,
    PANTOGRAPH,
    DDETST_B1,
    FELDSTEIN_NEVES,
    LOGARITHMIC_LAG,
    MACKEY_GLASS,
)
"""One component, and no events but breaking points."""
KINKED = Family(DDETST_B2, DDETST_C1, FOLDED, STATE_KINK, RELAY, EMPTIED)
"""One component, with a clamp and a switch."""
PAIRS = Family(DDETST_D1, DDETST_C2, WALLS)
"""Two components, with a clamp and two switches."""
TRIPLES = Family(KERMACK, DDETST_C3, DDETST_C4, RENO_RED)
"""Three components, with a clamp and three switches."""
FEW = Family(LINEAR, DDETST_B1, PANTOGRAPH)
"""Some of the smooth ones, for other methods."""
FAMILIES = (SMOOTH, KINKED, PAIRS, TRIPLES, Family(RENO_VEGAS))
SYSTEMS = tuple(system for family in FAMILIES for system in family.systems)
MOST_TIMES = 1001
"""Save times of a program for a family of several; a shorter list is filled up with its last."""


def tolerance(rtol, atol=None):
    """A controller; both tolerances may be traced."""
    return diffrax.PIDController(rtol=rtol, atol=rtol if atol is None else atol)


def given(system) -> dict[str, Any]:
    """The keywords that a system needs, with its clamps and switches."""
    bounds = tuple(dde.Bound(*clamp) for clamp in system.bounds)
    return {"initial_history": system.initial_history, "bounds": bounds, "guards": system.guards}


def solved(system, solver, *, t1=None, dt0=None, **options):
    """One solve of a test system, from its own past; options as in `dde.solve`."""
    end = system.t1 if t1 is None else t1
    options = given(system) | options
    y0 = jnp.asarray(system.y0)
    return dde.solve(system.rhs, solver, system.t0, end, dt0, y0, system.args, **options)


def answer(system, t1=None, count=101):
    """Times up to t1 and the states there: the closed form, or the stored reference's own times."""
    end = system.t1 if t1 is None else t1
    if system.exact:
        ts = np.linspace(system.t0, end, count)
        return ts, system.exact(ts)
    with np.load(DATA / str(system.reference)) as stored:
        ts, ys = stored["ts"], stored["ys"]
    return ts[ts <= end], ys[ts <= end]


def family_of(system: System) -> Family:
    """The family in which a test system is compiled."""
    return next(family for family in FAMILIES if system in family.systems)


@functools.cache
def program(family: Family, solver):
    """A compiled solve of a system of a family at some times, to a tolerance."""

    @jax.jit
    def run(which, t0, t1, y0, ts, rtol):
        return dde.solve(
            family.rhs, solver, t0, t1, None, y0, which, **family.options(), history_capacity=4096,
            saveat=diffrax.SaveAt(ts=ts), stepsize_controller=tolerance(rtol), throw=False,
        )  # fmt: skip

    return run


def at_answers(system, solver, rtol, t1=None, family=None):
    """A solve of a test system to a tolerance, saved at the times of its answer."""
    family, end = family or family_of(system), system.t1 if t1 is None else t1
    ts, _ = answer(system, t1)
    padded = np.pad(ts, (0, max(0, MOST_TIMES - len(ts))), mode="edge")
    found = program(family, solver)(
        jnp.asarray(family.number(system)),
        *(jnp.asarray(value, float) for value in (system.t0, end, system.y0, padded, rtol)),
    )
    return found._replace(ts=found.ts[: len(ts)], ys=found.ys[: len(ts)])


def equation(name, rhs, y0, t1, *, t0=0.0, **options):
    """An equation of a single test, with a constant past unless another is given."""
    options = {"initial_history": constant(*y0), "longest_lag": np.inf} | options
    return System(name, "", rhs, y0, t0, t1, **options)


LAGS_OF_1_AND_SQRT2 = equation(
    "lags of 1 and sqrt 2",
    lambda t, y, history, args: -0.5 * history(t - 1.0) - 0.7 * history(t - math.sqrt(2)),
    y0=(1.0,),
    t1=5.9,
)
READ_LATE = equation(
    "clamp that is read late",
    lambda t, y, history, args: 1 - 3 * history(t - 0.7),
    y0=(0.0,),
    t1=2.5,
    bounds=((0, None, 0.5),),
)
AT_STEPS = Family(
    LINEAR,
    EXPONENTIAL,
    BY_STATE,
    FELDSTEIN_NEVES,
    LOGARITHMIC_LAG,
    LAGS_OF_1_AND_SQRT2,
    READ_LATE,
    FOLDED,
    EMPTIED,
)
"""One component; solved in steps of one length, which tests of order and of breaks look at."""


@functools.cache
def stepping_program(family: Family, solver, constant: bool):
    """A compiled solve of a system of a family; and its dense output at some times."""

    @jax.jit
    def run(which, t0, t1, y0, ts, size):
        controller = diffrax.ConstantStepSize() if constant else tolerance(size)
        found = dde.solve(
            family.rhs, solver, t0, t1, size if constant else None, y0, which,
            **family.options(), saveat=diffrax.SaveAt(steps=True, dense=True),
            stepsize_controller=controller, max_steps=2048, throw=False,
        )  # fmt: skip
        return found, found.evaluate(ts)

    return run


def stepped(family, system, solver, *, rtol=None, step=None, ts=None, t1=None):
    """The ends of the steps of a solve, to a tolerance or in steps of one length.

    Args:
        family: with which it is compiled.
        system: one of the family, perhaps with another start or end.
        solver: the method.
        rtol: the tolerance, or None.
        step: the length of all steps, or None.
        ts: up to 101 times; None: as many from start to end.
        t1: the end, if it is not the system's.

    Returns:
        The solution, with nan beyond its last step; and its dense output at `ts`.
    """
    end = system.t1 if t1 is None else t1
    times = np.linspace(system.t0, end, 101) if ts is None else np.asarray(ts, float)
    padded = np.pad(times, (0, 101 - len(times)), mode="edge")
    numbers = (system.t0, end, system.y0, padded, rtol if step is None else step)
    found, ys = stepping_program(family, solver, step is not None)(
        jnp.asarray(family.number(system)), *(jnp.asarray(value, float) for value in numbers)
    )
    return found, np.asarray(ys)[: len(times)]


def ends_of(solution):
    """The ends of the steps."""
    ts = np.asarray(solution.ts)
    return ts[np.isfinite(ts)]


def distance(times, solution):
    """From each time to the nearest end of a step."""
    return np.abs(np.asarray(times)[:, None] - ends_of(solution)).min(1)


def errors(system, ys, t1=None):
    """Largest error of each component, as a fraction of its size."""
    known = answer(system, t1)[1]
    return np.abs(np.asarray(ys) - known).max(0) / (np.abs(known).max(0) + 1e-300)

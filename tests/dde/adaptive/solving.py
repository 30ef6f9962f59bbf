"""The test systems handed to the adaptive solver, and how far it is from their answers."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from tests.dde import switched_systems, systems
from tests.dde.make_references import DATA
from vegasfluid import dde

SYSTEMS = systems.SYSTEMS + switched_systems.SYSTEMS


def tolerance(rtol, atol=None):
    """A controller; both tolerances may be traced."""
    return diffrax.PIDController(rtol=rtol, atol=rtol if atol is None else atol)


def given(system) -> dict[str, Any]:
    """The keywords that a system needs, with its clamps and switches."""
    clamps = tuple(dde.Clamp(*clamp) for clamp in system.clamps)
    return {"past": system.past, "clamps": clamps, "switches": system.switches}


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


def sweep(system, solver, *, t1=None, **options):
    """A compiled function of (rtol, atol) that solves a test system at the times of its answer."""
    ts, _ = answer(system, t1)

    @jax.jit
    def run(rtol, atol):
        controller = tolerance(rtol, atol)
        saveat = diffrax.SaveAt(ts=jnp.asarray(ts))
        return solved(
            system, solver, t1=t1, saveat=saveat, stepsize_controller=controller, **options
        )

    return run


def errors(system, ys, t1=None):
    """Largest error of each component, as a share of its own size."""
    known = answer(system, t1)[1]
    return np.abs(np.asarray(ys) - known).max(0) / (np.abs(known).max(0) + 1e-300)

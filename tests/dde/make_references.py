"""Recompute the stored answers in `data`: `python -m tests.dde.make_references [name ...]`.

Each answer comes from `method_of_steps` at a tight tolerance; its claimed error is the largest
difference, relative to the largest size of each component, from a second run at a tolerance a
hundred times looser and with half the longest step. For C and D of the notes on solvers a third
opinion is a plain Runge-Kutta method of order 4 in Numba with tiny fixed steps and cubic Hermite
history; it is of order 2 at clamps and kinks, so it confirms the equations and the events, not
the last digits. The right-hand sides here are NumPy, and are written apart from those of
`benchmarks/dde/systems.py` and `switched_systems.py`.

A file holds `ts`, `ys` (times, components), `error` (one for each component), `fixed_step_error`
(where there is a third opinion), `seconds`, `versions`, `source`.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

from tests.dde.method_of_steps import Problem, reference

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Job:
    """A problem, the times to keep, the longest step of the kept run."""

    problem: Problem
    ts: np.ndarray
    max_step: float
    fixed_steps: Any = None  # () -> states at `ts`, the third opinion


def mackey_glass(t, y, history, above):
    old = history(t - 17.0)
    return 0.2 * old / (1 + old**10) - 0.1 * y


def wille_baker(t, y, history, above):
    old = history(t - 1.0)[0]
    return np.array([old, old + history(t - 0.2)[1], y[1]])


def ddetst_c1(t, y, history, above):
    size = y[0] if above[0] else -y[0]
    return -2 * history(t - 1 - size) * (1 - y * y)


def c1_delayed(t, y):
    return [t - 1 - abs(y[0])]


def ddetst_c2(t, y, history, above):
    old = history(t - y[1])[0]
    size, old_size = y[0] if above[0] else -y[0], old if above[1] else -old
    return np.array([-2 * old, (old_size - size) / (1 + old_size)])


def blood_problem(args, y0, end, jump):
    """DDETST C3 (with the jump of the past at -maturing) and C4."""
    supply, decay, removal, hormone_decay, release, maturing = args

    def rhs(t, y, history, above):
        new, old = history(t - maturing)[1], history(t - maturing - y[2])[1]
        if jump and not above[0]:
            old = 9.5
        hormone = release / (1 + 0.0382 * y[0] ** 6.96) - hormone_decay * y[1]
        aged = removal * math.exp(decay * y[2]) / (supply * old)
        return np.array([supply * new - decay * y[0] - removal, hormone, 1 - aged])

    def guards(t, y, history):
        return [t - y[2]] if jump else []

    def delayed(t, y):
        return [t - maturing, t - maturing - y[2]]

    return Problem(rhs, y0, (0.0, end), lambda s: y0, delayed, guards)


def kermack(t, y, history, above):
    caught, waned = y[0] * history(t - 1.0)[1], history(t - 10.0)[1]
    return np.array([waned - caught, caught - y[1], y[1] - waned])


C_FLOWS, C_RATE, C_PROP, C_MIN, C_MAX, C_PROB = 60, 3750.0, 0.2, 150.0, 200.0, 0.1
C_AVERAGING = -math.log1p(-1.33e-4) * C_RATE


def reno_red(t, y, history, above):
    window, queue, average = y
    rtt = C_PROP + queue / C_RATE
    old_window, old_queue, seen = history(t - rtt)
    drop = 0.0
    if above[2]:
        drop = 1.0
    elif above[1]:
        drop = C_PROB + (1 - C_PROB) * (seen / C_MAX - 1)
    elif above[0]:
        drop = C_PROB * (seen - C_MIN) / (C_MAX - C_MIN)
    old_rtt = C_PROP + old_queue / C_RATE
    losses = window * old_window * drop / (2 * old_rtt)
    filling = C_FLOWS * window / rtt - C_RATE
    return np.array([1 / rtt - losses, filling, C_AVERAGING * (queue - average)])


def c_delayed(t, y):
    return [t - C_PROP - y[1] / C_RATE]


def c_switches(t, y, history):
    seen = history(c_delayed(t, y)[0])[2]
    return [seen - C_MIN, seen - C_MAX, seen - 2 * C_MAX]


D_RATE, D_PROP, D_MIN, D_MAX = 155e6 / 8 / 1500, 0.007, 6711.0, 26843.0
D_AVERAGING = -math.log1p(-0.002) * D_RATE
D_STARTS = np.concatenate([1 + 0.2 * np.arange(25), 1 + 0.2 * np.arange(25), [0.0, 0.0]])


def logistic(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def reno_vegas(t, y, history, above):
    waiting = y[50] / D_RATE
    rtt = D_PROP + waiting
    old = history(t - rtt)
    drop = 0.0
    if above[1]:
        drop = 1.0
    elif above[0]:
        drop = (old[51] - D_MIN) / (D_MAX - D_MIN)
    queued = y[25:50] * waiting / rtt
    slope = np.empty(52)
    slope[:25] = 1 / rtt
    slope[25:50] = (logistic((100 - queued) / 0.5) - logistic((queued - 110) / 0.5)) / rtt
    slope[:50] -= y[:50] * old[:50] * drop / (2 * (D_PROP + old[50] / D_RATE))
    slope[50] = y[:50].sum() / rtt - D_RATE
    slope[51] = D_AVERAGING * (y[50] - y[51])
    return slope


def d_delayed(t, y):
    return [t - D_PROP - y[50] / D_RATE]


def d_switches(t, y, history):
    seen = history(d_delayed(t, y)[0])[51]
    return [seen - D_MIN, seen - D_MAX]


@numba.njit
def c_slope(y, old, out):
    """C with everything on at once, for the fixed steps."""
    rtt, old_rtt = C_PROP + max(y[1], 0.0) / C_RATE, C_PROP + max(old[1], 0.0) / C_RATE
    ramp = min(max(C_PROB * (old[2] - C_MIN) / (C_MAX - C_MIN), 0.0), C_PROB)
    drop = ramp + min(max((1 - C_PROB) * (old[2] - C_MAX) / C_MAX, 0.0), 1 - C_PROB)
    out[0] = 1 / rtt - y[0] * old[0] * drop / (2 * old_rtt)
    out[1] = C_FLOWS * y[0] / rtt - C_RATE
    out[2] = C_AVERAGING * (y[1] - y[2])


@numba.njit
def d_slope(y, old, out):
    """D with everything on at once, for the fixed steps."""
    waiting, old_rtt = max(y[50], 0.0) / D_RATE, D_PROP + max(old[50], 0.0) / D_RATE
    rtt, total = D_PROP + waiting, 0.0
    drop = min(max((old[51] - D_MIN) / (D_MAX - D_MIN), 0.0), 1.0)
    for i in range(50):
        growth = 1.0
        if i >= 25:
            queued = y[i] * waiting / rtt
            growth = 1 / (1 + math.exp((queued - 100) / 0.5)) - 1 / (
                1 + math.exp((110 - queued) / 0.5)
            )
        out[i] = growth / rtt - y[i] * old[i] * drop / (2 * old_rtt)
        total += y[i]
    out[50] = total / rtt - D_RATE
    out[51] = D_AVERAGING * (y[50] - y[51])


def fixed_steps(slope, queue, rate, propagation):
    """Runge-Kutta of order 4 on a ring of states and slopes; `queue` is clamped at 0."""

    @numba.njit
    def evaluate(ring, slopes, step, filled, time, y, old, out):
        place = (time - propagation - max(y[queue], 0.0) / rate) / step
        n, size = y.size, ring.shape[0]
        if place <= 0:
            for i in range(n):
                old[i] = ring[size - 1, i]  # the last row keeps the start
        else:
            k = min(int(place), filled - 1)
            u, a, b = place - k, k % (size - 1), (k + 1) % (size - 1)
            for i in range(n):
                w = u * u * (3 - 2 * u)
                bend = u * (1 - u) * ((1 - u) * slopes[a, i] - u * slopes[b, i])
                old[i] = (1 - w) * ring[a, i] + w * ring[b, i] + step * bend
        slope(y, old, out)
        if y[queue] <= 0 and out[queue] < 0:
            out[queue] = 0.0

    @numba.njit
    def integrate(y0, step, saves, every, rows):
        n, size = y0.size, rows + 1
        ring, slopes, saved = np.zeros((size, n)), np.zeros((size, n)), np.zeros((saves + 1, n))
        y, trial, old = y0.copy(), np.zeros(n), np.zeros(n)
        k1, k2, k3, k4 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        ring[rows], saved[0] = y0, y0
        for count in range(saves * every):
            row, t = count % rows, count * step
            evaluate(ring, slopes, step, max(count - 1, 0), t, y, old, k1)
            ring[row], slopes[row] = y, k1
            trial[:] = y + 0.5 * step * k1
            evaluate(ring, slopes, step, count, t + 0.5 * step, trial, old, k2)
            trial[:] = y + 0.5 * step * k2
            evaluate(ring, slopes, step, count, t + 0.5 * step, trial, old, k3)
            trial[:] = y + step * k3
            evaluate(ring, slopes, step, count, t + step, trial, old, k4)
            y += step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            y[queue] = max(y[queue], 0.0)
            if (count + 1) % every == 0:
                saved[(count + 1) // every] = y
        return saved

    return integrate


def c_fixed_steps():
    run = fixed_steps(c_slope, 1, C_RATE, C_PROP)
    return run(np.array([1.0, 0.0, 0.0]), 1e-5, 1000, 10_000, 150_000)


def d_fixed_steps():
    run = fixed_steps(d_slope, 50, D_RATE, D_PROP)
    return run(D_STARTS, 1e-4, 200, 10_000, 20_000)


def textbook_jobs() -> dict[str, Job]:
    """References of equations with constant lags and no events, by the name of their file."""
    baker = Problem(
        wille_baker,
        [1.0, 1.0, 1.0],
        (0.0, 5.0),
        lambda s: [1.0, 1.0, 1.0],
        lambda t, y: [t - 1.0, t - 0.2],
    )
    hutchinson = Problem(
        lambda t, y, history, above: 2.0 * y * (1 - history(t - 1.0)),
        [0.5],
        (0.0, 20.0),
        lambda s: [0.5],
        lambda t, y: [t - 1.0],
    )
    return {
        "wille_baker": Job(baker, np.linspace(0, 5, 201), 0.02),
        "hutchinson": Job(hutchinson, np.linspace(0, 20, 401), 0.02),
    }


def jobs() -> dict[str, Job]:
    """All references by the name of their file."""
    c2 = Problem(
        ddetst_c2,
        [1.0, 0.5],
        (0.0, 40.0),
        lambda s: [1.0, 0.5],
        lambda t, y: [t - y[1]],
        lambda t, y, history: [y[0], history(t - y[1])[0]],
    )
    c1 = Problem(
        ddetst_c1,
        [0.5],
        (0.0, 30.0),
        lambda s: [0.5],
        c1_delayed,
        lambda t, y, history: [y[0]],
    )
    c3 = blood_problem((0.0031, 0.001, 0.0275, 2.8, 6570.0, 6.0), [3.325, 10.0, 120.0], 300.0, True)
    c4 = blood_problem((0.00372, 0.1, 0.00178, 6.65, 15600.0, 3.0), [3.5, 10.0, 50.0], 100.0, False)
    glass = Problem(mackey_glass, [1.2], (0.0, 500.0), lambda s: [1.2], lambda t, y: [t - 17.0])
    epidemic = Problem(
        kermack,
        [5.0, 0.1, 1.0],
        (0.0, 40.0),
        lambda s: [5.0, 0.1, 1.0],
        lambda t, y: [t - 1.0, t - 10.0],
    )
    c = Problem(
        reno_red,
        [1.0, 0.0, 0.0],
        (0.0, 100.0),
        lambda s: [1.0, 0.0, 0.0],
        c_delayed,
        c_switches,
        [(1, 0.0, None)],
    )
    d = Problem(
        reno_vegas,
        D_STARTS,
        (0.0, 200.0),
        lambda s: D_STARTS,
        d_delayed,
        d_switches,
        [(50, 0.0, None)],
    )
    return {
        "mackey_glass": Job(glass, np.arange(501.0), 0.25),
        "ddetst_c1": Job(c1, np.linspace(0, 30, 301), 0.03),
        "ddetst_c2": Job(c2, np.linspace(0, 40, 401), 0.03),
        "ddetst_c3": Job(c3, np.linspace(0, 300, 301), 0.1),
        "ddetst_c4": Job(c4, np.linspace(0, 100, 401), 0.03),
        "kermack_mckendrick": Job(epidemic, np.linspace(0, 40, 401), 0.05),
        "reno_red": Job(c, np.linspace(0, 100, 1001), 0.02, c_fixed_steps),
        "reno_vegas": Job(d, np.arange(201.0), 0.02, d_fixed_steps),
    } | textbook_jobs()


def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Largest difference of each component, relative to its largest size."""
    return np.abs(one - other).max(0) / np.abs(one).max(0)


def compute(name: str, job: Job) -> None:
    """Both runs and the third opinion; stores and prints them."""
    tight = {"rtol": 1e-12, "atol": 1e-13, "max_step": job.max_step}
    looser = {"rtol": 1e-10, "atol": 1e-11, "max_step": job.max_step / 2}
    seconds, begun = [], time.perf_counter()

    def lap() -> None:
        nonlocal begun
        seconds.append(time.perf_counter() - begun)
        begun = time.perf_counter()

    solution = reference(job.problem, **tight)
    ys = solution.at(job.ts)
    lap()
    kept = {"ts": job.ts, "ys": ys, "events": np.array(solution.events)}
    kept["error"] = difference(ys, reference(job.problem, **looser).at(job.ts))
    lap()
    third = "no third opinion"
    if job.fixed_steps is not None:
        kept["fixed_step_error"] = difference(ys, job.fixed_steps())
        lap()
        third = f"third opinion {kept['fixed_step_error'].max():.1e}"
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, "
    versions += f"SciPy {scipy.__version__}, Numba {numba.__version__}"
    source = f"make_references.py: DOP853 by the method of steps, {tight} against {looser}"
    np.savez_compressed(
        DATA / f"{name}.npz", seconds=np.array(seconds), versions=versions, source=source, **kept
    )
    counts = f"{len(solution.events)} events, {len(solution.times)} steps"
    spent = ", ".join(f"{value:.1f}" for value in seconds)
    print(f"{name}: error {kept['error'].max():.1e}, {third}, {counts}, {spent} s", flush=True)


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    chosen = sys.argv[1:]
    for job_name, the_job in jobs().items():
        if not chosen or job_name in chosen:
            compute(job_name, the_job)

"""JiTCDDE on problems A, C and D, with the formulation and the settings that suit it best.

JiTCDDE writes the right-hand side as C, compiles it, and integrates with the Shampine-Thompson
method (Bogacki-Shampine steps of order 3, cubic Hermite history) and adaptive steps, whose loop is
Python's: G. Ansmann, Chaos 28, 043116 (2018).

    compiled = compile_problem("C")
    found = compiled.run(times, SETTINGS["C"][0])            # .ys, .wall, .cpu, .steps
    tried = try_all(compiled, times, reference)
    best = fastest_within(tried, 4e-4)                       # .settings, .found, .error

What makes it fast, and was found by trying (one core of an AMD EPYC, gcc 12):

* `-fvisibility=hidden` or `-fno-semantic-interposition` next to its own `-O3 -ffast-math
  -march=native`: without either no function of a shared library is inlined, and every delayed
  value copies whole anchors. D 18 -> 5.6 ms; C and A 7 %.
* One `anchors` helper for all delayed values of a moment, not a search each: D 35 -> 19 ms.
* One exponential a flow for the two logistic steps of Vegas: D 9.3 -> 6.0 ms.
* `Max`, `Min` and `Piecewise`: SymEngine prints them as C, so clamps need no smoothing. Smooth
  ones have a floor of error (C: 2.3e-2, 1.4e-3, 1.7e-4, 2.8e-5, 1.2e-5 at widths 0.02, 1e-3, 1e-4,
  1e-5, 1e-6) and are within 4e-4 in 5 to 7 ms; hard ones in 2.9, and they go on to 5e-7 (21 ms).
  The pull back to 0 (below) changes no solution, as only an error takes the queue below 0.
* One call of `integrate` and a history that is kept whole: outputs are read from the cubic that
  `integrate` itself would read. Stopping at 1000 outputs takes 0.9 ms more (C), at 2000 1.8 (D).
* `adjust_diff` at the start, with a tiny shift. With `initial_discontinuities_handled` alone the
  first step uses the constant past's slope, 0.
* Units in which components are alike, as `atol` is one number: C 20 % less.
* `-mprefer-vector-width=512`: no difference; `-O2`: slower.
"""

from __future__ import annotations

import contextlib
import io
import math
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import symengine
from jitcdde import anchors, jitcdde, past_y, t, y
from jitcxde_common import DEFAULT_COMPILE_ARGS
from jitcxde_common.symbolic import conditional

Expression = Any
Helpers = list[tuple[Expression, Expression]]

FLAGS = ("-fvisibility=hidden", "-fno-semantic-interposition")
EVERYTHING = 1e6  # a memory longer than any run
SHIFT = 1e-6  # the width in which the past turns into the slope at the start


@dataclass(frozen=True)
class Form:
    """How a problem is written down; widths of None are hard clamps."""

    queue_width: float | None = None
    rate_width: float = 1.0
    mark_width: float = 1e-3
    pull: float = 5.0  # 1/s, of a queue that an error left below 0, back to 0; hard clamps only
    queue_unit: float = 1.0  # packets
    average_unit: float = 1.0  # packets
    flows: float = 60.0  # of C
    propagation: float = 0.2  # of C, s
    max_prob: float = 0.1  # of C
    flags: tuple[str, ...] = FLAGS

    @property
    def hard(self) -> bool:
        """Whether clamps are clamps."""
        return self.queue_width is None


@dataclass(frozen=True)
class Settings:
    """How a problem is integrated."""

    rtol: float
    atol: float
    first_step: float
    max_step: float
    start: Literal["adjust", "step", "smooth"] = "adjust"  # smooth: the past has the right slope
    outputs: Literal["anchors", "stops"] = "anchors"

    def __post_init__(self) -> None:
        if (self.start, self.outputs) == ("step", "stops"):
            raise ValueError("stepping on discontinuities passes the first outputs")


FORMS: dict[str, Form] = {
    "A": Form(),
    "C": Form(queue_unit=20.0, average_unit=5.0),
    "D": Form(),
}


def grid(
    rtols: Sequence[float], ratios: Sequence[float], first_step: float, longest: Sequence[float]
) -> tuple[Settings, ...]:
    """All combinations, the loosest first; a ratio is atol / rtol."""
    return tuple(
        Settings(rtol, ratio * rtol, first_step, max_step)
        for rtol in rtols
        for ratio in ratios
        for max_step in longest
    )


# Tried beyond these, without gain:
# A: atol/rtol 0 and 1e-3, max_step 0.5 to 3, `step_on_discontinuities` (3 % slower, no better).
# C: atol/rtol 0.1 and 1, max_step 0.1, 0.3 and 10 (0.2 is the smallest delay; longer steps have to
#    be iterated), min_factor 0.05, pull 0 to 50, units 1 to 20. Its error scatters by a factor of 5
#    between neighbours, with how steps happen to meet the clamp: some are in luck (the luckiest of
#    some 2000 was 2.8e-4 in 2.1 ms at rtol 1e-5, where others are at 2e-3).
# D: rtol 1e-3 and 1e-4, atol/rtol 1e-3 and 10, max_step 0.085 to 10 (the averaging filter is stiff:
#    steps are stable up to 0.097), first_step 1e-4, widths 1e-3 to 3. Its error scatters by 2 to 3,
#    as the flows magnify the error at the kink of the marking from one loss to the next.
RTOLS = (1e-5, 7e-6, 5e-6, 3e-6, 2e-6, 1e-6, 7e-7, 5e-7, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9)
SETTINGS: dict[str, tuple[Settings, ...]] = {
    "A": grid((1e-6, 1e-7, 3e-8, 1e-8, 7e-9, 5e-9, 3e-9, 1e-9), (1.0, 0.1), 1e-2, (10.0,)),
    "C": grid(RTOLS, (10.0,), 1e-3, (0.2, 0.5)),
    "D": grid(RTOLS, (0.01, 1.0), 1e-3, (0.095, 0.1)),
}


class Measured(NamedTuple):
    """The outputs of a run, one row a time, and the least seconds of its repeats."""

    ys: np.ndarray
    wall: float
    cpu: float
    steps: int


class Problem(NamedTuple):
    """Equations as JiTCDDE takes them; a state times its unit is in the problem's units."""

    equations: list[Expression]
    helpers: Helpers
    start: list[float]
    units: np.ndarray
    queue: int | None  # the component that is never below 0
    longest_delay: float


def symbols(names: str) -> list[Expression]:
    return [symengine.Symbol(name) for name in names.split()]


def positive(value: Expression, form: Form) -> Expression:
    """max(value, 0)."""
    if form.hard:
        return symengine.Max(value, 0)
    return conditional(value, 0, 0, value, form.queue_width)


def queue_rate(queue: Expression, rate: Expression, form: Form) -> Expression:
    """The rate at which a queue grows that cannot fall below 0."""
    if form.hard:
        bounded = symengine.Max(rate, -form.pull * queue)
        return symengine.Piecewise((bounded, queue <= 0), (rate, True))
    risen = conditional(rate, 0, 0, rate, form.rate_width)
    return conditional(queue, 0, risen, rate, form.queue_width)


def mackey_glass(form: Form) -> Problem:
    """A: one state, one constant delay."""
    (late,) = symbols("late")
    slope = 0.2 * late / (1 + late**10) - 0.1 * y(0)
    return Problem([slope], [(late, y(0, t - 17))], [1.2], np.ones(1), None, 17.0)


def gentle_red(average: Expression, form: Form) -> Expression:
    """0 below 150 packets, 0.1 at 200, 1 from 400 on (which the smooth form never sees)."""
    first, second = form.max_prob / 50, (1 - form.max_prob) / 200
    if form.hard:
        above = symengine.Max
        ramp = first * above(average - 150, 0) + (second - first) * above(average - 200, 0)
        return symengine.Min(ramp, 1)
    low, high = first * (average - 150), form.max_prob + second * (average - 200)
    ramp = conditional(average, 200, low, high, form.mark_width)
    return conditional(average, 150, 0, ramp, form.mark_width)


def misra_gong_towsley(form: Form) -> Problem:
    """C: 60 Reno flows at a RED queue of 3750 packets/s, as a window, a queue and its average."""
    capacity, fixed, flows = 3750.0, form.propagation, form.flows
    weight = -math.log(1 - 1.33e-4) * capacity
    units = np.array([1.0, form.queue_unit, form.average_unit])
    names = symbols("queue trip then anchor w_late q_late x_late mark rate")
    queue, trip, then, anchor, w_late, q_late, x_late, mark, rate = names
    q_now = y(1) * form.queue_unit
    helpers = [
        (queue, positive(q_now, form)),
        (trip, fixed + queue / capacity),
        (then, t - trip),
        (anchor, anchors(then)),
        (w_late, past_y(then, 0, anchor)),
        (q_late, past_y(then, 1, anchor) * form.queue_unit),
        (x_late, past_y(then, 2, anchor) * form.average_unit),
        (mark, gentle_red(x_late, form) / (2 * fixed + 2 * positive(q_late, form) / capacity)),
        (rate, flows * y(0) / trip - capacity),
    ]
    equations = [
        1 / trip - y(0) * w_late * mark,
        queue_rate(q_now, rate, form) / form.queue_unit,
        -weight * (y(2) - q_now / form.average_unit),
    ]
    return Problem(equations, helpers, [1.0, 0.0, 0.0], units, 1, 2.0)


def red_once(average: Expression, form: Form) -> Expression:
    """0 below 6711 packets, 1 from 26843 on (which the smooth form never sees)."""
    low, high = 6711.0, 26843.0
    ramp = (average - low) / (high - low)
    if form.hard:
        return symengine.Min(symengine.Max(ramp, 0), 1)
    return conditional(average, low, 0, ramp, form.mark_width)


def reno_and_vegas(form: Form) -> Problem:
    """D: 25 Reno and 25 Vegas windows one by one, a queue and its average."""
    each, count, fixed, capacity = 25, 50, 0.007, 155e6 / 8 / 1500
    weight, alpha, beta, width = -math.log(1 - 0.002) * capacity, 100.0, 110.0, 0.5
    names = symbols("queue trip then often backlog anchor mark rate")
    queue, trip, then, often, backlog, anchor, mark, rate = names
    q_late, x_late = (past_y(then, i, anchor) for i in (count, count + 1))
    helpers: Helpers = [
        (queue, positive(y(count), form)),
        (trip, fixed + queue / capacity),
        (then, t - trip),
        (often, 1 / trip),
        (backlog, queue / capacity * often / width),
        (anchor, anchors(then)),
        (mark, red_once(x_late, form) / (2 * fixed + 2 * positive(q_late, form) / capacity)),
        (rate, sum(y(i) for i in range(count)) * often - capacity),
    ]
    equations: list[Expression] = []
    gap = math.exp((beta - alpha) / width)
    for i in range(count):
        speed: Expression = 1
        if i >= each:  # 1 / (1 + e) - 1 / (1 + gap / e), e of how far the backlog is past alpha
            e = symengine.Symbol(f"e{i}")
            helpers.append((e, symengine.exp(backlog * y(i) - alpha / width)))
            speed = (gap - e * e) / ((1 + e) * (e + gap))
        equations.append(speed * often - y(i) * past_y(then, i, anchor) * mark)
    equations.append(queue_rate(y(count), rate, form))
    equations.append(-weight * (y(count + 1) - y(count)))
    start = [1 + 0.2 * i for i in range(each)] * 2 + [0.0, 0.0]
    return Problem(equations, helpers, start, np.ones(count + 2), count, 3.0)


PROBLEMS = {"A": mackey_glass, "C": misra_gong_towsley, "D": reno_and_vegas}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without a library's warnings and output."""
    captured = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(captured):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(captured):
            yield


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """In an empty folder: setuptools reads the `pyproject.toml` of the current one, and refuses."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


class Compiled:
    """A problem compiled by JiTCDDE."""

    def __init__(self, name: str, form: Form, write: Any = None):
        self.name, self.form = name, form
        self.problem = (write or PROBLEMS[name])(form)
        begin = time.perf_counter()
        with quiet(), elsewhere():
            self.solver = jitcdde(
                self.problem.equations,
                helpers=self.problem.helpers,
                max_delay=self.problem.longest_delay,
                verbose=False,
            )
            flags = [*DEFAULT_COMPILE_ARGS, *form.flags]
            self.solver.compile_C(simplify=False, extra_compile_args=flags)
        self.seconds_to_compile = time.perf_counter() - begin

    def run(
        self, times: Sequence[float] | np.ndarray, settings: Settings, repeats: int = 5
    ) -> Measured:
        """The outputs at increasing times from 0 on, and the least of some repeats' seconds.

        Timed is the integration: not the past, and not the reading of outputs from the history.
        """
        times = np.asarray(times, dtype=float)
        walls, cpus = [], []
        with quiet():
            for _ in range(repeats):
                self._prepare(settings)
                cpu, wall = time.process_time(), time.perf_counter()
                states = self._integrate(times, settings)
                walls.append(time.perf_counter() - wall)
                cpus.append(time.process_time() - cpu)
            history = self.solver.get_state()
            if settings.outputs == "anchors":
                states = history.get_state(times)
        ys = np.array(states) * self.problem.units
        if self.problem.queue is not None:
            ys[:, self.problem.queue] = np.maximum(ys[:, self.problem.queue], 0.0)
        return Measured(ys, min(walls), min(cpus), len(history) - 2)

    def _prepare(self, settings: Settings) -> None:
        """Everything back to the constant past."""
        solver, keep = self.solver, settings.outputs == "anchors"
        solver.purge_past()
        solver.max_delay = EVERYTHING if keep else self.problem.longest_delay
        solver.constant_past(np.array(self.problem.start) / self.problem.units, time=0)
        solver.set_integration_parameters(
            rtol=settings.rtol,
            atol=settings.atol,
            first_step=settings.first_step,
            min_step=1e-13,
            max_step=settings.max_step,
        )
        if settings.start == "adjust":
            solver.adjust_diff(SHIFT)

    def _integrate(self, times: np.ndarray, settings: Settings) -> list[np.ndarray]:
        """The states where it stops: at the end, or at every time."""
        solver = self.solver
        if settings.start == "step":
            solver.step_on_discontinuities()
            solver.max_delay = EVERYTHING  # which stepping on discontinuities had forgotten
        if settings.outputs == "anchors":
            return [solver.integrate(times[-1])]
        start = np.array(self.problem.start) / self.problem.units
        return [solver.integrate(moment) if moment > 0 else start for moment in times]


def compile_problem(name: str, form: Form | None = None) -> Compiled:
    """Problem A, C or D, in its best form or in another."""
    return Compiled(name, form or FORMS[name])


def smoothed(name: str, width: float) -> Form:
    """The form with clamps smoothed over a width, to show where its error ends."""
    return replace(FORMS[name], queue_width=width)


def error_of(ys: np.ndarray, reference: np.ndarray) -> float:
    """The largest error of a component over all outputs, relative to its largest value."""
    off = np.max(np.abs(ys - reference), axis=0) / np.max(np.abs(reference), axis=0)
    return float(np.max(off))


class Tried(NamedTuple):
    """Settings, what they gave, and its error."""

    settings: Settings
    found: Measured
    error: float


def try_all(
    compiled: Compiled,
    times: Sequence[float] | np.ndarray,
    reference: np.ndarray,
    repeats: int = 5,
) -> list[Tried]:
    """All settings of a problem, the loosest first."""
    tried = []
    for settings in SETTINGS[compiled.name]:
        found = compiled.run(times, settings, repeats)
        tried.append(Tried(settings, found, error_of(found.ys, reference)))
    return tried


def fastest_within(tried: Sequence[Tried], error: float, reliably: bool = False) -> Tried:
    """What is within an error in the least CPU time.

    Reliably is: so are all settings whose rtol is as small or smaller, so that it is no luck.
    """
    within = [each for each in tried if each.error <= error]
    if reliably:
        missed = min((e.settings.rtol for e in tried if e.error > error), default=math.inf)
        within = [each for each in within if each.settings.rtol < missed]
    if not within:
        raise ValueError(f"JiTCDDE: no settings are within {error:g}")
    return min(within, key=lambda each: each.found.cpu)

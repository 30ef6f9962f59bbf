"""A slow, careful integrator of delay equations: the second opinion on ours.

The method of steps with SciPy's DOP853 (Hairer, Norsett and Wanner, *Solving Ordinary
Differential Equations I*, II.5, II.6 and II.17): the past is the list of dense outputs of the
steps so far, and no step contains a breaking point. Three things end a step, and each is found as a
root (Brent) of an indicator on the dense output; the step is taken again to end there:

- a delayed time passes a breaking point (of order 8 or lower) of the solution behind it,
- a switch of the right-hand side changes its sign; between, the branches are frozen,
- a component reaches its clamp, or its free slope points inwards again.

A lag shorter than the step is solved by repeating the step with its own dense output as the past
until nothing changes. Only NumPy and SciPy are used.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

HIGHEST_ORDER = 8  # jumps in higher derivatives are left to the error control
SAMPLES = 4  # looks at the indicators in each step
SAME_TIME = 1e-13  # relative to the time

Vector = np.ndarray
History = Callable[[float], Vector]


@dataclass(frozen=True)
class Problem:
    """y' = rhs(t, y, history, above), and y = past(t) before the start.

    `delayed_times(t, y)` are the times at which the right-hand side reads the past,
    `switches(t, y, history)` the indicators of which `above` states that they are not negative.
    A clamp (component, lower, upper) holds its component while the slope points outwards.
    """

    rhs: Callable[[float, Vector, History, Vector], Vector]
    y0: Sequence[float]
    span: tuple[float, float]
    initial_history: Callable[[float], Any]
    delayed_times: Callable[[float, Vector], Sequence[float]] = lambda t, y: ()
    guards: Callable[[float, Vector, History], Any] = lambda t, y, history: ()
    bounds: Sequence[tuple[int, float | None, float | None]] = ()
    smooth_start: bool = False


@dataclass
class Path:
    """The solution so far: called with a time, the state then."""

    initial_history: Callable[[float], Any]
    start: float
    times: list[float] = field(default_factory=list)  # where the pieces begin
    pieces: list[Any] = field(default_factory=list)
    end: float = 0.0
    guess: Any = None  # of the step that is being taken
    guessed: bool = False
    events: list[float] = field(default_factory=list)
    attempts: int = 0

    def __call__(self, time: float) -> Vector:
        if time > self.end:
            self.guessed = True
            if self.guess is not None:
                return self.guess(time)
        if time < self.start or not self.pieces:
            return np.asarray(self.initial_history(min(time, self.start)), dtype=float)
        return self.pieces[max(bisect_right(self.times, time) - 1, 0)](time)

    def at(self, times: Any) -> Vector:
        """The states at several times, one row each."""
        return np.array([self(float(time)) for time in times])

    def append(self, begin: float, end: float, piece: Any) -> None:
        self.times.append(begin)
        self.pieces.append(piece)
        self.end, self.guess = end, None


@dataclass(frozen=True)
class Indicator:
    """`value(t, y)` is not negative until `cross` has to be called."""

    value: Callable[[float, Vector], float]
    cross: Callable[[float, Vector], None]


class Stepper:
    """One integration: the state, the frozen branches, the breaking points."""

    def __init__(self, problem: Problem, method: Any, rtol: float, atol: Any, implicit_step: float):
        self.problem, self.method = problem, method
        self.rtol, self.atol, self.implicit_step = rtol, atol, implicit_step
        self.time, self.y = float(problem.span[0]), np.array(problem.y0, dtype=float)
        self.path = Path(problem.initial_history, self.time, end=self.time)
        self.breaks: list[tuple[float, int]] = []  # time, order of the derivative that jumps
        self.passed = [0] * len(problem.delayed_times(self.time, self.y))
        if not problem.smooth_start:
            self.add_break(1)
            delayed = problem.delayed_times(self.time, self.y)
            self.passed = [int(s >= self.time) for s in delayed]
        signs = np.asarray(problem.guards(self.time, self.y, self.path), dtype=float)
        self.above = signs >= 0
        self.active = [0] * len(problem.bounds)  # -1 at the lower bound, 1 at the upper
        self.hold_where_needed()

    def free_slope(self, time: float, y: Vector) -> Vector:
        return np.asarray(self.problem.rhs(time, y, self.path, self.above), dtype=float)

    def slope(self, time: float, y: Vector) -> Vector:
        slope = self.free_slope(time, y)
        for (component, _, _), active in zip(self.problem.bounds, self.active, strict=True):
            if active:
                slope[component] = 0.0
        return slope

    def hold_where_needed(self) -> None:
        slope = self.free_slope(self.time, self.y)
        for clamp, (component, lower, upper) in enumerate(self.problem.bounds):
            if lower is not None and self.y[component] <= lower and slope[component] < 0:
                self.hold(clamp, -1)
            if upper is not None and self.y[component] >= upper and slope[component] > 0:
                self.hold(clamp, 1)

    def hold(self, clamp: int, side: int) -> None:
        component, lower, upper = self.problem.bounds[clamp]
        self.active[clamp] = side
        bound = lower if side < 0 else upper
        if side and bound is not None:
            self.y[component] = bound

    def add_break(self, order: int) -> None:
        """A breaking point here, unless its order is too high or another one is here."""
        near = SAME_TIME * max(1.0, abs(self.time))
        if order > HIGHEST_ORDER:
            return
        if self.breaks and self.time - self.breaks[-1][0] <= near:
            self.breaks[-1] = (self.breaks[-1][0], min(order, self.breaks[-1][1]))
            return
        insort(self.breaks, (self.time, order))

    def indicators(self) -> Iterator[Indicator]:
        yield from self.switch_indicators()
        yield from self.clamp_indicators()
        for lag, passed in enumerate(self.passed):
            if passed < len(self.breaks):
                yield self.break_indicator(lag, passed, 1)
            if passed > 0:
                yield self.break_indicator(lag, passed - 1, -1)

    def switch_indicators(self) -> Iterator[Indicator]:
        for index, above in enumerate(self.above):
            sign = 1.0 if above else -1.0

            def value(time: float, y: Vector, index: int = index, sign: float = sign) -> float:
                return sign * float(self.problem.guards(time, y, self.path)[index])

            def cross(time: float, y: Vector, index: int = index) -> None:
                self.above[index] = not self.above[index]
                self.add_break(1)
                self.path.events.append(time)

            yield Indicator(value, cross)

    def clamp_indicators(self) -> Iterator[Indicator]:
        for clamp, (component, lower, upper) in enumerate(self.problem.bounds):
            for side, bound in ((-1, lower), (1, upper)):
                if bound is None or self.active[clamp] == -side:
                    continue
                active = self.active[clamp] == side

                def value(time: float, y: Vector, at: Any = (component, side, bound, active)):
                    component, side, bound, active = at
                    if active:
                        return side * self.free_slope(time, y)[component]
                    return side * (bound - y[component])

                def cross(time: float, y: Vector, to: Any = (clamp, 0 if active else side)):
                    self.hold(*to)
                    self.add_break(1)
                    self.path.events.append(time)

                yield Indicator(value, cross)

    def break_indicator(self, lag: int, index: int, sign: int) -> Indicator:
        place, order = self.breaks[index]

        def value(time: float, y: Vector) -> float:
            return sign * (place - self.problem.delayed_times(time, y)[lag])

        def cross(time: float, y: Vector) -> None:
            self.passed[lag] += sign
            self.add_break(order + 1)

        return Indicator(value, cross)

    def attempt(self, step: float) -> tuple[float, Vector, Any, float]:
        """End, state, dense output and next step; repeated where the past is the step itself."""
        self.path.guess, before = None, None
        for _ in range(50):
            self.path.guessed = False
            self.path.attempts += 1
            bound = self.time + step
            solver = self.method(
                self.slope,
                self.time,
                self.y,
                bound,
                first_step=bound - self.time,
                max_step=bound - self.time,
                rtol=self.rtol,
                atol=self.atol,
            )
            message = solver.step()
            if solver.status == "failed":
                raise ArithmeticError(f"at t = {self.time}: {message}")
            dense = solver.dense_output()
            here = (solver.t, solver.y.copy())
            converged = before is not None and before[0] == here[0]
            if not self.path.guessed or (
                converged and np.allclose(before[1], here[1], rtol=4e-16, atol=1e-15)
            ):
                return *here, dense, solver.h_abs
            self.path.guess, before, step = dense, here, solver.t - self.time
        return *here, dense, solver.h_abs / 2

    def first_crossing(self, end: float, dense: Any) -> tuple[float, Indicator | None]:
        """The first root of an indicator before the end, and whose it is."""
        first, who = end, None
        for indicator in self.indicators():
            before, value = self.time, indicator.value(self.time, self.y)
            for sample in range(1, SAMPLES + 1):
                time = self.time + (end - self.time) * sample / SAMPLES
                after = indicator.value(time, dense(time))
                if after < 0 <= value:
                    root = brentq(
                        lambda s, x=indicator: x.value(s, dense(s)),
                        before,
                        time,
                        xtol=1e-15,
                        rtol=1e-15,
                    )
                    if root < first or who is None:
                        first, who = root, indicator
                    break
                if after < 0 and sample == SAMPLES:  # rounding put it on the wrong side before
                    first, who = self.time, indicator
                before, value = time, after
        return first, who

    def advance(self, step: float) -> float:
        """Take one step, which ends where the first indicator crosses; the next step's length."""
        near = SAME_TIME * max(1.0, abs(self.time))
        end, y, dense, following = self.attempt(step)
        target = None
        for _ in range(20):
            root, who = self.first_crossing(end, dense)
            if who is None:
                break
            target = who
            if root >= end - near:
                break
            if root <= self.time + near:
                who.cross(self.time, self.y)
                self.path.guess = None
                return step
            end, y, dense, _ = self.attempt(root - self.time)
        self.path.append(self.time, end, dense)
        begin, self.time, self.y = self.time, end, np.array(y)
        if target is not None and self.landed(target, begin, dense, near):
            target.cross(self.time, self.y)
        return following

    def landed(self, target: Indicator, begin: float, dense: Any, near: float) -> bool:
        """Whether the indicator crosses here, to the precision of the time."""
        back = 0.01 * (self.time - begin)
        value = target.value(self.time, self.y)
        slope = (target.value(self.time - back, dense(self.time - back)) - value) / max(back, near)
        return value <= 10 * near * abs(slope)

    def shortest_lag(self) -> float:
        delayed = self.problem.delayed_times(self.time, self.y)
        return min((self.time - s for s in delayed), default=np.inf)


def reference(
    problem: Problem,
    *,
    method: Any = DOP853,
    rtol: float = 1e-12,
    atol: Any = 1e-13,
    max_step: float | None = None,
    implicit_step: float = 0.05,
) -> Path:
    """The solution from the start to the end of the problem's span, as a function of time.

    Steps stay below the shortest lag (or `implicit_step` where that is longer) and below `max_step`
    (a 200th of the span where it is not given). A component on a bound does not move, but a long
    step could pass its release and its return to the bound unseen. The dense output is of order 7
    and not controlled, so short steps also serve the past.
    """
    stepper = Stepper(problem, method, rtol, atol, implicit_step)
    start, end = map(float, problem.span)
    max_step = (end - start) / 200 if max_step is None else max_step
    step = min(max_step, 1e-3)
    stuck = 0
    while stepper.time < end * (1 - 1e-15):
        before = stepper.time
        longest = max(0.95 * stepper.shortest_lag(), implicit_step)
        step = stepper.advance(min(step, max_step, longest, end - stepper.time))
        stuck = stuck + 1 if stepper.time == before else 0
        if stuck > 20:
            raise ArithmeticError(f"it switches for ever at t = {stepper.time}")
    return stepper.path

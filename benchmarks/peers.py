"""Minimisers of other libraries, and the evaluations and CPU seconds that a search takes."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy import optimize

__all__ = ["PEERS", "SEED", "Enough", "Judged", "Spent", "Trace", "optuna_is_there", "spent_by"]

SEED = 1
Vector = np.ndarray
Bounds = list[tuple[float, float]]


class Enough(Exception):
    """Raised inside a search to end it."""


class Judged(NamedTuple):
    """Result of an evaluation of the objective.

    Args:
        loss: what is minimised.
        good: whether the point will do.
        allowed: whether it breaks nothing.
    """

    loss: float
    good: bool
    allowed: bool = True


@dataclass
class Trace:
    """A function to be minimised that keeps its own accounts.

    Args:
        judge: the function, of one vector.
        most: evaluations after which a search is ended.
        until_good: whether a search is ended at the first point that will do.
    """

    judge: Callable[[Vector], Judged]
    most: int = sys.maxsize
    until_good: bool = False
    judged: list[Judged] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.process_time)

    def __call__(self, x: Vector) -> float:
        """The loss.

        Raises:
            Enough: where the search is to end.
        """
        judged = self.judge(np.atleast_1d(np.asarray(x, float)))
        self.note(judged)
        return judged.loss

    def note(self, judged: Judged) -> None:
        """Enter an evaluation that was made elsewhere.

        Raises:
            Enough: where the search is to end.
        """
        self.judged.append(judged)
        self.seconds.append(time.process_time() - self.begin)
        if len(self.judged) >= self.most or (self.until_good and judged.good):
            raise Enough

    def restart(self) -> None:
        """Forget what was, and begin to count."""
        self.judged.clear()
        self.seconds.clear()
        self.begin = time.process_time()

    @property
    def first_good(self) -> int | None:
        """The number of the first evaluation that will do, from 0."""
        return next((n for n, judged in enumerate(self.judged) if judged.good), None)


class Spent(NamedTuple):
    """What a search took; nan where it never was at a point that will do.

    Args:
        evaluations: up to the first point that will do.
        cpu_s: up to there.
        all_evaluations: until the search ended.
        all_cpu_s: until it ended.
        least: the smallest loss that is allowed.
        ended: whether it ended by a rule of its own.
    """

    evaluations: float
    cpu_s: float
    all_evaluations: int
    all_cpu_s: float
    least: float
    ended: bool

    @property
    def reached(self) -> bool:
        """Whether it was at a point that will do."""
        return not math.isnan(self.evaluations)


class Peer(Protocol):
    """A search: what it minimises, bounds, and where to begin."""

    def __call__(self, trace: Trace, bounds: Bounds, start: Vector) -> object:
        """Search until it ends, or `Enough` is raised."""


def spent_by(search: Callable[[Trace], object], trace: Trace) -> Spent:
    """What a search takes."""
    trace.restart()
    ended = True
    try:
        search(trace)
    except Enough:
        ended = False
    total, first = time.process_time() - trace.begin, trace.first_good
    reached = (math.nan, math.nan) if first is None else (first + 1, trace.seconds[first])
    least = min((judged.loss for judged in trace.judged if judged.allowed), default=math.nan)
    return Spent(*reached, len(trace.judged), total, least, ended)


def nelder_mead(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """SciPy's, with its own tolerances and its own first simplex."""
    return optimize.minimize(trace, start, method="Nelder-Mead", bounds=bounds)


def differential_evolution(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """SciPy's, as it is given; it begins all over the bounds."""
    return optimize.differential_evolution(trace, bounds, rng=SEED)


def tpe(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """Optuna's tree-structured Parzen estimator, which begins with `start`."""
    import optuna  # pyright: ignore[reportMissingImports]

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    names = [f"x{n}" for n in range(len(bounds))]
    study.enqueue_trial(dict(zip(names, map(float, start), strict=True)))

    def loss(trial: optuna.Trial) -> float:
        pairs = zip(names, bounds, strict=True)
        return trace(np.array([trial.suggest_float(name, *ends) for name, ends in pairs]))

    return study.optimize(loss, n_trials=trace.most)


PEERS: dict[str, Peer] = {
    "nelder_mead": nelder_mead,
    "differential_evolution": differential_evolution,
    "tpe": tpe,
}


def optuna_is_there() -> bool:
    """Whether Optuna can be imported; says on standard error how to have it, if not."""
    try:
        import optuna  # noqa: F401 # pyright: ignore[reportMissingImports]
    except ImportError:
        print("without Optuna's TPE (dependency group benchmarks)", file=sys.stderr, flush=True)
        return False
    return True

"""Minimisers of other libraries, with the evaluations and CPU seconds that they need."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy import optimize

__all__ = ["PEERS", "SEED", "Enough", "Score", "Spent", "Trace", "optuna_is_there", "spent_by"]

SEED = 1
"""Seed of the random minimisers."""
Vector = np.ndarray
"""Parameters; (parameter,)."""
Bounds = list[tuple[float, float]]
"""Lower and upper bound of each parameter."""


class Enough(Exception):
    """Raised by the objective to end a minimiser."""


class Score(NamedTuple):
    """Result of an evaluation of the objective.

    Args:
        loss: value to be minimised.
        good: whether the point reaches the goal.
        allowed: whether the point satisfies all constraints.
    """

    loss: float
    good: bool
    allowed: bool = True


@dataclass
class Trace:
    """An objective that records its evaluations and CPU seconds.

    Args:
        evaluate: objective of a vector of parameters.
        most: number of evaluations that ends the search.
        until_good: whether the first point that reaches the goal ends the search.
        scores: results so far.
        seconds: CPU seconds from the start to each result.
        begin: process time at the start, s.
    """

    evaluate: Callable[[Vector], Score]
    most: int = sys.maxsize
    until_good: bool = False
    scores: list[Score] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.process_time)

    def __call__(self, x: Vector) -> float:
        """Evaluate the objective, record the result and return the loss.

        Raises:
            Enough: if the search is to end.
        """
        score = self.evaluate(np.atleast_1d(np.asarray(x, float)))
        self.note(score)
        return score.loss

    def note(self, score: Score) -> None:
        """Record the result of an evaluation.

        Raises:
            Enough: if the search is to end.
        """
        self.scores.append(score)
        self.seconds.append(time.process_time() - self.begin)
        if len(self.scores) >= self.most or (self.until_good and score.good):
            raise Enough

    def restart(self) -> None:
        """Delete all results and start counting."""
        self.scores.clear()
        self.seconds.clear()
        self.begin = time.process_time()

    @property
    def first_good(self) -> int | None:
        """Index of the first evaluation that reaches the goal, or None."""
        return next((n for n, score in enumerate(self.scores) if score.good), None)


class Spent(NamedTuple):
    """Effort of a search; NaN where no point reached the goal.

    Args:
        evaluations: number of evaluations up to the first point that reaches the goal.
        cpu_s: CPU seconds up to there.
        all_evaluations: number of evaluations until the search ended.
        all_cpu_s: CPU seconds until it ended.
        least: smallest loss of an allowed point.
        ended: whether it ended by its own criterion.
    """

    evaluations: float
    cpu_s: float
    all_evaluations: int
    all_cpu_s: float
    least: float
    ended: bool

    @property
    def reached(self) -> bool:
        """Whether a point reached the goal."""
        return not math.isnan(self.evaluations)


class Peer(Protocol):
    """A minimiser of an objective within bounds from an initial guess."""

    def __call__(self, trace: Trace, bounds: Bounds, start: Vector) -> object:
        """Minimise until the method ends, or `Enough` is raised."""


def spent_by(search: Callable[[Trace], object], trace: Trace) -> Spent:
    """Run a search and return its effort."""
    trace.restart()
    ended = True
    try:
        search(trace)
    except Enough:
        ended = False
    total, first = time.process_time() - trace.begin, trace.first_good
    effort = (math.nan, math.nan) if first is None else (first + 1, trace.seconds[first])
    least = min((score.loss for score in trace.scores if score.allowed), default=math.nan)
    return Spent(*effort, len(trace.scores), total, least, ended)


def nelder_mead(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """Run SciPy's Nelder-Mead with default tolerances and simplex."""
    return optimize.minimize(trace, start, method="Nelder-Mead", bounds=bounds)


def differential_evolution(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """Run SciPy's differential evolution with default options; it ignores `start`."""
    return optimize.differential_evolution(trace, bounds, rng=SEED)


def tpe(trace: Trace, bounds: Bounds, start: Vector) -> object:
    """Run Optuna's tree-structured Parzen estimator, with `start` as first trial."""
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
"""Minimisers by name."""


def optuna_is_there() -> bool:
    """Return whether Optuna can be imported; if not, say on standard error what to install."""
    try:
        import optuna  # noqa: F401 # pyright: ignore[reportMissingImports]
    except ImportError:
        print("without Optuna's TPE (dependency group benchmarks)", file=sys.stderr, flush=True)
        return False
    return True

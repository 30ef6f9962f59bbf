"""How long and how often each setting is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypedDict

from vegasfluid.errors import InvalidInput
from vegasfluid.run_options import check_times

__all__ = ["DEFAULT_RUNS", "CheckedSettings", "Report", "RunSettings", "checked"]

DEFAULT_UNTIL, DEFAULT_RUNS = 200.0, 10
Report = Callable[[str], None]


class RunSettings(TypedDict, total=False):
    """What `recommend` and its kin take as further keywords, each with a default.

    Args:
        until: simulated time of each run, s; 200.
        warmup: time that means leave out, s; a quarter of the run where it is None.
        runs: packet runs with seeds of their own at each setting, at least 2; 10. More are made
            where they tell too little.
        seed: the first of these seeds; 1.
        report: called with a line about each step.
    """

    until: float
    warmup: float | None
    runs: int
    seed: int
    report: Report


class CheckedSettings(NamedTuple):
    """A trial with nothing left open.

    Args:
        until: simulated time, s.
        warmup: time that means leave out, s.
        seeds: of the packet runs.
        report: called with a line about each step.
    """

    until: float
    warmup: float
    seeds: tuple[int, ...]
    report: Report


def checked(trial: RunSettings, whose: str = "recommend") -> CheckedSettings:
    """The trial with its defaults; `whose` it is, a refusal says.

    Raises:
        InvalidInput: for times that make no sense, or too few runs.

    >>> checked(RunSettings(until=100.0, runs=3, seed=5))[:3]
    (100.0, 25.0, (5, 6, 7))
    """
    until, runs = trial.get("until", DEFAULT_UNTIL), trial.get("runs", DEFAULT_RUNS)
    if runs < 2:
        raise InvalidInput(whose, "runs", "at least 2, for a confidence interval", runs)
    warmup = check_times(until, trial.get("warmup"), samples=2)
    seed = trial.get("seed", 1)
    return CheckedSettings(
        until, warmup, tuple(range(seed, seed + runs)), trial.get("report", silent)
    )


def silent(message: str) -> None:
    """Report nothing."""

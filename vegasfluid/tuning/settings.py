"""Settings of the runs behind a recommendation: duration, warm-up, seeds, progress report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypedDict

from vegasfluid.errors import InvalidInput
from vegasfluid.run_options import check_times

__all__ = ["DEFAULT_RUNS", "Report", "ResolvedSettings", "RunSettings", "resolve_settings"]

DEFAULT_UNTIL = 200.0
"""Default simulated time of a run, s."""
DEFAULT_RUNS = 10
"""Default number of packet runs at each setting."""
Report = Callable[[str], None]
"""Called with one line about each step."""


class RunSettings(TypedDict, total=False):
    """Keyword arguments for the runs at each setting; all have defaults.

    Args:
        until: simulated time of each run, s; 200 by default.
        warmup: initial time that means leave out, s; None: a quarter of the run.
        runs: packet runs at each setting, each with another seed, at least 2; 10 by default. More
            are made where the confidence interval is too wide.
        seed: the first of these seeds; 1 by default.
        report: called with a line of text about each step.
    """

    until: float
    warmup: float | None
    runs: int
    seed: int
    report: Report


class ResolvedSettings(NamedTuple):
    """Run settings with all defaults filled in.

    Args:
        until: simulated time, s.
        warmup: initial time that means leave out, s.
        seeds: of the packet runs.
        report: called with a line about each step.
    """

    until: float
    warmup: float
    seeds: tuple[int, ...]
    report: Report


def resolve_settings(settings: RunSettings, command: str = "recommend") -> ResolvedSettings:
    """Validate run settings and fill in their defaults.

    Args:
        settings: times in s, number of runs, first seed and report, where they were given.
        command: named in error messages.

    Returns:
        Simulated time and warm-up (s), one seed for each packet run, and the report function.

    Raises:
        InvalidInput: for inconsistent times, or fewer than two runs.

    >>> resolve_settings(RunSettings(until=100.0, runs=3, seed=5))[:3]
    (100.0, 25.0, (5, 6, 7))
    """
    until, runs = settings.get("until", DEFAULT_UNTIL), settings.get("runs", DEFAULT_RUNS)
    if runs < 2:
        raise InvalidInput(command, "runs", "at least 2, for a confidence interval", runs)
    warmup = check_times(until, settings.get("warmup"), samples=2)
    seed = settings.get("seed", 1)
    seeds = tuple(range(seed, seed + runs))
    return ResolvedSettings(until, warmup, seeds, settings.get("report", _ignore))


def _ignore(message: str) -> None:
    """The default progress report: does nothing with the message."""

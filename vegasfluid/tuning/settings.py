"""Settings of the runs behind a recommendation: duration, warm-up, seeds, progress report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from vegasfluid.errors import InvalidInput
from vegasfluid.run_options import check_times

__all__ = ["DEFAULT_RUNS", "Report", "ResolvedSettings", "RunSettings", "Step"]
__all__ += ["resolve_settings"]

DEFAULT_UNTIL = 200.0
"""Default simulated time of a run, s."""
DEFAULT_RUNS = 10
"""Default number of packet runs at each setting."""
Report = Callable[[str], None]
"""Called with one line about each step."""


class Step(str):
    """A line of progress about one setting that was evaluated, with its numbers.

    Args:
        engine: `fluid` or `packets`.
        alpha: packets.
        beta: packets.
        ratio: goodput of a tuned flow over that of another flow.
        more: text that follows in parentheses, such as the number of runs; empty: none.

    >>> Step("packets", 20.0, 22.0, 0.98765, "10 runs")
    'packets: alpha 20, beta 22, ratio 0.9877 (10 runs)'
    """

    def __new__(cls, engine: str, alpha: Any, beta: Any, ratio: float, more: str = "") -> Step:
        """Format the line; the arguments are those of the class."""
        alpha, beta = float(alpha), float(beta)
        text = f"{engine}: alpha {alpha:.4g}, beta {beta:.4g}, ratio {ratio:.4g}"
        step = super().__new__(cls, f"{text} ({more})" if more else text)
        step.engine, step.alpha, step.beta, step.ratio = engine, alpha, beta, ratio
        return step

    engine: str
    alpha: float
    beta: float
    ratio: float


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
        TypeError: for a keyword that is no run setting.

    >>> resolve_settings(RunSettings(until=100.0, runs=3, seed=5))[:3]
    (100.0, 25.0, (5, 6, 7))
    """
    for name in settings:
        if name not in RunSettings.__annotations__:
            known = ", ".join(RunSettings.__annotations__)
            raise TypeError(f"{command} has no argument {name!r}; run settings are {known}")
    until, runs = settings.get("until", DEFAULT_UNTIL), settings.get("runs", DEFAULT_RUNS)
    if runs < 2:
        raise InvalidInput(command, "runs", "at least 2, for a confidence interval", runs)
    warmup = check_times(until, settings.get("warmup"), samples=2)
    seed = settings.get("seed", 1)
    seeds = tuple(range(seed, seed + runs))
    return ResolvedSettings(until, warmup, seeds, settings.get("report", _ignore))


def _ignore(message: str) -> None:
    """The default progress report: does nothing with the message."""

"""Times of a run, and their checks, common to both simulators."""

from __future__ import annotations

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.limits import CLOCK, LATEST
from vegasfluid.quantities import NO_NUMBERS

__all__ = ["DEFAULT_SAMPLES", "check_times", "sample_times"]

DEFAULT_SAMPLES = 401
"""Default number of sample times of a run."""

MOST_SAMPLES = 10_000_000
"""Largest number of sample times of a run (chosen: 80 MB for each variable of a class)."""


def check_times(until: float, warmup: float | None, samples: int) -> float:
    """Check the times of a run, and return its warm-up, s.

    Args:
        until: simulated time, s.
        warmup: time at the start that the metrics exclude, s; None: a quarter of `until`.
        samples: number of sample times.

    Returns:
        `warmup`, or its default, s.

    Raises:
        InvalidInput: for an end that is not above 0 or is above 1e6 s, a number of samples that is
            not whole or not from 2 to 1e7, a warm-up that is negative or not below the end, or a
            value that is no number.

    >>> check_times(60.0, None, 401)
    15.0
    """
    warmup = until / 4 if warmup is None and not isinstance(until, NO_NUMBERS) else warmup
    for name, given in {"until": until, "warmup": warmup, "samples": samples}.items():
        if isinstance(given, NO_NUMBERS):
            raise InvalidInput("simulate", name, "a number", given)
    if not 0 < until < float("inf"):
        raise InvalidInput("simulate", "until", "above 0 and finite", until)
    if until > LATEST:
        raise InvalidInput("simulate", "until", f"at most {LATEST:g} ({CLOCK})", until)
    if samples < 2:
        raise InvalidInput("simulate", "samples", "at least 2", samples)
    if samples > MOST_SAMPLES or samples != int(samples):
        allowed = f"a whole number, at most {MOST_SAMPLES}"
        raise InvalidInput("simulate", "samples", allowed, samples)
    assert warmup is not None
    if not 0 <= warmup < until:
        raise InvalidInput("simulate", "warmup", f"at least 0 and below {until:g}", warmup)
    return warmup


def sample_times(until: float, warmup: float | None, samples: int) -> np.ndarray:
    """Sample times of a run, s: evenly spaced, and the end of the warm-up; (time,).

    Args:
        until: simulated time, s.
        warmup: end of the warm-up, s, which is added unless an evenly spaced time is equal to it
            within 1e-9 of `until`; None: nothing is added.
        samples: number of evenly spaced times, from 0 to `until`.

    >>> sample_times(4.0, 1.0, 3).tolist()
    [0.0, 1.0, 2.0, 4.0]
    """
    times = np.linspace(0.0, until, samples)
    if warmup is None or np.min(np.abs(times - warmup)) < 1e-9 * until:
        return times
    return np.sort(np.append(times, warmup))

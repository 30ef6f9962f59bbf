"""Compass search: a minimum of a measured function without derivatives, on settable values.

From the best point so far the search looks one step up and down in each coordinate, and in each
pair of them (along the bound of a constraint no coordinate alone leads on), moves to the best of
these points, and halves the step where none is better. It needs neither smooth nor continuous
functions, so thresholds in whole packets and constraints are no obstacle.

Sources:
    T. Kolda, R. Lewis and V. Torczon, "Optimization by direct search: new perspectives on some
    classical and modern methods", SIAM Review 45(3), 2003 (abstract read). A point within all
    constraints counts as better than any other: K. Deb, "An efficient constraint handling method
    for genetic algorithms", Comput. Methods Appl. Mech. Eng. 186, 2000 (abstract read).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["Merit", "compass_search"]

Merit = tuple[float, float]
"""How bad a setting is: (violation of constraints, loss), compared in this order; no units. Smaller
is better."""
Values = tuple[float, ...]
"""Values of all parameters, each in the parameter's unit."""


def compass_search(
    evaluate: Callable[[Values], Merit],
    settable: Callable[[np.ndarray], Values],
    start: Values,
    bounds: list[tuple[float, float]],
    *,
    first_step: float,
    last_step: float,
    max_evaluations: int,
) -> Values:
    """Find the settable values with the least merit near a start.

    Args:
        evaluate: returns the merit of values; called once for each setting.
        settable: maps natural logarithms, (parameters,), to the nearest values that systems accept.
        start: values at which the search begins, evaluated as they are.
        bounds: smallest and largest logarithm of each parameter.
        first_step: first step, in logarithms.
        last_step: the search ends where the step has been halved to less than this, in logarithms.
        max_evaluations: largest number of settings that are evaluated, with the start.

    Returns:
        The evaluated values with the least merit; the start if no others are better.

    >>> values = compass_search(
    ...     lambda x: (max(7.3 - x[0], 0.0), x[0]),
    ...     lambda logs: tuple(map(float, np.exp(logs).round())),
    ...     (40.0,), [(0.0, 5.0)], first_step=0.5, last_step=0.02, max_evaluations=50
    ... )
    >>> values
    (8.0,)
    """
    low, high = np.array(bounds, float).T
    known = {start: evaluate(start)}
    best, step = start, first_step
    while step >= last_step and len(known) < max_evaluations:
        logs = [np.log(best) + step * direction for direction in directions(len(start))]
        around = [settable(np.clip(one, low, high)) for one in logs]
        for values in around:
            if values not in known and len(known) < max_evaluations:
                known[values] = evaluate(values)
        seen = [values for values in around if values in known]
        there = min(seen, key=known.__getitem__, default=best)
        if known[there] < known[best]:
            best = there
        else:
            step /= 2
    return best


def directions(size: int) -> list[np.ndarray]:
    """Steps of 1 up and down in each coordinate, then in each pair of coordinates; (size,) each.

    >>> len(directions(1)), len(directions(2)), len(directions(3))
    (2, 8, 18)
    """
    units = np.eye(size)
    single = [sign * unit for unit in units for sign in (-1, 1)]
    pairs = [
        one * units[first] + other * units[second]
        for first in range(size)
        for second in range(first)
        for one in (-1, 1)
        for other in (-1, 1)
    ]
    return single + pairs

"""JiTCDDE on further equations of `benchmarks.dde`, written as `jitcdde_peer` writes A, C and D.

Kinks are `Max`, which SymEngine prints as C, as in `jitcdde_peer`. An initial history that is a
function is given as cubic Hermite anchors, close enough that their error does not matter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import symengine
from jitcdde import anchors, past_y, t, y

from benchmarks.dde.peers.jitcdde_peer import Compiled, Form, Problem, Settings, symbols

__all__ = ["PROBLEMS", "CompiledSystem", "compile_system", "start_of"]

SPACING = 1e-2
"""Distance of the anchors of a past that is a function; with sin t their error is 3e-11."""


def kermack_and_mckendrick(form: Form) -> Problem:
    """Two constant lags, 1 and 10."""
    caught, waned = symbols("caught waned")
    helpers = [(caught, y(0) * y(1, t - 1)), (waned, y(1, t - 10))]
    equations = [waned - caught, caught - y(1), y(1) - waned]
    return Problem(equations, helpers, [5.0, 0.1, 1.0], np.ones(3), None, 10.0)


def lag_by_state(form: Form) -> Problem:
    """The lag 1 + y^2 / 2, solved by sin t."""
    (late,) = symbols("late")
    forcing = symengine.cos(t) + symengine.sin(t - 1 - symengine.sin(t) ** 2 / 2) / 2
    helpers = [(late, y(0, t - 1 - y(0) ** 2 / 2))]
    return Problem([forcing - late / 2], helpers, [0.0], np.ones(1), None, 2.0)


def size(value: Any) -> Any:
    """|value|."""
    return symengine.Max(value, -value)


def ddetst_c2(form: Form) -> Problem:
    """The lag is the second component; |y| has kinks."""
    anchor, late, late_size = symbols("anchor late late_size")
    helpers = [
        (anchor, anchors(t - y(1))),
        (late, past_y(t - y(1), 0, anchor)),
        (late_size, size(late)),
    ]
    equations = [-2 * late, (late_size - size(y(0))) / (1 + late_size)]
    return Problem(equations, helpers, [1.0, 0.5], np.ones(2), None, 1.0)


PROBLEMS = {
    "Kermack and McKendrick": kermack_and_mckendrick,
    "lag by state, smooth": lag_by_state,
    "DDETST C2": ddetst_c2,
}
"""Functions that write a system, by its name."""
SINES = ("lag by state, smooth",)
"""Systems whose initial history is sin t."""


class CompiledSystem(Compiled):
    """A system of `PROBLEMS` compiled by JiTCDDE."""

    def _prepare(self, settings: Settings) -> None:
        """Set the initial history and the settings."""
        super()._prepare(settings)
        if self.name in SINES:
            self.solver.purge_past()
            back = math.ceil(self.problem.longest_delay / SPACING)
            for time in SPACING * np.arange(-back, 1):
                self.solver.add_past_point(time, [math.sin(time)], [math.cos(time)])
            self.solver.initial_discontinuities_handled = True


def compile_system(name: str) -> CompiledSystem:
    """Return a system of `PROBLEMS`, compiled."""
    return CompiledSystem(name, Form(), PROBLEMS[name])


def start_of(name: str) -> Any:
    """Return how a run of a system starts: from a past with the right slope, or from another."""
    return "smooth" if name in SINES else "adjust"

"""Gain margin and delay margin of a network, from Nyquist loci of its feedback loop.

With gain k a root lies at i omega if k L(i omega) has the eigenvalue 1, where L is the return ratio
(the feedback counts as positive, so the critical point is +1). The gain margin is the smallest such
k; a network that is stable without feedback is stable if it is above 1. At omega the oscillation
starts (Hopf frequency). The delay margin is the smallest additional delay t of the feedback for
which exp(-i omega t) L(i omega) has the eigenvalue 1.

Sources:
    H. Nyquist, Bell System Technical Journal 11, 1932 (as in textbooks on control).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment, root_scalar

from vegasfluid.analysis.linear_stability.linearisation import FeedbackLoop

__all__ = ["Crossing", "NyquistLoci", "delay_margin", "gain_margin", "nyquist_loci"]

LOWEST, HIGHEST = 1e-4, 1e3
"""Range of frequencies that is searched for crossings, in units of 1 / (longest delay)."""
POINTS = 3000
"""Frequencies in that range: crossings are bracketed on this grid and then refined."""
NEGLIGIBLE = 1e-9
"""An eigenvalue of the return ratio below this is rounding, and no crossing."""
REFINED_CROSSINGS = 12
"""Bound on the crossings that are refined, those with the strongest feedback first."""


class Crossing(NamedTuple):
    """A gain or a delay that puts a root on the imaginary axis.

    Args:
        margin: the gain, or the additional delay in s.
        frequency: frequency of the oscillation that starts there, rad/s.
    """

    margin: float
    frequency: float


class NyquistLoci(NamedTuple):
    """Eigenvalues of a loop's return ratio along the imaginary axis.

    Args:
        loop: the feedback loop.
        frequencies: rad/s; (points,).
        curves: each eigenvalue as one continuous curve, complex; (points, curves).
    """

    loop: FeedbackLoop
    frequencies: np.ndarray
    curves: np.ndarray


def nyquist_loci(loop: FeedbackLoop) -> NyquistLoci:
    """The eigenvalues of a loop's return ratio along the imaginary axis, each as one curve.

    Args:
        loop: the feedback loop.

    Returns:
        3000 frequencies (rad/s), spaced logarithmically from 1e-4 to 1e3 over the longest delay
        (s), and the complex eigenvalues, dimensionless, at each; (points, curves).
    """
    frequencies = np.geomspace(LOWEST, HIGHEST, POINTS) / (loop.closed_loop.longest_delay or 1.0)
    parts = loop.closed_loop.parts(1j * frequencies)
    values = np.concatenate([np.linalg.eigvals(loop.return_ratio(part)) for part in parts])
    for number in range(1, len(values) if values.shape[1] > 1 else 0):
        cost = np.abs(values[number] - values[number - 1][:, None])
        values[number] = values[number][linear_sum_assignment(cost)[1]]
    return NyquistLoci(loop, frequencies, values)


def gain_margin(loci: NyquistLoci) -> Crossing | None:
    """The smallest gain of the queues' feedback with a root on the imaginary axis.

    Args:
        loci: the eigenvalues of the loop's return ratio along the imaginary axis.

    Returns:
        The gain, above 0 and dimensionless (1 is the network as it is), and the frequency of the
        oscillation that starts there, rad/s; None if the searched frequencies have no such gain.
    """
    real = crossings(loci, np.imag, lambda value: value.real)
    return min((Crossing(1 / value.real, omega) for omega, value in real), default=None)


def delay_margin(loci: NyquistLoci) -> Crossing | None:
    """The smallest additional delay of the feedback at which a stable network oscillates.

    Args:
        loci: the eigenvalues of the loop's return ratio along the imaginary axis.

    Returns:
        The delay, s, and the frequency of the oscillation, rad/s; None if no delay makes it
        oscillate at one of the searched frequencies.
    """
    unit = crossings(loci, lambda value: np.abs(value) - 1, np.abs)
    phases = ((np.angle(value) % (2 * np.pi), omega) for omega, value in unit)
    return min((Crossing(float(phase / omega), omega) for phase, omega in phases), default=None)


def crossings(
    loci: NyquistLoci, function: Callable[[Any], Any], strength: Callable[[Any], Any]
) -> list[tuple[float, complex]]:
    """Frequencies at which a function of a return ratio's eigenvalue is zero, and the eigenvalues.

    Args:
        loci: the eigenvalues of the return ratio along the imaginary axis.
        function: real, of one complex number or of an array.
        strength: real, of an eigenvalue; the 12 crossings where it is largest are refined, and
            those where it is at most 1e-9 are left out.

    Returns:
        Pairs of a frequency, rad/s, and a complex eigenvalue; at most 12, the strongest first.
    """
    brackets = []
    for curve in loci.curves.T:
        positive = function(curve) >= 0  # a zero on the grid is one end of one bracket
        for index in np.flatnonzero(positive[:-1] != positive[1:]):
            brackets.append((float(np.max(strength(curve[index : index + 2]))), int(index), curve))
    zeros = []
    for _, index, curve in sorted(brackets, key=lambda bracket: -bracket[0])[:REFINED_CROSSINGS]:
        pair = slice(index, index + 2)
        omega = refine(loci.loop, loci.frequencies[pair], curve[pair], function)
        value = nearest_eigenvalue(loci.loop, omega, complex(curve[index]))
        if strength(value) > NEGLIGIBLE:
            zeros.append((omega, value))
    return zeros


def refine(
    loop: FeedbackLoop, bracket: np.ndarray, values: np.ndarray, function: Callable[[Any], Any]
) -> float:
    """The frequency in a bracket at which a function of an eigenvalue is zero, rad/s.

    Args:
        loop: the feedback loop.
        bracket: two frequencies, rad/s.
        values: the eigenvalue at both.
        function: real, of the eigenvalue, with different signs at both, or 0 at one of them.
    """

    def at(omega: float) -> float:
        """Value of `function` for the followed eigenvalue at a frequency, rad/s."""
        fraction = (omega - bracket[0]) / (bracket[1] - bracket[0])
        guess = values[0] + fraction * (values[1] - values[0])
        return float(function(nearest_eigenvalue(loop, omega, complex(guess))))

    ends = (float(bracket[0]), float(bracket[1]))
    return root_scalar(at, bracket=ends, xtol=1e-14, rtol=1e-13).root


def nearest_eigenvalue(loop: FeedbackLoop, omega: float, value: complex) -> complex:
    """The eigenvalue nearest to `value` of a loop's return ratio at frequency `omega` (rad/s)."""
    eigenvalues = np.linalg.eigvals(loop.return_ratio(1j * omega))
    return complex(eigenvalues[np.argmin(np.abs(eigenvalues - value))])

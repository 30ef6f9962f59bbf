"""How far a network is from instability: in gain, and in delay.

On the imaginary axis the loop's transfer L says with which gain k a root would stand there:
k L(i omega) has the eigenvalue 1. The gain margin is the smallest such k, so the network is stable
if it is above 1 (and comes to rest without signals); the frequency is that of the oscillation that
begins there (Hopf). The delay margin is by how much later the signals may come: the smallest t
with exp(-i omega t) L(i omega) of eigenvalue 1.

Sources:
    H. Nyquist, Bell System Technical Journal 11, 1932 (as textbooks on control tell it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment, root_scalar

from vegasfluid.analysis.linear_stability.linearisation import Loop

__all__ = ["Crossing", "delay_margin", "gain_margin"]

SLOWEST, QUICKEST = 1e-4, 1e3
"""Frequencies that are looked at, in units of one over the longest lag."""
POINTS = 3000
FAINT, STRONGEST = 1e-9, 12
"""What comes back so weak is nothing; and so many crossings are looked at closely."""


class Crossing(NamedTuple):
    """Where a root stands on the imaginary axis.

    Args:
        size: the gain, or the delay in s, that brings it there.
        frequency: of its oscillation, rad/s.
    """

    size: float
    frequency: float


def loci(loop: Loop, frequencies: np.ndarray) -> np.ndarray:
    """The eigenvalues of the transfer along the imaginary axis, each as one curve.

    Returns:
        (frequencies, curves), complex.
    """
    values = np.linalg.eigvals(np.stack([loop.transfer(1j * omega) for omega in frequencies]))
    for number in range(1, len(values)):
        cost = np.abs(values[number] - values[number - 1][:, None])
        values[number] = values[number][linear_sum_assignment(cost)[1]]
    return values


def gain_margin(loop: Loop) -> Crossing | None:
    """The smallest gain of the queues' signals at which the network oscillates.

    Returns:
        None where no gain makes it.
    """
    found = crossings(loop, np.imag, lambda value: value.real)
    return min((Crossing(1 / value.real, omega) for omega, value in found), default=None)


def delay_margin(loop: Loop) -> Crossing | None:
    """By how much later the queues' signals may come before the network oscillates, s.

    Of a network that is stable.

    Returns:
        None where no delay makes it.
    """
    found = crossings(loop, lambda value: np.abs(value) - 1, np.abs)
    turns = ((np.angle(value) % (2 * np.pi), omega) for omega, value in found)
    return min((Crossing(float(turn / omega), omega) for turn, omega in turns), default=None)


def crossings(
    loop: Loop, part: Callable[[Any], Any], strength: Callable[[Any], Any]
) -> list[tuple[float, complex]]:
    """Where a part of an eigenvalue of the transfer is zero: the frequency (rad/s), and its value.

    Args:
        loop: the network.
        part: a real part of a complex number, or of many.
        strength: of such a value; the strongest are wanted, and none below zero.
    """
    frequencies = np.geomspace(SLOWEST, QUICKEST, POINTS) / (loop.closed.longest or 1.0)
    places = []
    for curve in loci(loop, frequencies).T:
        values = part(curve)
        for at in np.flatnonzero(values[:-1] * values[1:] < 0):
            places.append((float(np.max(strength(curve[at : at + 2]))), int(at), curve))
    found = []
    for _, at, curve in sorted(places, key=lambda place: -place[0])[:STRONGEST]:
        omega = refined(loop, frequencies[at : at + 2], curve[at : at + 2], part)
        value = nearest(loop, omega, complex(curve[at]))
        if strength(value) > FAINT:
            found.append((omega, value))
    return found


def refined(
    loop: Loop, between: np.ndarray, values: np.ndarray, part: Callable[[Any], Any]
) -> float:
    """The frequency between two at which a part of an eigenvalue is zero, rad/s."""

    def at(omega: float) -> float:
        share = (omega - between[0]) / (between[1] - between[0])
        guess = values[0] + share * (values[1] - values[0])
        return float(part(nearest(loop, omega, complex(guess))))

    bracket = (float(between[0]), float(between[1]))
    return root_scalar(at, bracket=bracket, xtol=1e-14, rtol=1e-13).root


def nearest(loop: Loop, omega: float, value: complex) -> complex:
    """The eigenvalue of the transfer at a frequency that is nearest to a value."""
    found = np.linalg.eigvals(loop.transfer(1j * omega))
    return complex(found[np.argmin(np.abs(found - value))])

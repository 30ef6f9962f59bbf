"""The time that a congestion control needs to recover its window after one loss.

The window starts where `after_loss` leaves it and follows `growth`, at a constant round-trip time,
until it has its old value. Loss recovery itself, about a round trip, is not counted. The result in
round trips of R seconds, for a window W of which the fraction b is cut:

    Reno            W / 2
    Scalable TCP    ln(1 / (1 - b)) / a, whatever W is (Kelly counts log(1 / (1 - b)) / log(1 + a):
                    the window then grows once a round trip, and here with each ACK)
    CUBIC           cbrt(b W / C) / R on the cubic, sooner in the Reno-friendly region; by the rules
                    after one loss (`epoch_state`), as `growth` is for the mean of many flows;
                    for a loss at no less than the previous window (no fast convergence)
    HighSpeed TCP   the integral of dw / a(w), from (1 - b) W to W
    Vegas           b W, a packet a round trip, with an empty queue

Sources:
    W. Feng and P. Tinnakornsrisuphap, "The failure of TCP in high-performance computational
    grids", SC 2000, section 6: (50 Mb - 25 Mb) / (1500 B x 8 b/B) = 2,084 round trips, 208.4 s at
    100 ms (read). T. Kelly, ACM SIGCOMM CCR 33(2), 2003 (not checked against the original). RFC
    3649, section 6 and appendix C (growth of HighSpeed TCP; compared with its table 6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root_scalar

from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.epochs import AFTER_LOSS, EpochCongestionControl
from vegasfluid.errors import InvalidInput

__all__ = ["Recovery", "growth_time", "recovery_time"]

HORIZON = 1e9
"""Longest recovery that is searched for, round trips."""
RTOL = 1e-11
"""Relative tolerance of the integration."""
ATOL = 1e-13
"""Absolute tolerance of the integration, relative to the target window."""


class Recovery(NamedTuple):
    """The time that a window needs to reach a value.

    Args:
        seconds: in seconds.
        round_trips: in round trips.
    """

    seconds: float
    round_trips: float


def seen_at(cwnd: Any, rtt: float) -> Signals:
    """The signals of a sender after slow start without losses: ACKs at rate W / R."""
    return Signals(rtt, cwnd / rtt, 0.0, initial_ssthresh=0.0)


def growth_time(law: CongestionControl, state: Any, cwnd: float, rtt: float) -> Recovery:
    """The time to grow from a state to a window, at a constant round-trip time.

    Args:
        law: the congestion control.
        state: the initial state, after slow start; its window is below `cwnd`.
        cwnd: the window to reach, packets.
        rtt: round-trip time, s.

    Raises:
        InvalidInput: for a window that is not above that of the state or is never reached, or a
            round-trip time that is not above 0.

    >>> from vegasfluid.congestion.base import Window
    >>> from vegasfluid.congestion.reno import Reno
    >>> f"{growth_time(Reno(), Window(10.0, 0.0), 30.0, 0.1).round_trips:.6f}"
    '20.000000'
    """
    if not rtt > 0:
        raise InvalidInput("growth_time", "rtt", "above 0", rtt)
    if not cwnd > state.cwnd:
        raise InvalidInput("growth_time", "cwnd", f"above that of {law.name}'s state", cwnd)
    kind, at = type(state), state._fields.index("cwnd")

    def speed(_: float, y: np.ndarray) -> np.ndarray:
        moved = law.growth(kind(*y), seen_at(y[at], rtt))
        return rtt * np.asarray(moved, dtype=float)

    def missing(_: float, y: np.ndarray) -> float:
        return float(y[at] - cwnd)

    missing.terminal = True  # type: ignore[attr-defined]
    begin = np.asarray(state, dtype=float)
    atol = ATOL * max(1.0, cwnd)
    found = solve_ivp(speed, (0.0, HORIZON), begin, "DOP853", events=missing, rtol=RTOL, atol=atol)
    if not found.t_events[0].size:
        raise InvalidInput("growth_time", "cwnd", f"a window that {law.name} reaches", cwnd)
    rounds = float(found.t_events[0][0])
    return Recovery(rounds * rtt, rounds)


def recovery_time(
    law: CongestionControl, cwnd: float, rtt: float, base_rtt: float | None = None
) -> Recovery:
    """The time to grow back to the window at which a loss occurred.

    Args:
        law: the congestion control.
        cwnd: the window at the loss, packets.
        rtt: round-trip time, constant, s.
        base_rtt: base RTT as Vegas knows it, at most `rtt`, s; None: `rtt`.

    Raises:
        InvalidInput: for a congestion control that no loss makes smaller, for a window that it
            never regains (Vegas with more than alpha packets in the queue), or a time that is not
            above 0.

    >>> from vegasfluid.congestion.reno import Reno
    >>> recovery = recovery_time(Reno(), cwnd=50e6 / 12e3, rtt=0.1)
    >>> f"{recovery.round_trips:.1f}", f"{recovery.seconds:.1f} s"
    ('2083.3', '208.3 s')
    """
    believed = rtt if base_rtt is None else base_rtt
    for name, value in (("cwnd", cwnd), ("rtt", rtt), ("base_rtt", believed)):
        if not value > 0:
            raise InvalidInput("recovery_time", name, "above 0", value)
    if believed > rtt:
        raise InvalidInput("recovery_time", "base_rtt", f"at most rtt ({rtt:g})", believed)
    before = law.init(float(cwnd), float(believed))._replace(slow_start=0.0)
    left = law.after_loss(before, seen_at(float(cwnd), rtt))
    if not left.cwnd < cwnd:
        raise InvalidInput("recovery_time", "law", "one that a loss makes smaller", law.name)
    if isinstance(law, EpochCongestionControl):
        return epoch_time(law, float(cwnd), rtt)
    return growth_time(law, left, cwnd, rtt)


def epoch_time(law: EpochCongestionControl, cwnd: float, rtt: float) -> Recovery:
    """The time to grow back to the window at the start of an epoch, for epoch-based controls."""
    plateau = law.plateau_time(AFTER_LOSS, cwnd)

    def above(age: float) -> float:
        return float(law.epoch_state(plateau, cwnd, age, rtt).cwnd) / cwnd - 1

    latest = 2 * float(plateau) + rtt
    seconds = root_scalar(above, bracket=(0.0, latest), xtol=1e-14 * rtt).root
    return Recovery(float(seconds), float(seconds) / rtt)

"""The time that a congestion control needs to recover its window after one loss.

The window starts at the value that `after_loss` gives and follows `growth`, at a constant RTT,
until it has its old value. Loss recovery itself, about a round trip, is not counted. The
result in round trips of R seconds, for a window W that a loss reduces by the fraction b:

    Reno            W / 2
    Scalable TCP    ln(1 / (1 - b)) / a, whatever W is (Kelly counts log(1 / (1 - b)) / log(1 + a):
                    the window then grows once a round trip, and here with each ACK)
    CUBIC           cbrt(b W / C) / R in the cubic region, less in the Reno-friendly region; from
                    the rules after one loss (`epoch_state`), because `growth` is the mean of many
                    flows; without fast convergence
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
"""Longest recovery, round trips; a window that needs more counts as never reached."""
RTOL = 1e-11
"""Relative tolerance of the integration."""
ATOL = 1e-13
"""Absolute tolerance of the integration, relative to the target window."""


class Recovery(NamedTuple):
    """The time that a congestion window needs to reach a value.

    Args:
        seconds: in seconds.
        round_trips: in round trips.
    """

    seconds: float
    round_trips: float


def seen_at(cwnd: Any, rtt: float) -> Signals:
    """Signals of a sender after slow start without losses: RTT, and ACKs at cwnd / rtt packets/s.

    Args:
        cwnd: congestion window, packets.
        rtt: round-trip time, s.
    """
    return Signals(rtt, cwnd / rtt, 0.0, initial_ssthresh=0.0)


def growth_time(law: CongestionControl, state: Any, cwnd: float, rtt: float) -> Recovery:
    """The time in which a window grows from a state to a value, at a constant round-trip time.

    Args:
        law: the congestion control.
        state: the initial state, after slow start; its window is below `cwnd`.
        cwnd: the window to reach, packets.
        rtt: round-trip time, s.

    Returns:
        The time in seconds and in round trips.

    Raises:
        InvalidInput: for a window that is not above that of the state or is not reached in 1e9
            round trips, or a round-trip time that is not above 0.

    >>> from vegasfluid.congestion.base import Window
    >>> from vegasfluid.congestion.reno import Reno
    >>> f"{growth_time(Reno(), Window(10.0, 0.0), 30.0, 0.1).round_trips:.6f}"
    '20.000000'
    """
    if not rtt > 0:
        raise InvalidInput("growth_time", "rtt", "above 0", rtt)
    if not cwnd > state.cwnd:
        raise InvalidInput("growth_time", "cwnd", f"above that of {law.name}'s state", cwnd)
    state_type, index = type(state), state._fields.index("cwnd")

    def change_per_rtt(_: float, y: np.ndarray) -> np.ndarray:
        """Change of the congestion control's state per round trip, without losses."""
        rates = law.growth(state_type(*y), seen_at(y[index], rtt))
        return rtt * np.asarray(rates, dtype=float)

    def excess(_: float, y: np.ndarray) -> float:
        return float(y[index] - cwnd)

    excess.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        change_per_rtt,
        (0.0, HORIZON),
        np.asarray(state, dtype=float),
        "DOP853",
        events=excess,
        rtol=RTOL,
        atol=ATOL * max(1.0, cwnd),
    )
    if not solution.t_events[0].size:
        raise InvalidInput("growth_time", "cwnd", f"a window that {law.name} reaches", cwnd)
    round_trips = float(solution.t_events[0][0])
    return Recovery(round_trips * rtt, round_trips)


def recovery_time(
    law: CongestionControl, cwnd: float, rtt: float, base_rtt: float | None = None
) -> Recovery:
    """The time in which a window grows back to its value before one loss, at a constant RTT.

    The round trip of loss recovery is not counted.

    Args:
        law: the congestion control.
        cwnd: the window at the loss, packets.
        rtt: round-trip time, constant, s.
        base_rtt: base RTT that Vegas has measured, at most `rtt`, s; None: `rtt`.

    Returns:
        The time in seconds and in round trips.

    Raises:
        InvalidInput: for a congestion control that does not respond to losses, for a window that it
            never regains (Vegas with more than alpha packets in the queue), a window or time that
            is not above 0, or a `base_rtt` above `rtt`.

    >>> from vegasfluid.congestion.reno import Reno
    >>> recovery = recovery_time(Reno(), cwnd=50e6 / 12e3, rtt=0.1)
    >>> f"{recovery.round_trips:.1f}", f"{recovery.seconds:.1f} s"
    ('2083.3', '208.3 s')
    """
    measured = rtt if base_rtt is None else base_rtt
    for name, value in (("cwnd", cwnd), ("rtt", rtt), ("base_rtt", measured)):
        if not value > 0:
            raise InvalidInput("recovery_time", name, "above 0", value)
    if measured > rtt:
        raise InvalidInput("recovery_time", "base_rtt", f"at most rtt ({rtt:g})", measured)
    before = law.init(float(cwnd), float(measured))._replace(slow_start=0.0)
    after = law.after_loss(before, seen_at(float(cwnd), rtt))
    if not after.cwnd < cwnd:
        raise InvalidInput("recovery_time", "law", "one that responds to losses", law.name)
    if isinstance(law, EpochCongestionControl):
        return epoch_time(law, float(cwnd), rtt)
    return growth_time(law, after, cwnd, rtt)


def epoch_time(law: EpochCongestionControl, cwnd: float, rtt: float) -> Recovery:
    """The time (s, and round trips) in which a window grows back after a loss, by its curve of age.

    Args:
        law: the congestion control, whose window is a function of the time since the loss (CUBIC).
        cwnd: the window at the loss, packets.
        rtt: round-trip time, s.
    """
    plateau = law.plateau_time(AFTER_LOSS, cwnd)

    def excess(age: float) -> float:
        return float(law.epoch_state(plateau, cwnd, age, rtt).cwnd) / cwnd - 1

    latest = 2 * float(plateau) + rtt
    seconds = root_scalar(excess, bracket=(0.0, latest), xtol=1e-14 * rtt).root
    return Recovery(float(seconds), float(seconds) / rtt)

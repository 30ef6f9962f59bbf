"""Published formulas for the rate or the window of TCP from its drop probability and RTT.

`mathis` models Reno in congestion avoidance, `pftk` also timeouts and the receiver's window; both
give the rate at which packets are sent. `cubic_response` and `highspeed_response` give windows.

Sources:
    M. Mathis, J. Semke, J. Mahdavi and T. Ott, "The macroscopic behavior of the TCP congestion
    avoidance algorithm", ACM CCR 27(3), 1997: c / (R sqrt(b p)); not checked against the original,
    but the 0.93 of RFC 3819, section 8.5.1, is its constant for independent losses and delayed
    ACKs. RFC 3649, section 5, prints 1.2 for sqrt(3/2).
    J. Padhye, V. Firoiu, D. Towsley and J. Kurose, "Modeling TCP throughput: a simple model and
    its empirical validation", SIGCOMM 1998, the approximate model: not checked against the
    original, but as RFC 3819, section 8.5.1, prints it (b = 2). RFC 5348, section 3.1, omits the
    min; it recommends b = 1 and t_RTO = 4 R, and allows max(4 R, 1 s). RFC 3155, section 1.1, has
    the same form. These RFCs were read.
    RFC 3819, section 8.5.3, computes 402.9 kbit/s for p = 0.01. Its printed formula gives 519 (with
    an RTO of 5 R), and 402.9 only if the min is 1.
    RFC 9438, section 5.1 (read): CUBIC. RFC 3649, section 5 (compared with its
    table 3): HighSpeed TCP.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vegasfluid.analysis.literature.assumptions import (
    TIMEOUT_IN_ROUND_TRIPS,
    Assumption,
    Path,
    Range,
)
from vegasfluid.congestion.base import LOSS_PROCESSES, aimd_loss_factor
from vegasfluid.errors import InvalidInput

__all__ = [
    "MATHIS_RANGE",
    "PFTK_RANGE",
    "cubic_response",
    "highspeed_response",
    "mathis",
    "mathis_constant",
    "pftk",
]

Number = Any
"""A float, or a NumPy array of any shape."""


def require(whose: str, drop_prob: Number, **above_zero: Number) -> None:
    """Raise InvalidInput for a drop_prob outside (0, 1) or another argument not above 0.

    Args:
        whose: name of the formula, for the message.
        drop_prob: loss events per packet, a number or an array.
        above_zero: the other arguments by name.
    """
    prob = np.asarray(drop_prob, dtype=float)
    if not np.all((prob > 0) & (prob < 1)):
        raise InvalidInput(whose, "drop_prob", "above 0 and below 1", drop_prob)
    for name, value in above_zero.items():
        if not np.all(np.asarray(value, dtype=float) > 0):
            raise InvalidInput(whose, name, "above 0", value)


def plain(value: Number) -> Number:
    """A zero-dimensional array or number as a float; other arrays unchanged."""
    return value if np.ndim(value) else float(value)


def mathis_constant(loss_process: str = "periodic") -> float:
    """The constant c of Reno's mean window of c / sqrt(p) packets in congestion avoidance.

    p is the number of loss events per packet.

    Args:
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for another name.

    >>> round(mathis_constant(), 3), round(mathis_constant("iid"), 2)
    (1.225, 1.31)
    """
    if loss_process not in LOSS_PROCESSES:
        allowed = "one of " + ", ".join(LOSS_PROCESSES)
        raise InvalidInput("mathis", "loss_process", allowed, loss_process)
    return math.sqrt(2 / aimd_loss_factor(loss_process, 1 / 2))


def mathis(
    drop_prob: Number, rtt: Number, ack_every: Number = 1.0, loss_process: str = "periodic"
) -> Number:
    """Rate at which Reno sends in congestion avoidance, packets/s: c / (R sqrt(b p)).

    Numbers may be arrays that broadcast; the result is then an array. c is `mathis_constant`.

    Args:
        drop_prob: loss events per packet, p.
        rtt: round-trip time R, queues included, s.
        ack_every: packets acknowledged by an ACK, b.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a drop_prob that is not above 0 and below 1, or anything else that is
            not above 0.

    >>> f"{mathis(0.01, 0.1):.1f}", MATHIS_RANGE.holds(0.01, 0.1)
    ('122.5', True)
    """
    require("mathis", drop_prob, rtt=rtt, ack_every=ack_every)
    return plain(mathis_constant(loss_process) / (rtt * np.sqrt(ack_every * drop_prob)))


def seconds_a_packet(
    drop_prob: Number, rtt: Number, rto: Number, ack_every: Number, end_in_timeouts: Number
) -> Number:
    """Mean time between the packets of a Reno flow, s, growth and timeouts included.

    Args:
        drop_prob: loss events per packet.
        rtt: round-trip time, s.
        rto: retransmission timeout, s.
        ack_every: packets acknowledged by an ACK.
        end_in_timeouts: fraction of the loss events that end in a timeout.
    """
    idle = rto * end_in_timeouts * drop_prob * (1 + 32 * drop_prob**2)
    return rtt * np.sqrt(2 * ack_every * drop_prob / 3) + idle


def timeout_fraction(drop_prob: Number, ack_every: Number) -> Number:
    """The fraction of Reno's loss events that end in a timeout, 3 sqrt(3 b p / 8); may exceed 1.

    Args:
        drop_prob: loss events per packet, p.
        ack_every: packets acknowledged by an ACK, b.
    """
    return 3 * np.sqrt(3 * ack_every * drop_prob / 8)


def pftk(
    drop_prob: Number,
    rtt: Number,
    rto: Number | None = None,
    ack_every: Number = 1.0,
    max_window: Number = math.inf,
) -> Number:
    """Rate at which Reno sends with timeouts and the receiver's window, packets/s.

    min(W_max / R, 1 / (R sqrt(2 b p / 3) + T_0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2))): the
    approximation to the full model of Padhye et al. Numbers may be arrays that broadcast; then the
    result is an array.

    Args:
        drop_prob: loss events per packet, p.
        rtt: round-trip time R, queues included, s.
        rto: retransmission timeout T_0, s; None: four round trips (RFC 5348, section 3.1).
        ack_every: packets acknowledged by an ACK, b.
        max_window: the receiver's window W_max, packets; infinite: no limit.

    Raises:
        InvalidInput: for a drop_prob that is not above 0 and below 1, or anything else that is
            not above 0.

    >>> f"{pftk(0.01, 0.1):.1f}", f"{pftk(0.01, 0.1, max_window=8):.1f}"
    ('112.3', '80.0')
    """
    timeout = TIMEOUT_IN_ROUND_TRIPS * rtt if rto is None else rto
    require("pftk", drop_prob, rtt=rtt, rto=timeout, ack_every=ack_every, max_window=max_window)
    ending = np.minimum(1.0, timeout_fraction(drop_prob, ack_every))
    free = 1 / seconds_a_packet(drop_prob, rtt, timeout, ack_every, ending)
    return plain(np.minimum(max_window / rtt, free))


def cubic_response(
    drop_prob: Number, rtt: Number, scale: Number = 0.4, beta: Number = 0.7
) -> Number:
    """Mean window of CUBIC in its cubic region, packets: (C (3 + b) / (4 (1 - b)) R^3 / p^3)^(1/4).

    Numbers may be arrays that broadcast; the result is then an array.

    Args:
        drop_prob: loss events per packet, p; losses are at equal distances.
        rtt: round-trip time R, queues included, s.
        scale: scale C of the cubic, packets/s^3.
        beta: fraction b of the window that a loss leaves.

    Raises:
        InvalidInput: for a drop_prob that is not above 0 and below 1, or an rtt that is not
            above 0.

    >>> round(cubic_response(1e-6, 0.1))
    5926
    """
    require("cubic_response", drop_prob, rtt=rtt)
    factor = scale * (3 + beta) / (4 * (1 - beta))
    return plain((factor * (rtt / drop_prob) ** 3) ** (1 / 4))


def highspeed_response(drop_prob: Number) -> Number:
    """Mean window of HighSpeed TCP, packets: 0.12 / p^0.835, valid above 38 packets.

    Args:
        drop_prob: loss events per packet, p; a number or an array. It is not checked that p is at
            most 1e-3, where the formula holds.

    Raises:
        InvalidInput: for a drop_prob that is not above 0 and below 1.

    >>> int(highspeed_response(1e-5))
    1795
    """
    require("highspeed_response", drop_prob)
    return plain(0.12 / np.asarray(drop_prob) ** 0.835)


def prob_of(path: Path) -> float:
    """Loss events per packet on a path."""
    return path.drop_prob


LONG = "a flow that is long enough for many losses"
"""Assumption of both formulas in words: they are averages over many losses."""
ONE_FLOW = "losses and round-trip times measured by the flow itself, queueing included"
"""Assumption of both formulas in words: values are those of the flow, not of a link."""
TIMEOUT_AFTER_RTT = Assumption(
    "rtt / rto", lambda path: path.rtt / path.rto, lambda _: 1.0, "timeouts before any loss"
)
"""Assumption that the retransmission timeout is at least a round trip."""

MATHIS_RANGE = Range(
    "mathis",
    (
        Assumption("drop_prob", prob_of, lambda _: 0.01, "losses end in timeouts"),
        Assumption(
            "window at a loss, 4/3 of the mean,",
            lambda path: 4 / 3 * mathis_constant() / math.sqrt(path.ack_every * path.drop_prob),
            lambda path: path.max_window,
            "the receiver limits the window",
        ),
    ),
    (LONG, ONE_FLOW),
)
"""Validity range of `mathis`: a drop_prob up to 1 % (RFC 3819, section 8.5.2), and 4/3 of the mean
window at most the receiver's window."""

PFTK_RANGE = Range(
    "pftk",
    (
        Assumption(
            "drop_prob", prob_of, lambda _: 0.5, "1 + 32 p^2 is far less than timeouts take"
        ),
        TIMEOUT_AFTER_RTT,
    ),
    (LONG, ONE_FLOW, "Reno's recovery, and losses that come together within a round trip"),
)
"""Validity range of `pftk`: a drop_prob p up to 1/2, and a timeout of at least one round trip. RFC
3819, section 8.5.2, states only that it breaks down as p approaches 1. The limit is chosen here:
the formula replaces the mean duration of successive timeouts, which double up to 64 T_0, by
(1 + 32 p^2) T_0. That is 0.97 to 1.59 times the exact mean for p up to 1/2, 0.72 times at 0.6, and
0.07 times at 0.9."""

"""CUBIC: the window is a cubic of the time since the last loss; the round trip matters less.

It grows fast while far below the window W_max at which a loss came last, slowly around it
(concave, then convex), and fast again beyond. Where standard TCP would have more, it takes that
("Reno-friendly region"). Growth is counted by packets acknowledged and not by ACKs, so that
delayed ACKs change nothing (RFC 3465; the RFC below counts W_est so, and the rest by ACKs).

The first CUBIC, as Marrone et al. use it, is `beta = 0.8` (it takes 0.2 of the window): K is then
cbrt(0.2 W_max / C), and the Reno-friendly window grows by 3 (0.2 / 1.8) a round trip.

Left out: HyStart++, which section 4.10 advises (slow start is RFC 5681's, which it allows), and
the undoing of losses that were none (section 4.9). As for every law here, a mark leaves at least
two packets, where section 4.6 allows one.

Fluid: the window grows by the slope of the cubic, of which the time since the last loss and K are
states. Vardoyan, Hollot and Towsley make the window itself a function of these; the slope has the
same equilibria, but answers a loss at once where only some of the flows have it.

Sources:
    RFC 9438, sections 4.2 to 4.8 and 5.8, read in the authors' repository (NTAP/rfc8312bis, at
    draft -13). L. Marrone, A. Barbieri and M. Robles, "TCP performance: CUBIC, Vegas and Reno",
    2013, section 2.2 (the constants of the first CUBIC: C = 0.4, a cut of 0.2).
    Fluid: G. Vardoyan, C. Hollot and D. Towsley, "Towards stability analysis of data transport
    mechanisms: a fluid model and its applications", INFOCOM 2018 (abstract read; the equations
    derived anew).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Lt

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    PacketRules,
    Signals,
    leaves_slow_start,
)
from vegasfluid.congestion.epochs import EpochCongestionControl
from vegasfluid.congestion.loss_recovery import (
    SMALLEST_SSTHRESH,
    require_recovery,
    window_in_use,
)
from vegasfluid.quantities import Positive, Share

__all__ = ["Cubic"]

Flow = Any

SECONDS = 1e-12
"""In a picosecond."""
STEEPEST = 1.5
"""A round trip makes of a window at most so many of it (section 4.2)."""
BLUR = 0.05
"""Around the plateau, in units of K: a loss so near to it lowers it in part."""
GIVING_WAY, KEEPING = (0.868, -1.48, 1.02), (0.92, -1.3, 1.04)
"""Parabolas in the cut, with and without fast convergence: the part of the variance of
times since a loss that counts."""


def begin_epoch(flow: Flow) -> None:
    """Congestion avoidance begins: lay the cubic through the present window (section 4.2).

    Where no loss led here (slow start ended at its threshold, or a timeout came before), W_max is
    the present window and K is 0 (sections 4.8 and 4.10).
    """
    flow.in_epoch = 1
    flow.elapsed = 0
    flow.w_est = flow.cwnd
    flow.w_max = max(flow.w_max, flow.cwnd)
    flow.k = ((flow.w_max - flow.cwnd) / flow.cubic_c) ** (1 / 3)


def cubic(flow: Flow, t: float) -> float:
    """W_cubic at `t` seconds of the stage, packets."""
    return flow.cubic_c * (t - flow.k) ** 3 + flow.w_max


def count_time(flow: Flow, now: int) -> None:
    """Let the stage's clock run, but not while the application limits the sender (section 5.8)."""
    if flow.window_limited and flow.was_limited:
        flow.elapsed += now - flow.seen_at
    flow.was_limited = flow.window_limited
    flow.seen_at = now


def grow(flow: Flow, acked: int) -> None:
    """Follow the cubic, or standard TCP's estimate where that is larger (sections 4.2 to 4.5)."""
    part = min(acked / flow.cwnd, 1.0)
    t = flow.elapsed * SECONDS
    flow.w_est += part * (1.0 if flow.w_est >= flow.cwnd_prior else flow.alpha_cubic)
    if flow.friendly and cubic(flow, t) < flow.w_est:
        flow.cwnd = max(flow.cwnd, flow.w_est)
    else:
        target = cubic(flow, t + flow.srtt * SECONDS)
        target = min(max(target, flow.cwnd), STEEPEST * flow.cwnd)
        flow.cwnd += part * (target - flow.cwnd)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow by one packet for an ACK in slow start, along the cubic afterwards."""
    count_time(flow, now)
    if not flow.window_limited:
        return
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
        return
    if not flow.in_epoch:
        begin_epoch(flow)
    grow(flow, acked)


def window_after_loss(flow: Flow, window: float) -> float:
    """Beta times the window in use, packets; W_max learns of it (sections 4.6 and 4.7)."""
    flow.in_epoch = 0
    flow.cwnd_prior = window
    if flow.fast_convergence and window < flow.w_max:
        flow.w_max = window * (1 + flow.beta) / 2
    else:
        flow.w_max = window
    return max(window * flow.beta, SMALLEST_SSTHRESH)


def window_after_timeout(flow: Flow, window: float) -> float:
    """As after a loss; the next cubic begins where slow start ends (section 4.8)."""
    left = window_after_loss(flow, window_in_use(flow))
    flow.w_max = 0.0
    return left


class CubicWindow(NamedTuple):
    """The state of a CUBIC flow.

    Args:
        cwnd: congestion window, packets.
        k: time from the last loss to the plateau of the cubic, s.
        elapsed: time since the last loss, s; of a class the mean.
        squared: its square, s^2; of a class the mean of squares.
        slow_start: the share of the flows that are in slow start.
    """

    cwnd: Any
    k: Any
    elapsed: Any
    squared: Any
    slow_start: Any


@dataclass(frozen=True)
class Cubic(EpochCongestionControl):
    """TCP CUBIC.

    >>> Cubic().C, Cubic().beta
    (0.4, 0.7)
    """

    name: ClassVar[str] = "cubic"
    sources: ClassVar[tuple[str, ...]] = ("RFC 9438", "Vardoyan, Hollot and Towsley, 2018")
    domains: ClassVar[Mapping[str, tuple[float, float]]] = {
        "slow_start": (0.0, 1.0),
        "k": (0.0, math.inf),
        "elapsed": (0.0, math.inf),
        "squared": (0.0, math.inf),
    }

    C: Annotated[Share, Positive] = 0.4
    """How steep the cubic is, packets/s^3."""
    beta: Annotated[Share, Positive, Lt(1)] = 0.7
    """Share of the window that a loss leaves; 0.8 in the first CUBIC."""
    fast_convergence: bool = True
    """Give way to newcomers: remember less than the window if it has fallen since the last loss."""
    friendly: bool = True
    """Take no less than standard TCP would (Reno-friendly region)."""
    recovery: str = "sack"
    """How losses are repaired: reno, newreno (RFC 6582) or sack (RFC 6675)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)

    def init(self, cwnd: Any, rtt: Any) -> CubicWindow:
        """Slow start; a cubic that begins where it ends has K = 0 (section 4.10)."""
        nothing = 0 * cwnd
        return CubicWindow(cwnd, nothing, nothing, nothing, cwnd / cwnd)

    def growth(self, window: CubicWindow, seen: Signals) -> CubicWindow:
        """The slope of the cubic, or of the Reno-friendly window where that is steeper."""
        rise = 3 * (1 - self.beta) / (1 + self.beta)
        return self.derivative(window, seen, (window.elapsed - window.k) ** 2, rise)

    def plateau_time(self, kind: Any, lost: Any) -> Any:
        """K; of a lowered cubic, half as high; 0 after slow start (sections 4.2, 4.7 and 4.10)."""
        part = smooth.cube_root(1 - kind / 2)
        return part * smooth.cube_root((1 - self.beta) * lost / self.C)

    def window_before_loss(self, window: Any) -> Any:
        """A loss leaves `beta` of the window (section 4.6)."""
        return window / self.beta

    def epoch_state(self, plateau: Any, lost: Any, age: Any, rtt: Any) -> CubicWindow:
        """The cubic, or the Reno-friendly window (sections 4.2 and 4.3)."""
        left = self.beta * lost
        cwnd = left + self.C * (plateau**3 + (age - plateau) ** 3)
        if self.friendly:
            step, rounds = 3 * (1 - self.beta) / (1 + self.beta), age / rtt
            until = smooth.step(plateau, SECONDS) * (lost - left) / step  # no loss, none to regain
            est = left + step * smooth.minimum(rounds, until)
            cwnd = smooth.maximum(cwnd, est + smooth.positive_part(rounds - until))
        return CubicWindow(cwnd, plateau, age, age**2, 0.0)

    def max_epoch_age(self, largest: float) -> float:
        """K, and the time from the plateau to `largest`."""
        return (((1 - self.beta) * largest) ** (1 / 3) + largest ** (1 / 3)) / self.C ** (1 / 3)

    def applies_fast_convergence(self, window: CubicWindow) -> Any:
        """Where a loss comes below the plateau, the next is lower (section 4.7)."""
        if not self.fast_convergence:
            return 0 * window.k
        return smooth.step((1 + BLUR) * window.k - window.elapsed, 2 * BLUR * window.k + SECONDS)

    def drift(self, window: CubicWindow, seen: Signals) -> CubicWindow:
        """The mean of flows that had their last losses at different times.

        The slope 3 C (t - K)^2 is in the mean 3 C ((s - K)^2 + v), with s the mean of the times t
        and v their variance; as times and windows go together, a part of v counts.
        """
        part, rise = self.spread(seen.loss_process)
        variance = smooth.positive_part(window.squared - window.elapsed**2)
        lag = (window.elapsed - window.k) ** 2 + part * variance
        return self.with_losses(window, self.derivative(window, seen, lag, rise), seen)

    def spread(self, process: str) -> tuple[Any, Any]:
        """The part of the variance that counts, and packets that W_est gains a round trip.

        With a part of 1/3 the closure rests at (C / b)^(1/4) (R / p)^(3/4),
        b = 1 - beta, as Vardoyan, Hollot and Towsley have it. The RFC's periodic losses
        give (C (3 + beta) / (4 b))^(1/4) (section 5.1), and independent ones 1.300 at b = 0.3 and
        1.492 at b = 0.2, or 1.196 and 1.382 with fast convergence. In the Reno-friendly region
        independent losses, some of which come so late that it grows by a packet a round trip,
        give 1.413 / sqrt(p) at b = 0.3. (Drawn for this project, and in its tests; between
        values of b by parabolas and a line.)

        Args:
            process: a name in `LOSS_PROCESSES`.
        """
        cut = 1 - self.beta
        if process == "meanfield":
            return 1 / 3, 3 * cut / (1 + self.beta)
        if process == "periodic":
            plateau = (3 + self.beta) / 4
            return plateau / 3 - (1 - plateau ** (1 / 3)) ** 2, 3 * cut / 2
        flat, rise, bend = GIVING_WAY if self.fast_convergence else KEEPING
        return flat + rise * cut + bend * cut**2, 0.19 + 1.34 * cut

    def derivative(self, window: CubicWindow, seen: Signals, lag: Any, rise: Any) -> CubicWindow:
        """The rate of change where the squared distance to the plateau is `lag`, s^2.

        The clock runs while the window is used (section 5.8); a round trip makes at most half as
        much again of a window (section 4.2).
        """
        stop = leaves_slow_start(window.cwnd, seen)
        doubling = window.slow_start * (1 - stop)
        slope = 3 * self.C * lag
        if self.friendly:
            slope = smooth.maximum(slope, rise / seen.rtt)
        slope = smooth.minimum(slope, (STEEPEST - 1) * window.cwnd / seen.rtt)
        settling = window.slow_start / seen.rtt
        running = (1 - window.slow_start) * seen.window_limited
        growth = doubling * seen.ack_rate / seen.ack_every + (1 - doubling) * slope
        return CubicWindow(
            cwnd=seen.window_limited * growth,
            k=-settling * window.k,
            elapsed=running - settling * window.elapsed,
            squared=2 * window.elapsed * running - settling * window.squared,
            slow_start=-settling * stop,
        )

    def after_loss(self, window: CubicWindow, seen: Signals) -> CubicWindow:
        """A new epoch from beta times the window (sections 4.2, 4.6 and 4.7).

        A window that has fallen since the loss before is remembered as (1 + beta) / 2 of itself,
        so that W_max is nearer to it by a half (fast convergence): taken in the mean. At equal
        distances losses find the window that they found before, and it never has.
        """
        cut = 1 - self.beta
        falls = self.fast_convergence and seen.loss_process != "periodic"
        gives_way = 0.70 - 0.24 * cut if falls else 0.0
        plateau = cut * window.cwnd * (1 - gives_way / 2)
        nothing = 0 * window.cwnd
        return CubicWindow(
            cwnd=self.beta * window.cwnd,
            k=smooth.cube_root(plateau / self.C),
            elapsed=nothing,
            squared=nothing,
            slow_start=nothing,
        )

    @property
    def rules(self) -> PacketRules:
        """Rules as in RFC 9438."""
        return PacketRules(
            increase_window,
            window_after_loss,
            window_after_timeout=window_after_timeout,
            state={
                "in_epoch": 0,
                "elapsed": 0,
                "seen_at": 0,
                "was_limited": 0,
                "k": 0.0,
                "w_max": 0.0,
                "w_est": 0.0,
                "cwnd_prior": 0.0,
            },
            recovery=self.recovery,
        )

    def packet_parameters(self) -> dict[str, float]:
        """The constants, the switches, and the step of the Reno-friendly window (section 4.3)."""
        return {
            "cubic_c": float(self.C),
            "beta": float(self.beta),
            "alpha_cubic": 3 * (1 - self.beta) / (1 + self.beta),
            "fast_convergence": int(self.fast_convergence),
            "friendly": int(self.friendly),
        }

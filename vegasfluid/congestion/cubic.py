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

Sources:
    RFC 9438, sections 4.2 to 4.8 and 5.8, read in the authors' repository (NTAP/rfc8312bis, at
    draft -13). L. Marrone, A. Barbieri and M. Robles, "TCP performance: CUBIC, Vegas and Reno",
    2013, section 2.2 (the constants of the first CUBIC: C = 0.4, a cut of 0.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Lt

from vegasfluid.congestion.law import (
    NOTHING,
    SEND,
    AbstractWindowLaw,
    Feedback,
    PacketRules,
    Window,
)
from vegasfluid.congestion.recovery import (
    RECOVERIES,
    SMALLEST_SSTHRESH,
    answer_mark,
    fast_retransmit,
    finds_loss,
    hold,
    repair,
    require_recovery,
    restart,
    window_in_use,
)
from vegasfluid.errors import NotServed
from vegasfluid.quantities import Positive, Share

__all__ = ["Cubic"]

Flow = Any

SECONDS = 1e-12
"""In a picosecond."""
STEEPEST = 1.5
"""A round trip makes of a window at most so many of it (section 4.2)."""


def begin_stage(flow: Flow) -> None:
    """Congestion avoidance begins: lay the cubic through the present window (section 4.2).

    Where no loss led here (slow start ended at its threshold, or a timeout came before), W_max is
    the present window and K is 0 (sections 4.8 and 4.10).
    """
    flow.in_stage = 1
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


def on_ack(flow: Flow, now: int, acked: int) -> int:
    """Grow by one packet for an ACK in slow start, along the cubic afterwards."""
    repairing = repair(flow, acked)
    if repairing != NOTHING:
        return repairing
    count_time(flow, now)
    if not flow.window_limited:
        return SEND
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
        return SEND
    if not flow.in_stage:
        begin_stage(flow)
    grow(flow, acked)
    return SEND


def reduced(flow: Flow) -> float:
    """What a loss leaves of the window, packets; W_max learns of it (sections 4.6 and 4.7)."""
    window = window_in_use(flow)
    flow.in_stage = 0
    flow.cwnd_prior = window
    if flow.fast_convergence and window < flow.w_max:
        flow.w_max = window * (1 + flow.beta) / 2
    else:
        flow.w_max = window
    return max(window * flow.beta, SMALLEST_SSTHRESH)


def on_duplicate_ack(flow: Flow, now: int) -> int:
    """Fast retransmit with the small cut."""
    if finds_loss(flow):
        return fast_retransmit(flow, reduced(flow))
    return hold(flow)


def on_mark(flow: Flow, now: int) -> None:
    """A mark takes what a loss takes."""
    if flow.in_recovery == 0:
        answer_mark(flow, reduced(flow))


def on_timeout(flow: Flow, now: int) -> None:
    """Slow start from a window of one packet; then a cubic from where it ends (section 4.8)."""
    restart(flow, reduced(flow), 1.0)
    flow.w_max = 0.0


@dataclass(frozen=True)
class Cubic(AbstractWindowLaw):
    """TCP CUBIC, for the packet simulator alone: its mean needs more state than the window.

    >>> Cubic().C, Cubic().beta
    (0.4, 0.7)
    """

    name: ClassVar[str] = "cubic"
    sources: ClassVar[tuple[str, ...]] = ("RFC 9438",)
    has_drift: ClassVar[bool] = False

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

    def drift(self, window: Window, seen: Feedback) -> Window:
        """There is none: the growth depends on the time and on the window of the last loss.

        Raises:
            NotServed: always.
        """
        raise NotServed("fluid", f"the law {self.name}")

    @property
    def rules(self) -> PacketRules:
        """Rules as in RFC 9438."""
        return PacketRules(
            on_ack,
            on_duplicate_ack,
            on_timeout,
            on_mark,
            state={
                "in_stage": 0,
                "elapsed": 0,
                "seen_at": 0,
                "was_limited": 0,
                "k": 0.0,
                "w_max": 0.0,
                "w_est": 0.0,
                "cwnd_prior": 0.0,
            },
            recovery=RECOVERIES[self.recovery],
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

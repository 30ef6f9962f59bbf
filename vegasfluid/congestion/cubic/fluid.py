"""CUBIC: the window is a cubic function of the time since the last loss.

It grows fast far below W_max, the window at the last loss, slowly around W_max (concave, then
convex), and fast again above. Where standard TCP would have a larger window, CUBIC uses that
("Reno-friendly region"). Growth depends on the number of packets acknowledged, not of ACKs, so that
delayed ACKs do not change it (RFC 3465; RFC 9438 does so for W_est only).

`beta = 0.8` gives the first CUBIC, which Marrone et al. used: a loss takes 0.2 of the window, K is
cbrt(0.2 W_max / C), and the Reno-friendly window grows by 3 (0.2 / 1.8) packets per round trip.

The packet rules of each implementation are in separate files, which state how they differ.

Fluid: the window grows by the slope of the cubic; the time since the last loss and K are states.
Vardoyan, Hollot and Towsley make the window itself a function of these. The slope has the same
equilibria, and the mean window responds at once to a loss of only some of the flows. What differs
between implementations at equilibrium is the Reno-friendly window: that of RFC 9438 alone grows by
a full packet per round trip above the window before the loss, and ns-2's increase does not depend
on `beta`. The increase of Linux and ns-3, 8/15 packets per round trip, is taken as RFC 9438's 9/17
(0.7 % less). Slow start, HyStart, ticks and whole packets are not in the fluid. Neither is the
pause of RFC 8312 after fast convergence (0.19 K), nor that its fast convergence applies to fewer
losses.

Sources:
    RFC 9438, sections 4.2 to 4.8 and 5.8, read in the authors' repository (NTAP/rfc8312bis, at
    draft -13). L. Marrone, A. Barbieri and M. Robles, "TCP performance: CUBIC, Vegas and Reno",
    2013, section 2.2 (the constants of the first CUBIC: C = 0.4, a cut of 0.2).
    Fluid: G. Vardoyan, C. Hollot and D. Towsley, "Towards stability analysis of data transport
    mechanisms: a fluid model and an application", INFOCOM 2018, section 4 (read in the longer
    version).
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
    aimd_loss_factor,
    leaves_slow_start,
)
from vegasfluid.congestion.cubic import linux, ns2, ns3, rfc8312, rfc9438
from vegasfluid.congestion.cubic.rfc9438 import SECONDS, STEEPEST
from vegasfluid.congestion.epochs import EpochCongestionControl
from vegasfluid.congestion.loss_recovery import require_recovery
from vegasfluid.quantities import Positive, Share, require_one_of

__all__ = ["IMPLEMENTATIONS", "Cubic", "CubicWindow"]

IMPLEMENTATIONS = {
    "rfc9438": rfc9438.rules,
    "rfc8312": rfc8312.rules,
    "linux": linux.rules,
    "ns2": ns2.rules,
    "ns3": ns3.rules,
}
"""Packet rules of each implementation, given the recovery scheme, by its name in model files."""

PLATEAU_WIDTH = 0.05
"""Half width of the transition at the plateau, in units of K: a loss this close to the plateau
lowers the next one in part (chosen: narrow)."""
VARIANCE_FAST_CONVERGENCE, VARIANCE_PLAIN = (0.868, -1.48, 1.02), (0.92, -1.3, 1.04)
"""With and without fast convergence, for independent losses: coefficients of parabolas in the cut
1 - beta, for the fraction of the variance of ages that `drift` uses. Fitted to simulated losses."""


class CubicWindow(NamedTuple):
    """State of a CUBIC flow, or mean state of a group of flows.

    Args:
        cwnd: congestion window, packets.
        k: time from the last loss to the plateau of the cubic, s.
        elapsed: time since the last loss in which the window limited the sender, s.
        squared: mean of the squares of the flows' `elapsed`, s^2.
        slow_start: fraction of the flows that are in slow start.
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
    host_defaults: ClassVar[Mapping[str, Any]] = {
        "recovery": "sack",
        "implementation": "rfc9438",
    }
    domains: ClassVar[Mapping[str, tuple[float, float]]] = {
        "slow_start": (0.0, 1.0),
        "k": (0.0, math.inf),
        "elapsed": (0.0, math.inf),
        "squared": (0.0, math.inf),
    }

    C: Annotated[Share, Positive] = 0.4
    """Coefficient of the cubic, packets/s^3."""
    beta: Annotated[Share, Positive, Lt(1)] = 0.7
    """Fraction of the window that a loss leaves, with every implementation; 0.8 in the first CUBIC,
    and 819/1024 in ns-2 where a script does not set it."""
    fast_convergence: bool = True
    """Give way to new flows: lower W_max if the window is smaller than at the loss before."""
    friendly: bool = True
    """Use no smaller window than standard TCP would (Reno-friendly region)."""
    friendly_increase: Annotated[Share, Positive] | None = None
    """Growth of the Reno-friendly window after a loss, packets per round trip (alpha_cubic); None:
    3 (1 - beta) / (1 + beta), with ns2 8/23. With linux, ns2 and ns3, 8 over it is rounded down."""
    implementation: str | None = None
    """Whose CUBIC it is: rfc9438, rfc8312, linux (6.1), ns2 (2.35: Linux 2.6.22) or ns3 (3.44);
    None: that of the host, rfc9438 where it has none."""
    recovery: str | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675) or rack (RFC 8985); None:
    that of the host, or sack where the host has none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)
        if self.implementation is not None:
            require_one_of(self, "implementation", IMPLEMENTATIONS)

    @property
    def catches_up(self) -> bool:
        """Whether the Reno-friendly window grows by one packet per round trip above W_prior.

        W_prior is the window before the loss. Only in RFC 9438 (section 4.3).
        """
        return self.implementation in (None, "rfc9438")

    @property
    def reno_increase(self) -> Any:
        """Growth of the Reno-friendly window after a loss, packets per round trip (section 4.3)."""
        if self.friendly_increase is not None:
            return self.friendly_increase
        if self.implementation == "ns2":
            return ns2.FRIENDLY_INCREASE
        return 3 * (1 - self.beta) / (1 + self.beta)

    def value_in_use(self, name: str) -> Any:
        """Value of parameter `name` that is in use, in the unit of the program.

        It is the field itself, but a `friendly_increase` of None is computed from beta.

        Args:
            name: name of a field.
        """
        return self.reno_increase if name == "friendly_increase" else super().value_in_use(name)

    @property
    def counts_acks(self) -> bool:
        """False, as growth after slow start follows the time, not the number of ACKs."""
        return False

    def init(self, cwnd: Any, rtt: Any) -> CubicWindow:
        """Initial state: slow start with the window `cwnd` (packets); K and all times are 0.

        After slow start the cubic thus begins at its plateau (section 4.10). `rtt` is not used.
        """
        zero = 0 * cwnd
        return CubicWindow(cwnd, zero, zero, zero, cwnd / cwnd)

    def growth(self, window: CubicWindow, signals: Signals) -> CubicWindow:
        """Rate of change of a flow's state between losses: d(cwnd)/dt in packets/s.

        In slow start the window grows by one packet per ACK; afterwards with the slope of the
        cubic, or of the Reno-friendly window where that is steeper.
        """
        distance = (window.elapsed - window.k) ** 2
        return self.derivative(window, signals, distance, self.reno_increase)

    def plateau_time(self, kind: Any, lost: Any) -> Any:
        """Time K from a loss to the plateau of the cubic, s (sections 4.2, 4.7, 4.10).

        Args:
            kind: AFTER_LOSS; FAST_CONVERGENCE: the plateau is half as far above the window after
                the loss; AFTER_SLOW_START: K is 0.
            lost: window at the loss, packets.
        """
        factor = smooth.cube_root(1 - kind / 2)
        return factor * smooth.cube_root((1 - self.beta) * lost / self.C)

    def window_before_loss(self, window: Any) -> Any:
        """Window before a loss that leaves `window`, packets: `window` / beta (section 4.6)."""
        return window / self.beta

    def epoch_state(self, plateau: Any, lost: Any, age: Any, rtt: Any) -> CubicWindow:
        """State of a flow at an age of its epoch (sections 4.2 and 4.3).

        Args:
            plateau: time K from the loss to the plateau of the cubic, s.
            lost: window at the loss, packets.
            age: time since the recovery from the loss, s.
            rtt: round-trip time, s.

        Returns:
            The state outside slow start. Its window is the cubic's, or, with `friendly`, the
            Reno-friendly window if that is larger.
        """
        start = self.beta * lost
        cwnd = start + self.C * (plateau**3 + (age - plateau) ** 3)
        if self.friendly:
            increase, rounds = self.reno_increase, age / rtt
            est = start + increase * rounds
            if self.catches_up:
                # rounds until W_est is the window at the loss; none after slow start
                slow_rounds = smooth.step(plateau, SECONDS) * (lost - start) / increase
                est = start + increase * smooth.minimum(rounds, slow_rounds)
                est += smooth.positive_part(rounds - slow_rounds)
            cwnd = smooth.maximum(cwnd, est)
        return CubicWindow(cwnd, plateau, age, age**2, 0.0)

    def max_epoch_age(self, largest: float) -> float:
        """Age of an epoch, s, at which the window exceeds `largest` packets in any case.

        It is K for a loss at `largest` packets, plus the time in which the cubic grows from its
        plateau by `largest`.

        Args:
            largest: upper bound of the window at the loss, packets.
        """
        return (((1 - self.beta) * largest) ** (1 / 3) + largest ** (1 / 3)) / self.C ** (1 / 3)

    def applies_fast_convergence(self, window: CubicWindow) -> Any:
        """Fraction, 0 to 1, of losses in state `window` to which fast convergence applies.

        1 for a loss below the plateau, 0 above it (section 4.7); 0 without `fast_convergence`.
        """
        if not self.fast_convergence:
            return 0 * window.k
        return smooth.step(
            (1 + PLATEAU_WIDTH) * window.k - window.elapsed, 2 * PLATEAU_WIDTH * window.k + SECONDS
        )

    def drift(self, window: CubicWindow, signals: Signals) -> CubicWindow:
        """Mean rate of change of the state of a group of flows, by growth and by losses.

        The flows had their last losses at different times t ago, with the mean s and the variance
        v. So the mean slope of the cubic, 3 C (t - K)^2, is 3 C ((s - K)^2 + v). As t and the
        window are correlated, only a fraction of v counts (`closure`).

        Args:
            window: mean state of a group of flows; all fields have the same shape.
            signals: what the senders observe, of the same shape.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """
        fraction, reno_increase = self.closure(signals.loss_process)
        variance = smooth.positive_part(window.squared - window.elapsed**2)
        distance = (window.elapsed - window.k) ** 2 + fraction * variance
        rates = self.derivative(window, signals, distance, reno_increase)
        return self.with_losses(window, rates, signals)

    def closure(self, process: str) -> tuple[Any, Any]:
        """Two constants of `drift`: with them its equilibrium is the mean window of a loss process.

        In the cubic region the mean window is c (R / p)^(3/4) packets, for the round-trip time R
        (s) and the loss probability p. With b = 1 - beta, the constant c is

        - `meanfield`: (C / b)^(1/4) (Vardoyan, Hollot and Towsley);
        - `periodic`: (C (3 + beta) / (4 b))^(1/4) (RFC 9438, section 5.1);
        - `iid`, for C = 0.4: 1.300 at b = 0.3 and 1.492 at b = 0.2; with fast convergence 1.196
          and 1.382.

        In the Reno-friendly region the mean window is that of additive increase, with one
        exception: RFC 9438 with `iid` losses. There W_est finally grows by one packet per round
        trip, and the mean window is 1.413 / sqrt(p) packets at b = 0.3. If `friendly_increase` is
        given as a, the growth of W_est is proportional to a^(0.64 + 0.12 b), within 5 % for a from
        0.1 to 1.5.

        The numbers for `iid` were simulated for this project (see its tests). Parabolas and a line
        in b interpolate them.

        Args:
            process: a name in `LOSS_PROCESSES`.

        Returns:
            The fraction, 0 to 1, of the variance of the times since the last loss that counts in
            the mean slope of the cubic; and the growth of W_est, packets per round trip.
        """
        cut = 1 - self.beta
        additive = self.reno_increase / aimd_loss_factor(process, cut)
        if process == "meanfield":
            return 1 / 3, additive
        if process == "periodic":
            plateau = (3 + self.beta) / 4
            return plateau / 3 - (1 - plateau ** (1 / 3)) ** 2, additive
        constant, linear, quadratic = (
            VARIANCE_FAST_CONVERGENCE if self.fast_convergence else VARIANCE_PLAIN
        )
        growth = additive
        if self.catches_up:
            growth = 0.19 + 1.34 * cut
            if self.friendly_increase is not None:
                power = self.friendly_increase ** (0.64 + 0.12 * cut)
                growth = power / aimd_loss_factor(process, cut)
        return constant + linear * cut + quadratic * cut**2, growth

    def derivative(
        self, window: CubicWindow, signals: Signals, distance: Any, reno_increase: Any
    ) -> CubicWindow:
        """Rate of change of a state between losses.

        The time since the loss advances only while the window limits the sender (section 5.8). A
        window grows by at most one half of itself per round trip (section 4.2).

        Args:
            window: the state.
            signals: what the sender observes.
            distance: (t - K)^2, s^2, for the time t since the loss; for a group, its mean.
            reno_increase: growth of the Reno-friendly window, packets per round trip.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """
        stop = leaves_slow_start(window.cwnd, signals)
        doubling = window.slow_start * (1 - stop)
        slope = 3 * self.C * distance
        if self.friendly:
            slope = smooth.maximum(slope, reno_increase / signals.rtt)
        slope = smooth.minimum(slope, (STEEPEST - 1) * window.cwnd / signals.rtt)
        decay = window.slow_start / signals.rtt
        running = (1 - window.slow_start) * signals.window_limited
        growth = doubling * signals.ack_rate / signals.ack_every + (1 - doubling) * slope
        return CubicWindow(
            cwnd=signals.window_limited * growth,
            k=-decay * window.k,
            elapsed=running - decay * window.elapsed,
            squared=2 * window.elapsed * running - decay * window.squared,
            slow_start=-decay * stop,
        )

    def after_loss(self, window: CubicWindow, signals: Signals) -> CubicWindow:
        """State after one loss event: a new epoch from beta times the window `window.cwnd`.

        RFC 9438, sections 4.2, 4.6 and 4.7. With fast convergence, a flow whose window is smaller
        than at its loss before takes (1 + beta) / 2 of it as W_max; the new W_max is the mean over
        flows that do so and flows that do not. With periodic losses no flow does, because all its
        losses occur at the same window.
        """
        cut = 1 - self.beta
        converges = self.fast_convergence and signals.loss_process != "periodic"
        smaller = 0.70 - 0.24 * cut if converges else 0.0  # mean fraction of losses
        plateau = cut * window.cwnd * (1 - smaller / 2)
        zero = 0 * window.cwnd
        return CubicWindow(
            cwnd=self.beta * window.cwnd,
            k=smooth.cube_root(plateau / self.C),
            elapsed=zero,
            squared=zero,
            slow_start=zero,
        )

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of the implementation, functions on a flow's record."""
        return IMPLEMENTATIONS[self.implementation or "rfc9438"](self.recovery or "sack")

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rules read from the flow's record, by field name.

        `cubic_c` (packets/s^3), `beta`, `alpha_cubic` (increase of the Reno-friendly window,
        packets per round trip, section 4.3), and switches as 0 or 1.
        """
        return {
            "cubic_c": float(self.C),
            "beta": float(self.beta),
            "alpha_cubic": self.reno_increase,
            "fast_convergence": int(self.fast_convergence),
            "friendly": int(self.friendly),
        }

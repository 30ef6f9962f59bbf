"""TCP Vegas: keep the backlog between alpha and beta packets.

The window grows by one packet per round trip while the estimated backlog is below alpha, shrinks by
one while it is above beta, and is constant between. `VegasImplementation` defines the dialects,
each in its own file (`brakmo`, `ns2`, `ns3`, `linux`), where a sender compares its backlog once a
round trip. Here: the parameters, and the fluid's mean of that rule.

Sources:
    L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995, section IV.
    Fluid: a drift of one packet per round trip with smooth thresholds, the loss cut of the dialect,
    and the base RTT as a state, which follows a smaller RTT within one round trip (derived for this
    project).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, cast

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    aimd_loss_factor,
    leaves_slow_start,
    whole_part,
)
from vegasfluid.congestion.vegas.brakmo import BRAKMO
from vegasfluid.congestion.vegas.implementation import VegasImplementation
from vegasfluid.congestion.vegas.linux import LINUX
from vegasfluid.congestion.vegas.ns2 import NS2
from vegasfluid.congestion.vegas.ns3 import NS3
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import Packets, Positive, is_concrete, require_one_of, require_ordered

__all__ = ["DIALECTS", "Vegas", "VegasWindow"]

MEAN_OVERSHOOT = math.log(2) / 2
"""Growth of the logarithm of the window between reaching gamma and the end of slow start. The
backlog is compared once per doubling, so the mean overshoot is half a doubling."""

DIALECTS = {dialect.name: dialect for dialect in (BRAKMO, NS2, NS3, LINUX)}
"""The implementations of Vegas, by their names in model files."""


class VegasWindow(NamedTuple):
    """State of a Vegas flow, or mean state of a group of flows.

    Args:
        cwnd: congestion window, packets.
        slow_start: fraction of the flows that are in slow start.
        base_rtt: smallest round-trip time measured, s. It is too large for a flow that started when
            there was a queue, and too small for one whose path has become longer.
        threshold: smallest window after a loss, packets (`VegasImplementation.keeps_ssthresh`).
    """

    cwnd: Any
    slow_start: Any
    base_rtt: Any
    threshold: Any


@dataclass(frozen=True)
class Vegas(CongestionControl):
    """TCP Vegas in one of its dialects; missing parameters have the dialect's defaults.

    >>> Vegas().alpha, Vegas(dialect="linux").alpha
    (1, 2)
    """

    name: ClassVar[str] = "vegas"
    learns_base_rtt: ClassVar[bool] = True
    has_dead_band: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("Brakmo and Peterson, IEEE JSAC 13(8), 1995",)
    domains: ClassVar[Mapping[str, tuple[float, float]]] = {
        "slow_start": (0.0, 1.0),
        "base_rtt": (0.0, math.inf),
        "threshold": (0.0, math.inf),
    }

    alpha: Annotated[Packets, Positive] | None = None
    """Backlog below which the window grows, packets; None: the dialect's default."""
    beta: Annotated[Packets, Positive] | None = None
    """Backlog above which the window shrinks, packets; None: the dialect's default."""
    gamma: Annotated[Packets, Positive] | None = None
    """Backlog above which slow start ends, packets; None: the dialect's default."""
    dialect: str = "brakmo"
    """Implementation: brakmo, ns2, ns3 or linux."""
    softness: Annotated[Packets, Positive] = 0.25
    """Width of the fluid model's smooth thresholds of the backlog, packets."""

    def __post_init__(self) -> None:
        require_one_of(self, "dialect", DIALECTS)
        for name in ("alpha", "beta", "gamma"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self.implementation, name))
        super().__post_init__()
        require_ordered(self, "alpha", "beta")
        if self.implementation.whole_packets:
            self._require_whole("alpha", "beta", "gamma")

    def _require_whole(self, *names: str) -> None:
        """Check that the fields `names` (packets) are whole numbers; traced ones pass.

        Raises:
            InvalidInput: for the first one that is not.
        """
        for name in names:
            value = getattr(self, name)
            if is_concrete(value) and value != int(value):
                allowed = f"a whole number in the dialect {self.dialect}"
                raise InvalidInput("Vegas", name, allowed, value)

    @property
    def implementation(self) -> VegasImplementation:
        """Constants and packet rules of the dialect `dialect`."""
        return DIALECTS[self.dialect]

    @property
    def counts_acks(self) -> bool:
        """Whether growth after slow start depends on the number of ACKs, as in some dialects."""
        return self.implementation.steps_per_ack

    @property
    def usual_host(self) -> str:
        """Name of the kind of host whose Vegas this is; `textbook` for the dialect brakmo."""
        return self.dialect if self.dialect in ("ns2", "ns3", "linux") else "textbook"

    @property
    def label(self) -> str:
        """Name for tables and plots, `vegas` with the dialect."""
        return f"{self.name}, {self.dialect}"

    @property
    def whole_thresholds(self) -> bool:
        """Whether alpha, beta and gamma must be whole numbers of packets in the dialect."""
        return self.implementation.whole_packets

    @property
    def recovery_scheme(self) -> str:
        """Name of the recovery scheme that sets the fraction of losses that end in a timeout.

        It is `timeouts_like` of the dialect, or else the scheme of its packet rules.
        """
        return self.implementation.timeouts_like or self.rules.recovery

    @property
    def equilibrium_backlogs(self) -> tuple[Any, Any]:
        """Equilibrium backlogs of a growing and of a shrinking window, packets.

        A window steps over a dead band that is narrower than a step; both are then its middle.
        """
        alpha, beta = cast(Any, self.alpha), cast(Any, self.beta)
        low, high = alpha + self.implementation.alpha_offset, beta + self.implementation.beta_offset
        if self.implementation.alpha_offset <= self.implementation.beta_offset:
            return low, high
        middle = smooth.positive_part(low - high) / 2
        return low - middle, high + middle

    def init(self, cwnd: Any, rtt: Any) -> VegasWindow:
        """Initial state: slow start with the window `cwnd` (packets), and `rtt` (s) as base RTT."""
        return VegasWindow(cwnd, cwnd / cwnd, rtt + 0 * cwnd, 0 * cwnd)

    def stationary_fields(self, window: VegasWindow, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """Fields of the state that no longer change at equilibrium, by name, with their values.

        `slow_start` is 0, `base_rtt` is `base_rtt` (s), the one that the flow has measured. In
        dialects without `keeps_ssthresh`, `threshold` is 0 packets; in others it is not included.
        """
        zero = 0 * window.cwnd
        fields = {"slow_start": zero, "base_rtt": base_rtt + zero}
        return fields if self.implementation.keeps_ssthresh else fields | {"threshold": zero}

    def upper_variant(self) -> Vegas:
        """Vegas whose only equilibrium has the largest backlog of this one's dead band.

        Its alpha gives a growing window the equilibrium backlog of a shrinking one.
        """
        alpha = self.equilibrium_backlogs[1] - self.implementation.alpha_offset
        return replace(self, alpha=alpha, beta=cast(Any, self.beta) + self.softness)

    def in_flight(self, window: VegasWindow, rtt: Any) -> Any:
        """Packets in flight: the window minus the fraction of a packet that is on average not sent.

        Only whole packets are sent. The fraction is 1/2 for flows that recover from a loss, and
        `unsent_fraction` of the dialect for flows at equilibrium. Window and RTT give the backlog,
        and the backlog the fraction of the flows that recover.

        Args:
            window: state of a flow, or mean state of a group.
            rtt: round-trip time, s.
        """
        divisor = window.base_rtt if self.implementation.divides_by_base_rtt else rtt
        backlog = window.cwnd * (rtt - window.base_rtt) / divisor
        recovering = self.recovering_fraction(backlog)
        unsent = (1 - recovering) * 2 * self.implementation.unsent_fraction
        return whole_part(window.cwnd, recovering + unsent)

    def sample(self, window: VegasWindow, signals: Signals) -> Any:
        """Round-trip time, s, from which the dialect estimates the backlog.

        It is the mean RTT. In dialects with `uses_min_rtt` it is the expected smallest RTT of the
        n = `cwnd` samples of a round trip. These are uniform over the mean RTT +- `jitter` / 2, so
        the smallest is on average `jitter` / (n + 1) above the lower end.

        Args:
            window: state of a flow.
            signals: what the sender observes.
        """
        if not self.implementation.uses_min_rtt:
            return signals.rtt
        return signals.rtt - signals.jitter / 2 + signals.jitter / (window.cwnd + 1)

    def backlog(self, window: VegasWindow, signals: Signals) -> Any:
        """Backlog of a flow, packets, as the dialect estimates it from window, RTT and base RTT.

        It is cwnd (rtt - base) / rtt, for Linux cwnd (rtt - base) / base.
        """
        sample = self.sample(window, signals)
        divisor = window.base_rtt if self.implementation.divides_by_base_rtt else sample
        return window.cwnd * (sample - window.base_rtt) / divisor

    def increment(self, cwnd: Any, grow: Any, backlog: Any, signals: Signals) -> Any:
        """Growth of the window after slow start, packets per round trip, from -1 to 1.

        Args:
            cwnd: congestion window, packets.
            grow: fraction of the flows that grow by Vegas's rule.
            backlog: estimated backlog, packets.
            signals: what the sender observes, of which `reordering` is used.
        """
        shrink = smooth.step(backlog - self.equilibrium_backlogs[1], self.softness)
        as_reno = 0.0
        if self.implementation.min_samples:
            as_reno = smooth.step(self.implementation.min_samples - cwnd, 1.0)
        if self.implementation.reno_during_reordering:
            as_reno = as_reno + (1 - as_reno) * signals.reordering
        return as_reno + (1 - as_reno) * (grow - shrink)

    def growth(self, window: VegasWindow, signals: Signals) -> VegasWindow:
        """Rate of change of a flow's state between losses, each field in its unit per second.

        After slow start the window changes by at most one packet per round trip, up below alpha or
        down above beta; slow start is the dialect's.
        """
        backlog = self.backlog(window, signals)
        grow = smooth.step(self.equilibrium_backlogs[0] - backlog, self.softness)
        return self.derivative(window, signals, backlog, grow)

    def drift(self, window: VegasWindow, signals: Signals) -> VegasWindow:
        """Mean rate of change of the state of a group of flows, by growth and by losses.

        Some of the flows recover from a loss, and the others are at equilibrium.

        Args:
            window: mean state of a group of flows; all fields have the same shape.
            signals: what the senders observe, of the same shape.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """
        backlog = self.backlog(window, signals)
        growth = self.derivative(window, signals, backlog, self.recovering_fraction(backlog))
        return self.with_losses(window, growth, signals)

    def recovering_fraction(self, backlog: Any) -> Any:
        """Fraction of the flows that recover from a loss, from their mean backlog (packets).

        A flow that loses the fraction b of its window W grows for b W round trips, on average
        b W / 2 below its equilibrium. If a small fraction f of the flows recovers, the mean is
        s = f in units of b W / 2 below equilibrium. Flows with further losses are further below:
        f = 1 - exp(-s) is within 5 % of the value for independent losses, from rare losses to so
        frequent ones that no flow reaches its equilibrium (simulated for this project, see its
        tests).
        """
        width = smooth.maximum(self.implementation.loss_cut * backlog / 2, self.softness)
        return 1 - smooth.exp(-smooth.positive_part(self.equilibrium_backlogs[0] - backlog) / width)

    def derivative(
        self, window: VegasWindow, signals: Signals, backlog: Any, grow: Any
    ) -> VegasWindow:
        """Rate of change of a state between losses.

        Args:
            window: the state.
            signals: what the sender observes.
            backlog: estimated backlog, packets.
            grow: fraction of the flows that grow.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """
        implementation = self.implementation
        reached = leaves_slow_start(window.cwnd, signals)
        full = smooth.step(backlog - self.gamma, self.softness)
        gamma_exit = full / (MEAN_OVERSHOOT * implementation.slow_start_rounds)
        doubling = window.slow_start * (1 - reached)
        increment = self.increment(window.cwnd, grow, backlog, signals)
        avoidance = (1 - doubling) * increment / window.cwnd
        acks = signals.ack_rate / (signals.ack_every if implementation.steps_per_ack else 1.0)
        growth = (doubling / implementation.slow_start_rounds + avoidance) * acks
        exit_rate = window.slow_start / signals.rtt
        min_rtt = signals.rtt - signals.jitter / 2 - signals.min_rtt_offset
        base_rtt_rate = -smooth.positive_part(window.base_rtt - min_rtt) / signals.rtt
        if implementation.resets_base_rtt_at_timeout:
            base_rtt_rate = base_rtt_rate + signals.timeout_rate * (min_rtt - window.base_rtt)
        return VegasWindow(
            cwnd=growth - implementation.slow_start_cut * exit_rate * gamma_exit * window.cwnd,
            slow_start=-exit_rate * (reached + gamma_exit),
            base_rtt=base_rtt_rate,
            threshold=self.threshold_derivative(window, signals),
        )

    def after_loss(self, window: VegasWindow, signals: Signals) -> VegasWindow:
        """State after one loss event: the window minus the dialect's loss cut, no slow start.

        With `keeps_ssthresh`, it is at least the smaller of `threshold` and the window before the
        loss minus one packet.
        """
        left = (1 - self.implementation.loss_cut) * window.cwnd
        if self.implementation.keeps_ssthresh:
            left = smooth.maximum(left, smooth.minimum(window.threshold, window.cwnd - 1))
        return window._replace(cwnd=left, slow_start=0 * window.slow_start)

    def threshold_derivative(self, window: VegasWindow, signals: Signals) -> Any:
        """Time derivative of `threshold`, the smallest window after a loss, packets/s.

        0 in dialects without `keeps_ssthresh`. For a loss that cuts a fraction b of the window, the
        threshold approaches (1 - b) times the window from below, and falls while it is less than 1
        packet below the window; the time constant is a round trip. A loss raises it to (1 - b)
        times the flow's window if that is higher. The excess of a flow's window over the threshold
        is modelled as exponential, with the mean of the group, at least 1 packet.
        """
        if not self.implementation.keeps_ssthresh:
            return 0 * window.threshold
        kept, above = 1 - self.implementation.loss_cut, window.cwnd - window.threshold
        change = smooth.positive_part(kept * window.cwnd - window.threshold)
        change = change - smooth.positive_part(1 - above)
        mean = smooth.maximum(above, 1.0)
        distance = window.threshold * self.implementation.loss_cut / kept
        by_losses = signals.loss_rate * kept * mean * smooth.exp(-distance / mean)
        return change / signals.rtt + by_losses

    def loss_factor(self, process: str, window: VegasWindow) -> Any:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is the factor of additive increase (`aimd_loss_factor`) with the dialect's cut b, as for
        a Vegas whose window only losses limit: 1 for `meanfield`, 2 / (2 - b) for `periodic`, and
        (4 - b) / (4 - 2 b) for `iid`.

        Args:
            process: a name in `LOSS_PROCESSES`.
            window: the state; not used.
        """
        return aimd_loss_factor(process, self.implementation.loss_cut)

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of the dialect, functions on a flow's record."""
        return self.implementation.rules

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rules read: alpha, beta and gamma, packets."""
        return {name: float(getattr(self, name)) for name in ("alpha", "beta", "gamma")}

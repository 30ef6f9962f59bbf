"""TCP Vegas: hold between alpha and beta packets of one's own in the queue.

The window grows by one packet a round trip while the estimated backlog is below alpha, shrinks by
one while it is above beta, and stays between. `VegasImplementation` says whose implementation.

Sources:
    L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995, section IV.
    Fluid: the same rule as a drift of one packet a round trip, with a smooth edge, the loss cut
    of the dialect, and the base RTT as a state that follows what is smaller within a round trip
    (derived for this project).
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
from vegasfluid.quantities import Packets, Positive, is_concrete, require_ordered

__all__ = ["DIALECTS", "Vegas", "VegasWindow"]

MEAN_OVERSHOOT = math.log(2) / 2
"""Slow start looks at gamma only once a doubling, so on average it overshoots by half of one: a
flow above gamma leaves at such a rate that its window still grows by the square root of 2."""

DIALECTS = {dialect.name: dialect for dialect in (BRAKMO, NS2, NS3, LINUX)}


class VegasWindow(NamedTuple):
    """The state of a Vegas flow.

    Args:
        cwnd: congestion window, packets.
        slow_start: the share of the flows that are in slow start.
        base_rtt: the smallest round-trip time that it has seen, s: too large for a flow that
            started into a standing queue, and for one whose way has become longer.
        threshold: what a loss leaves at least, packets (see `VegasImplementation.keeps_ssthresh`).
    """

    cwnd: Any
    slow_start: Any
    base_rtt: Any
    threshold: Any


@dataclass(frozen=True)
class Vegas(CongestionControl):
    """TCP Vegas in one of its dialects; what is not given has the dialect's default.

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
    """Backlog below which the window grows."""
    beta: Annotated[Packets, Positive] | None = None
    """Backlog above which the window shrinks."""
    gamma: Annotated[Packets, Positive] | None = None
    """Backlog at which slow start ends."""
    dialect: str = "brakmo"
    """Whose Vegas: brakmo, ns2, ns3 or linux."""
    softness: Annotated[Packets, Positive] = 0.25
    """Width of backlog over which the fluid's comparisons are blurred."""

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            allowed = "one of " + ", ".join(DIALECTS)
            raise InvalidInput("Vegas", "dialect", allowed, self.dialect)
        for name in ("alpha", "beta", "gamma"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self.implementation, name))
        super().__post_init__()
        require_ordered(self, "alpha", "beta")
        if self.implementation.whole_packets:
            self._require_whole("alpha", "beta", "gamma")

    def _require_whole(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if is_concrete(value) and value != int(value):
                allowed = f"a whole number in the dialect {self.dialect}"
                raise InvalidInput("Vegas", name, allowed, value)

    @property
    def implementation(self) -> VegasImplementation:
        """The constants and rules of the dialect."""
        return DIALECTS[self.dialect]

    @property
    def label(self) -> str:
        """Name and dialect."""
        return f"{self.name}, {self.dialect}"

    @property
    def whole_thresholds(self) -> bool:
        """Whether the dialect's thresholds must be whole numbers of packets."""
        return self.implementation.whole_packets

    @property
    def recovery_scheme(self) -> str:
        """Recovery scheme of whose timeouts the fluid has as many: that of the packet rules, where
        the dialect names no other.
        """
        return self.implementation.timeouts_like or self.rules.recovery

    @property
    def equilibrium_backlogs(self) -> tuple[Any, Any]:
        """The equilibrium backlogs of a growing and of a shrinking window, packets.

        A dead zone that is narrower than a step is stepped over in both directions: then it is
        one point, in the middle of the two.
        """
        alpha, beta = cast(Any, self.alpha), cast(Any, self.beta)
        low, high = alpha + self.implementation.alpha_offset, beta + self.implementation.beta_offset
        if self.implementation.alpha_offset <= self.implementation.beta_offset:
            return low, high
        middle = smooth.positive_part(low - high) / 2
        return low - middle, high + middle

    def init(self, cwnd: Any, rtt: Any) -> VegasWindow:
        """Slow start, with the first packet's round-trip time for the base."""
        return VegasWindow(cwnd, cwnd / cwnd, rtt + 0 * cwnd, 0 * cwnd)

    def stationary_fields(self, window: VegasWindow, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """Out of slow start, with the base RTT that was found."""
        nothing = 0 * window.cwnd
        found = {"slow_start": nothing, "base_rtt": base_rtt + nothing}
        return found if self.implementation.keeps_ssthresh else found | {"threshold": nothing}

    def upper_variant(self) -> Vegas:
        """With alpha where a shrinking window rests."""
        place = self.equilibrium_backlogs[1] - self.implementation.alpha_offset
        return replace(self, alpha=place, beta=cast(Any, self.beta) + self.softness)

    def in_flight(self, window: VegasWindow, rtt: Any) -> Any:
        """Where the window climbs, half a packet is not sent; at rest as the dialect has it."""
        divisor = window.base_rtt if self.implementation.divides_by_base_rtt else rtt
        backlog = window.cwnd * (rtt - window.base_rtt) / divisor
        recovering = self.recovering_fraction(backlog)
        unsent = (1 - recovering) * 2 * self.implementation.unsent_fraction
        return whole_part(window.cwnd, recovering + unsent)

    def sample(self, window: VegasWindow, seen: Signals) -> Any:
        """The round-trip time by which the dialect judges a round, s.

        The smallest of n numbers that are uniform over a width is on average a part 1 / (n + 1)
        of the width above the lower end.
        """
        if not self.implementation.uses_min_rtt:
            return seen.rtt
        return seen.rtt - seen.jitter / 2 + seen.jitter / (window.cwnd + 1)

    def backlog(self, window: VegasWindow, seen: Signals) -> Any:
        """The dialect's estimate of the flow's own packets in the queue, packets."""
        sample = self.sample(window, seen)
        divisor = window.base_rtt if self.implementation.divides_by_base_rtt else sample
        return window.cwnd * (sample - window.base_rtt) / divisor

    def increment(self, cwnd: Any, grow: Any, backlog: Any, seen: Signals) -> Any:
        """Packets that a round trip adds after slow start, from -1 to 1."""
        shrink = smooth.step(backlog - self.equilibrium_backlogs[1], self.softness)
        as_reno = 0.0
        if self.implementation.min_samples:
            as_reno = smooth.step(self.implementation.min_samples - cwnd, 1.0)
        if self.implementation.reno_during_reordering:
            as_reno = as_reno + (1 - as_reno) * seen.reordering
        return as_reno + (1 - as_reno) * (grow - shrink)

    def growth(self, window: VegasWindow, seen: Signals) -> VegasWindow:
        """One packet a round trip up or down; slow start at the dialect's pace."""
        backlog = self.backlog(window, seen)
        grow = smooth.step(self.equilibrium_backlogs[0] - backlog, self.softness)
        return self.derivative(window, seen, backlog, grow)

    def drift(self, window: VegasWindow, seen: Signals) -> VegasWindow:
        """The mean of flows that climb back after losses, and of flows that are at rest."""
        backlog = self.backlog(window, seen)
        moved = self.derivative(window, seen, backlog, self.recovering_fraction(backlog))
        return self.with_losses(window, moved, seen)

    def recovering_fraction(self, backlog: Any) -> Any:
        """The share of the flows that climb back after a loss, told by their mean backlog.

        A flow that loses the share b of its window W climbs for b W round trips, on average b W / 2
        below its place of rest: so where a small share f of the flows climbs, the mean is f b W / 2
        below it, and f is the distance s of the mean in units of b W / 2. Flows that are hit again
        on their way are further below: f = 1 - exp(-s) is within 5 % of what independent losses
        give, from rare ones to so many that no flow gets there (drawn for this project, and in
        its tests).
        """
        width = smooth.maximum(self.implementation.loss_cut * backlog / 2, self.softness)
        return 1 - smooth.exp(-smooth.positive_part(self.equilibrium_backlogs[0] - backlog) / width)

    def derivative(
        self, window: VegasWindow, seen: Signals, backlog: Any, grow: Any
    ) -> VegasWindow:
        """The rate of change between losses, where the share `grow` of the flows grows."""
        implementation = self.implementation
        reached = leaves_slow_start(window.cwnd, seen)
        full = smooth.step(backlog - self.gamma, self.softness)
        heed = full / (MEAN_OVERSHOOT * implementation.slow_start_rounds)
        doubling = window.slow_start * (1 - reached)
        stepping = (1 - doubling) * self.increment(window.cwnd, grow, backlog, seen) / window.cwnd
        acks = seen.ack_rate / (seen.ack_every if implementation.steps_per_ack else 1.0)
        growth = (doubling / implementation.slow_start_rounds + stepping) * acks
        leaving = window.slow_start / seen.rtt
        lowest = seen.rtt - seen.jitter / 2 - seen.min_rtt_offset
        settling = -smooth.positive_part(window.base_rtt - lowest) / seen.rtt
        if implementation.resets_base_rtt_at_timeout:
            settling = settling + seen.timeout_rate * (lowest - window.base_rtt)
        return VegasWindow(
            cwnd=growth - implementation.slow_start_cut * leaving * heed * window.cwnd,
            slow_start=-leaving * (reached + heed),
            base_rtt=settling,
            threshold=self.threshold_derivative(window, seen),
        )

    def after_loss(self, window: VegasWindow, seen: Signals) -> VegasWindow:
        """The dialect's loss cut."""
        left = (1 - self.implementation.loss_cut) * window.cwnd
        if self.implementation.keeps_ssthresh:
            left = smooth.maximum(left, smooth.minimum(window.threshold, window.cwnd - 1))
        return window._replace(cwnd=left, slow_start=0 * window.slow_start)

    def threshold_derivative(self, window: VegasWindow, seen: Signals) -> Any:
        """d(threshold)/dt, packets/s.

        It follows (1 - b) times the window of each flow upwards, and falls with the window. Losses
        find single windows above the threshold by about an exponential number whose mean is that
        of the class, and raise it by what is beyond.
        """
        if not self.implementation.keeps_ssthresh:
            return 0 * window.threshold
        left, above = 1 - self.implementation.loss_cut, window.cwnd - window.threshold
        moved = smooth.positive_part(left * window.cwnd - window.threshold)
        moved = moved - smooth.positive_part(1 - above)
        mean = smooth.maximum(above, 1.0)
        reach = window.threshold * self.implementation.loss_cut / left
        return moved / seen.rtt + seen.loss_rate * left * mean * smooth.exp(-reach / mean)

    def loss_factor(self, process: str, window: VegasWindow) -> Any:
        """That of additive increase with the dialect's cut, which a saturated Vegas is."""
        return aimd_loss_factor(process, self.implementation.loss_cut)

    @property
    def rules(self) -> PacketRules:
        """The packet rules of the dialect."""
        return self.implementation.rules

    def packet_parameters(self) -> dict[str, float]:
        """alpha, beta and gamma, packets."""
        return {name: float(getattr(self, name)) for name in ("alpha", "beta", "gamma")}

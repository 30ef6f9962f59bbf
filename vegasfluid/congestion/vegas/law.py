"""TCP Vegas: hold between alpha and beta packets of one's own in the queue.

The window grows by one packet a round trip while the estimated backlog is below alpha, shrinks by
one while it is above beta, and rests between. `Dialect` says whose implementation it is.

Sources:
    L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995, section IV.
    Fluid: the same rule as a drift of one packet a round trip, with a smooth edge, and the loss
    cut of the dialect (derived for this project).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from vegasfluid import smooth
from vegasfluid.congestion.law import (
    AbstractWindowLaw,
    Feedback,
    PacketRules,
    Window,
    leave_slow_start,
)
from vegasfluid.congestion.vegas.brakmo import BRAKMO
from vegasfluid.congestion.vegas.dialect import Dialect
from vegasfluid.congestion.vegas.linux import LINUX
from vegasfluid.congestion.vegas.ns2 import NS2
from vegasfluid.congestion.vegas.ns3 import NS3
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import Packets, Positive, is_concrete, require_ordered

__all__ = ["DIALECTS", "Vegas"]

MEAN_OVERSHOOT = math.log(2) / 2
"""Slow start looks at gamma only once a doubling, so on average it overshoots by half of one: a
flow above gamma leaves at such a rate that its window still grows by the square root of 2."""

DIALECTS = {dialect.name: dialect for dialect in (BRAKMO, NS2, NS3, LINUX)}


@dataclass(frozen=True)
class Vegas(AbstractWindowLaw):
    """TCP Vegas in one of its dialects; what is not given has the dialect's default.

    >>> Vegas().alpha, Vegas(dialect="linux").alpha
    (1, 2)
    """

    name: ClassVar[str] = "vegas"
    sources: ClassVar[tuple[str, ...]] = ("Brakmo and Peterson, IEEE JSAC 13(8), 1995",)

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
                object.__setattr__(self, name, getattr(self.spoken, name))
        super().__post_init__()
        require_ordered(self, "alpha", "beta")
        if self.spoken.whole_packets:
            self._require_whole("alpha", "beta", "gamma")

    def _require_whole(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if is_concrete(value) and value != int(value):
                allowed = f"a whole number in the dialect {self.dialect}"
                raise InvalidInput("Vegas", name, allowed, value)

    @property
    def spoken(self) -> Dialect:
        """The constants and rules of the dialect."""
        return DIALECTS[self.dialect]

    @property
    def rests(self) -> tuple[Any, Any]:
        """Where a growing and a shrinking window come to rest, packets of backlog."""
        alpha, beta = cast(Any, self.alpha), cast(Any, self.beta)
        return alpha + self.spoken.rise, beta + self.spoken.fall

    def backlog(self, window: Window, seen: Feedback) -> Any:
        """The dialect's estimate of the flow's own packets in the queue, packets."""
        divisor = seen.base_rtt if self.spoken.over_base else seen.rtt
        return window.cwnd * (seen.rtt - seen.base_rtt) / divisor

    def drift(self, window: Window, seen: Feedback) -> Window:
        """One packet a round trip up or down, slow start at the dialect's pace, its loss cut."""
        spoken, backlog = self.spoken, self.backlog(window, seen)
        reached = smooth.step(window.cwnd - seen.initial_ssthresh, 1.0)
        full = smooth.step(backlog - self.gamma, self.softness)
        heed = full / (MEAN_OVERSHOOT * spoken.slow_start_rounds)
        doubling = window.slow_start * (1 - reached)
        low, high = self.rests
        grow = smooth.step(low - backlog, self.softness)
        shrink = smooth.step(backlog - high, self.softness)
        stepping = (1 - doubling) * (grow - shrink) / window.cwnd
        growth = (doubling / spoken.slow_start_rounds + stepping) * seen.ack_rate
        leaving = leave_slow_start(window, seen, reached + heed)
        retreat = spoken.slow_start_cut * window.slow_start * heed / seen.rtt
        cut = spoken.loss_cut * seen.loss_rate + retreat
        return Window(growth - cut * window.cwnd, leaving)

    @property
    def rules(self) -> PacketRules:
        """The packet rules of the dialect."""
        return self.spoken.rules

    def packet_parameters(self) -> dict[str, float]:
        """alpha, beta and gamma, packets."""
        return {name: float(getattr(self, name)) for name in ("alpha", "beta", "gamma")}

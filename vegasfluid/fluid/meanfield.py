"""A class of flows by its mean: every flow of a group has the group's window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.senders import Change, SendersNow, mean_change, mean_growing

__all__ = ["MeanField"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MeanField:
    """The one-point closure of a law.

    Args:
        law: of the class.
    """

    law: CongestionControl

    def begin(self, cwnd: Any, rtt: Any) -> Any:
        """The state of flows that start, from initial window and first RTT; both (groups,)."""
        return self.law.init(cwnd, rtt)

    def cwnd(self, state: Any, rtt: Any) -> Any:
        """The mean window, packets; (groups,)."""
        return self.law.cwnd_of(state, rtt)

    def variance(self, state: Any, rtt: Any) -> Any:
        """The variance of the windows: none is known; (groups,)."""
        return 0 * self.cwnd(state, rtt)

    def in_flight(self, state: Any, rtt: Any) -> Any:
        """The mean number of packets that the windows allow; (groups,)."""
        return self.law.in_flight(state, rtt)

    def change(self, state: Any, now: SendersNow, options: FluidOptions) -> Change:
        """What happens to the flows."""
        return mean_change(state, self.law, now, options)

    def growing(self, state: Any, now: SendersNow, options: FluidOptions) -> Any:
        """Packets/s by which a window grows, losses left aside; (groups,)."""
        return mean_growing(state, self.law, now, options)

    def within(self, state: Any, largest: Any) -> Any:
        """The state held where it makes sense."""
        return self.law.clip(state, largest)

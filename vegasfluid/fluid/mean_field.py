"""A class of flows represented by its mean: every flow of a group has the group's window."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.senders import (
    ClassDerivative,
    SenderSignals,
    mean_derivative,
    mean_window_growth,
)
from vegasfluid.fluid.shapes import LawState, PerGroup

__all__ = ["MeanField"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MeanField:
    """The mean windows of a class (the one-point closure of its congestion control).

    Args:
        law: congestion control of the class.
    """

    law: CongestionControl

    def initial_state(self, cwnd: PerGroup, rtt: PerGroup) -> LawState:
        """State of the class before the first packet, in slow start.

        Args:
            cwnd: initial window, packets.
            rtt: first round-trip time, s.
        """
        return self.law.init(cwnd, rtt)

    def cwnd(self, state: LawState, rtt: PerGroup) -> PerGroup:
        """Mean window of the flows of each group at round-trip times (s), packets."""
        return self.law.cwnd_of(state, rtt)

    def variance(self, state: LawState, rtt: PerGroup) -> PerGroup:
        """Variance of the windows of the flows of each group, packets^2: 0 in the mean model."""
        return 0 * self.cwnd(state, rtt)

    def in_flight(self, state: LawState, rtt: PerGroup) -> PerGroup:
        """Mean number of packets in flight that the windows allow at RTTs (s), for each group."""
        return self.law.in_flight(state, rtt)

    def derivative(
        self, state: LawState, senders: SenderSignals, options: FluidOptions
    ) -> ClassDerivative:
        """Time derivative of the mean state, and rates of loss events and timeouts.

        Args:
            state: mean state of each group.
            senders: what the senders observe.
            options: modelling options.

        Returns:
            d(state)/dt, each field in its unit per second; loss events and timeouts of a flow that
            is not in a timeout, 1/s.
        """
        return mean_derivative(state, self.law, senders, options)

    def window_growth(
        self, state: LawState, senders: SenderSignals, options: FluidOptions
    ) -> PerGroup:
        """Growth rate of each group's mean window without losses, packets/s; (groups,)."""
        return mean_window_growth(state, self.law, senders, options)

    def clip(self, state: LawState, largest: PerGroup) -> LawState:
        """The state clipped to its domain, with windows of at most `largest` packets."""
        return self.law.clip(state, largest)

"""Flows told apart by their windows: cells of a lattice of windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    CongestionControl,
    Signals,
)
from vegasfluid.congestion.loss_recovery import (
    SMALLEST_SSTHRESH,
)
from vegasfluid.fluid.mesh import Mesh, deposit, transport

__all__ = ["WindowMesh"]

Groups = Float[Array, "groups"]
Masses = Float[Array, "groups cells"]


class WindowMesh(NamedTuple):
    """The window tells all that flows of a group differ by.

    Args:
        windows: packets.
    """

    windows: Mesh

    def of_law(self, law: CongestionControl) -> WindowMesh:
        """The cells of a law."""
        return self

    @property
    def free(self) -> int:
        """How many cells there are for flows that may grow."""
        return len(self.windows.edges) - 1

    @property
    def mending(self) -> int:
        """How many there are for flows that repair a loss."""
        return self.free

    def states(self, law: CongestionControl, common: Any, rtt: Groups) -> Any:
        """The law's state in each cell of flows that may grow; (groups, cells).

        Args:
            law: of the flows.
            common: what the flows of each group have in common, as a state of the law.
            rtt: s.
        """
        return alone(common, self.windows.centres)

    def mending_states(self, law: CongestionControl, common: Any, rtt: Groups) -> Any:
        """The same of flows that repair a loss; (groups, mending)."""
        return alone(common, self.windows.centres)

    def rising(self, law: CongestionControl, rtt: Groups, change: Any) -> Masses:
        """Packets/s by which the windows of the cells grow.

        Args:
            law: of the flows.
            rtt: s.
            change: of the states of the cells, as the law has it.
        """
        return smooth.maximum(change.cwnd, 0.0)

    def carried(
        self, masses: Masses, common: Any, change: Any, growth: Callable[[Any], Any]
    ) -> Masses:
        """The rate at which growth carries flows from cell to cell, 1/s.

        Args:
            masses: share of the flows in each cell.
            common: what they have in common.
            change: of the states of the cells.
            growth: the law's, of any states.
        """
        speed = growth(alone(common, self.windows.edges[1:-1])).cwnd
        return transport(masses, speed, self.windows)

    def hit(self, masses: Masses, states: Any, law: CongestionControl, seen: Signals) -> Masses:
        """Flows that a loss hits, where their repair finds them; (groups, mending).

        Args:
            masses: flows a second in the states.
            states: of the law, before.
            law: of the flows.
            seen: what they see.
        """
        left = smooth.maximum(law.after_loss(states, seen).cwnd, SMALLEST_SSTHRESH)
        return deposit(masses, smooth.minimum(left, states.cwnd), self.windows)

    def mended(self, masses: Masses) -> Masses:
        """Flows whose repair ends, where they begin to grow; (groups, free)."""
        return masses

    def grown_up(self, masses: Groups, windows: Groups, law: CongestionControl) -> Masses:
        """Flows whose slow start ends without a loss, where they go on; (groups, free)."""
        return deposit(masses[:, None], windows[:, None], self.windows)


def alone(common: Any, windows: Any) -> Any:
    """The law's state of flows with these windows, out of slow start; (groups, windows)."""
    nothing = jnp.zeros((*common.cwnd.shape, len(windows)))
    spread = jax.tree.map(lambda leaf: leaf[..., None] + nothing, common)
    return spread._replace(cwnd=windows + nothing, slow_start=nothing)

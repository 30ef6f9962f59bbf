"""Distribution over windows: the flows of a group differ by their congestion windows only."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.fluid.mesh import Mesh, advect, deposit
from vegasfluid.fluid.shapes import LawState, PerGroup

__all__ = ["WindowMesh"]

Masses = Float[Array, "groups cells"]
"""One number for each cell, mostly the fraction of the group's flows in it, or its rate, 1/s."""


class WindowMesh(NamedTuple):
    """Cells of congestion windows, for congestion controls whose flows differ by window only.

    Args:
        windows: cells of windows, packets.
    """

    windows: Mesh

    def for_law(self, law: CongestionControl) -> WindowMesh:
        """The mesh itself: it is the same for all congestion controls."""
        return self

    @property
    def cells(self) -> int:
        """Number of cells for flows that are not in recovery."""
        return len(self.windows.edges) - 1

    @property
    def recovery_cells(self) -> int:
        """Number of cells for flows in recovery."""
        return self.cells

    def states(self, law: CongestionControl, shared: LawState, rtt: PerGroup) -> LawState:
        """State of the congestion control in each cell of flows outside recovery; (groups, cells).

        Args:
            law: congestion control of the class.
            shared: state whose fields other than the window all flows of a group share.
            rtt: round-trip time, s; unused.

        Returns:
            The states; the window (packets) of a cell is its midpoint.
        """
        return outside_slow_start(shared, self.windows.centres)

    def recovery_states(self, law: CongestionControl, shared: LawState, rtt: PerGroup) -> LawState:
        """State of the congestion control in each cell of flows in recovery.

        The window (packets) of a cell is its midpoint; (groups, recovery_cells).
        """
        return outside_slow_start(shared, self.windows.centres)

    def window_growth(self, law: CongestionControl, rtt: PerGroup, derivative: LawState) -> Masses:
        """Rate, at least 0, at which a window in each cell grows without losses, packets/s.

        Args:
            law: congestion control of the class; unused.
            rtt: round-trip time, s; unused.
            derivative: derivative of the law's state in each cell.
        """
        return smooth.maximum(derivative.cwnd, 0.0)

    def advection(
        self,
        masses: Masses,
        shared: LawState,
        derivative: LawState,
        growth: Callable[[LawState], LawState],
    ) -> Masses:
        """Change of the flows in each cell, 1/s, as growth moves their windows between cells.

        Args:
            masses: fraction of the flows in each cell; (groups, cells).
            shared: state whose fields other than the window all flows of a group share.
            derivative: unused.
            growth: maps states of the law to their derivative, apart from losses.
        """
        speed = growth(outside_slow_start(shared, self.windows.edges[1:-1])).cwnd
        return advect(masses, speed, self.windows)

    def after_loss(
        self, masses: Masses, states: LawState, law: CongestionControl, signals: Signals
    ) -> Masses:
        """Loss events, fraction of the flows per second, by the cell of the window after the loss.

        The flows are then in recovery; shape (groups, recovery_cells). The window after a loss is
        at least `SMALLEST_SSTHRESH`, but never larger than the window before it.

        Args:
            masses: loss events in each cell, fraction of the flows per second; (groups, cells).
            states: the law's states in these cells before the loss.
            law: congestion control of the class.
            signals: what these flows observe.
        """
        reduced = smooth.maximum(law.after_loss(states, signals).cwnd, SMALLEST_SSTHRESH)
        return deposit(masses, smooth.minimum(reduced, states.cwnd), self.windows)

    def after_recovery(self, masses: Masses) -> Masses:
        """Flows whose recovery ends, fraction per second, by the cell that they enter.

        It is `masses`, the flows by recovery cell, as their windows do not change; (groups, cells).
        """
        return masses

    def leave_slow_start(
        self, masses: PerGroup, windows: PerGroup, law: CongestionControl
    ) -> Masses:
        """Flows whose slow start ends without a loss, 1/s, by the cell that they enter.

        Args:
            masses: fraction of the flows of each group, 1/s.
            windows: their windows, packets.
            law: congestion control of the class; unused.

        Returns:
            The same flows by cell; (groups, cells).
        """
        return deposit(masses[:, None], windows[:, None], self.windows)


def outside_slow_start(shared: LawState, windows: np.ndarray) -> LawState:
    """The law's state of flows with the given windows, outside slow start; (groups, windows).

    Args:
        shared: state whose fields other than the window all flows of a group share.
        windows: packets; (windows,).
    """
    zero = jnp.zeros((*shared.cwnd.shape, len(windows)))
    states = jax.tree.map(lambda leaf: leaf[..., None] + zero, shared)
    return states._replace(cwnd=windows + zero, slow_start=zero)

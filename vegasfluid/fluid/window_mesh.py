"""Distribution over windows: the flows of a group differ by their congestion windows only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.fluid.mesh import Mesh, advect, deposit
from vegasfluid.fluid.shapes import PerGroup

__all__ = ["WindowMesh"]

Masses = Float[Array, "groups cells"]


class WindowMesh(NamedTuple):
    """Cells of congestion windows, for laws whose flows differ by their window only.

    Args:
        windows: the cells, packets.
    """

    windows: Mesh

    def for_law(self, law: CongestionControl) -> WindowMesh:
        """The mesh for a congestion control: the same for all of them."""
        return self

    @property
    def cells(self) -> int:
        """Number of cells for flows that are not in recovery."""
        return len(self.windows.edges) - 1

    @property
    def recovery_cells(self) -> int:
        """Number of cells for flows in recovery."""
        return self.cells

    def states(self, law: CongestionControl, shared: Any, rtt: PerGroup) -> Any:
        """The law's state in each cell of flows that are not in recovery; (groups, cells).

        Args:
            law: congestion control of the class.
            shared: what the flows of each group have in common, as a state of the law.
            rtt: s.
        """
        return outside_slow_start(shared, self.windows.centres)

    def recovery_states(self, law: CongestionControl, shared: Any, rtt: PerGroup) -> Any:
        """The law's state in each cell of flows in recovery; (groups, recovery_cells)."""
        return outside_slow_start(shared, self.windows.centres)

    def window_growth(self, law: CongestionControl, rtt: PerGroup, derivative: Any) -> Masses:
        """Growth of the window in each cell, packets/s, not below 0.

        Args:
            law: congestion control of the class.
            rtt: s.
            derivative: of the law's state in each cell.
        """
        return smooth.maximum(derivative.cwnd, 0.0)

    def advection(
        self, masses: Masses, shared: Any, derivative: Any, growth: Callable[[Any], Any]
    ) -> Masses:
        """d(masses)/dt of flows that window growth moves between cells.

        Args:
            masses: fraction of the flows in each cell.
            shared: what they have in common.
            derivative: of the states in the cells (unused).
            growth: derivative of any states of the law.
        """
        speed = growth(outside_slow_start(shared, self.windows.edges[1:-1])).cwnd
        return advect(masses, speed, self.windows)

    def after_loss(
        self, masses: Masses, states: Any, law: CongestionControl, signals: Signals
    ) -> Masses:
        """Flows that have a loss event, by their recovery cell; (groups, recovery_cells).

        Args:
            masses: flows per second in each of the states.
            states: of the law, before the loss.
            law: congestion control of the class.
            signals: what these flows observe.
        """
        reduced = smooth.maximum(law.after_loss(states, signals).cwnd, SMALLEST_SSTHRESH)
        return deposit(masses, smooth.minimum(reduced, states.cwnd), self.windows)

    def after_recovery(self, masses: Masses) -> Masses:
        """Flows whose recovery ends, by the cell in which they continue; (groups, cells)."""
        return masses

    def leave_slow_start(
        self, masses: PerGroup, windows: PerGroup, law: CongestionControl
    ) -> Masses:
        """Flows whose slow start ends without a loss, by the cell in which they continue.

        Args:
            masses: flows per second.
            windows: packets.
            law: congestion control of the class.
        """
        return deposit(masses[:, None], windows[:, None], self.windows)


def outside_slow_start(shared: Any, windows: Any) -> Any:
    """The law's state of flows with these windows (packets), out of slow start; (groups, windows).

    Args:
        shared: what the flows of each group have in common, as a state of the law.
        windows: packets; (windows,).
    """
    zero = jnp.zeros((*shared.cwnd.shape, len(windows)))
    states = jax.tree.map(lambda leaf: leaf[..., None] + zero, shared)
    return states._replace(cwnd=windows + zero, slow_start=zero)

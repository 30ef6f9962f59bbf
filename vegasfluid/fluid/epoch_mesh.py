"""Distribution over congestion epochs: flows differ by their last loss and the time since then.

It is for congestion controls whose window follows from these two (CUBIC). All flows age at the same
speed. A loss at window w starts an epoch of age 0 at w, of one of three types (`KINDS`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import Signals
from vegasfluid.congestion.epochs import (
    AFTER_LOSS,
    AFTER_SLOW_START,
    FAST_CONVERGENCE,
    EpochCongestionControl,
)
from vegasfluid.fluid.mesh import Mesh, advect, deposit, deposit_at, deposition, make_mesh
from vegasfluid.fluid.shapes import LawState, PerGroup

__all__ = ["EpochMesh", "make_epoch_mesh"]

KINDS = (AFTER_LOSS, FAST_CONVERGENCE, AFTER_SLOW_START)
"""Types of epochs, by how they start."""
WINDOW_WIDTH = 1.0
"""Width of the narrowest cells of windows at a loss, packets (chosen)."""
WINDOW_RATIO = 1.15
"""Width of a cell of windows at a loss over that of the cell below, where widths grow (chosen)."""
AGE_RATIO = 1.1
"""Width of a cell of ages over that of the cell below, where widths grow (chosen)."""

Masses = Float[Array, "groups cells"]
"""One number for each cell, mostly the fraction of the group's flows in it, or its rate, 1/s."""


class EpochMesh(NamedTuple):
    """Cells of the window at the last loss and the time since then.

    Cells are numbered by type of epoch, window at the loss and age; the last varies fastest.

    Args:
        loss_windows: cells of windows at the last loss, packets.
        ages: cells of times since the recovery from the last loss, s.
        plateau_times: age at which each epoch reaches its plateau, s; (kinds, windows, 1);
            None before `for_law` has computed it.
    """

    loss_windows: Mesh
    ages: Mesh
    plateau_times: Float[Array, "kinds windows 1"] | None = None

    def for_law(self, law: EpochCongestionControl) -> EpochMesh:
        """Copy of the mesh with the plateau times (s) of the epochs of congestion control `law`."""
        kinds = np.array(KINDS)[:, np.newaxis, np.newaxis]
        plateau_times = law.plateau_time(kinds, self.loss_windows.centres[:, None])
        return self._replace(plateau_times=plateau_times)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of types of epochs, of cells of windows at the loss, and of cells of ages."""
        return len(KINDS), len(self.loss_windows.edges) - 1, len(self.ages.edges) - 1

    @property
    def cells(self) -> int:
        """Number of cells for flows that are not in recovery."""
        return int(np.prod(self.shape))

    @property
    def recovery_cells(self) -> int:
        """Number of cells for flows in recovery, one for each type of epoch and loss window."""
        return len(KINDS) * self.shape[1]

    def states(self, law: EpochCongestionControl, shared: LawState, rtt: PerGroup) -> LawState:
        """State of the congestion control in each cell of flows outside recovery; (groups, cells).

        Args:
            law: congestion control of the class.
            shared: unused.
            rtt: round-trip time, s.

        Returns:
            The states; windows (packets) are at most the largest window at a loss.
        """
        states = self.flatten(self.epochs(law, self.ages.centres, rtt), rtt)
        return states._replace(cwnd=smooth.minimum(states.cwnd, self.loss_windows.centres[-1]))

    def recovery_states(
        self, law: EpochCongestionControl, shared: LawState, rtt: PerGroup
    ) -> LawState:
        """State of the congestion control in each cell of flows in recovery, at age 0.

        Args:
            law: congestion control of the class.
            shared: unused.
            rtt: round-trip time, s.

        Returns:
            The states, with windows in packets; (groups, recovery_cells).
        """
        return self.flatten(self.epochs(law, np.zeros(1), rtt), rtt)

    def flatten(self, states: LawState, rtt: PerGroup) -> LawState:
        """States of shape (groups, kinds, windows, ages) as states of shape (groups, cells).

        Fields of smaller shapes are broadcast. Only the shape of `rtt`, (groups,), is used.
        """
        shape = states.cwnd.shape
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, shape).reshape(*rtt.shape, -1), states
        )

    def epochs(
        self, law: EpochCongestionControl, ages: Float[Array | np.ndarray, " ages"], rtt: PerGroup
    ) -> LawState:
        """State of a congestion control, such as its window (packets), in all epochs of the mesh.

        Args:
            law: the congestion control.
            ages: times since the recovery from the last loss, s.
            rtt: round-trip time of each group, s.

        Returns:
            Its state; each field has the shape (groups, kinds, windows, ages), where kinds and
            windows are the types of epochs and the cells of windows at the last loss.
        """
        loss_windows = self.loss_windows.centres[:, None]
        return law.epoch_state(self.plateau_times, loss_windows, ages, rtt[..., None, None, None])

    def window_growth(
        self, law: EpochCongestionControl, rtt: PerGroup, derivative: LawState
    ) -> Masses:
        """Rate at which a window in each cell grows without losses, packets/s; (groups, cells).

        Args:
            law: congestion control of the class.
            rtt: round-trip time, s.
            derivative: derivative of the law's state in each cell; `elapsed` is the speed of
                ageing.
        """
        ages = jnp.asarray(self.ages.centres)
        _, slope = jax.jvp(
            lambda at: self.epochs(law, at, rtt).cwnd, (ages,), (jnp.ones_like(ages),)
        )
        return slope.reshape(derivative.elapsed.shape) * derivative.elapsed

    def advection(
        self,
        masses: Masses,
        shared: LawState,
        derivative: LawState,
        growth: Callable[[LawState], LawState],
    ) -> Masses:
        """Change of the fraction of flows in each cell as they age, 1/s; (groups, cells).

        Flows do not leave the cells of the largest age.

        Args:
            masses: fraction of the flows in each cell; (groups, cells).
            shared: unused.
            derivative: derivative of the states; its `elapsed` is the speed of ageing, no unit.
            growth: unused.
        """
        rows = (-1, self.shape[2])
        speed = derivative.elapsed.reshape(rows)[:, :-1]
        return advect(masses.reshape(rows), speed, self.ages).reshape(masses.shape)

    def after_loss(
        self, masses: Masses, states: LawState, law: EpochCongestionControl, signals: Signals
    ) -> Masses:
        """Loss events, fraction of the flows per second, by the cell of the epoch that follows.

        The flows are then in recovery; shape (groups, recovery_cells).

        Args:
            masses: loss events in each cell, fraction of the flows per second; (groups, cells).
            states: the law's states in these cells before the loss.
            law: congestion control of the class.
            signals: unused.
        """
        fast = law.applies_fast_convergence(states) * masses
        cells = deposition(states.cwnd, self.loss_windows)
        normal, fast = deposit_at([masses - fast, fast], cells, self.loss_windows)
        return jnp.concatenate([normal, fast, jnp.zeros_like(normal)], axis=1)

    def after_recovery(self, masses: Masses) -> Masses:
        """Flows whose recovery ends, fraction per second, by the cell at age 0 that they enter.

        Args:
            masses: the flows by recovery cell, fraction per second; (groups, recovery_cells).

        Returns:
            The same flows by cell; (groups, cells).
        """
        at_age_0 = jnp.pad(masses[:, :, None], ((0, 0), (0, 0), (0, self.shape[2] - 1)))
        return at_age_0.reshape(masses.shape[0], self.cells)

    def leave_slow_start(
        self, masses: PerGroup, windows: PerGroup, law: EpochCongestionControl
    ) -> Masses:
        """Flows that leave slow start without a loss, by the cell at age 0 that they enter.

        Args:
            masses: fraction of the flows of each group that leave it per second; (groups,).
            windows: their windows, packets; (groups,).
            law: congestion control of the class.

        Returns:
            Fraction of the flows of each group that enter each cell per second; (groups, cells).
        """
        fresh = deposit(
            masses[:, None], law.window_before_loss(windows)[:, None], self.loss_windows
        )
        return self.after_recovery(
            jnp.pad(fresh, ((0, 0), (self.recovery_cells - fresh.shape[1], 0)))
        )


def make_epoch_mesh(law: EpochCongestionControl, largest: float, youngest: float) -> EpochMesh:
    """A mesh of epochs for windows up to `largest`, without plateau times.

    Args:
        law: congestion control with concrete parameters, which give the largest age.
        largest: largest window, packets.
        youngest: width of the narrowest cells of ages, s.
    """
    ages = make_mesh(law.max_epoch_age(largest), lowest=0.0, finest=youngest, ratio=AGE_RATIO)
    return EpochMesh(make_mesh(largest, finest=WINDOW_WIDTH, ratio=WINDOW_RATIO), ages)

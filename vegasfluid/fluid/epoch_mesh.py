"""Flows told apart by their last loss: the window at which it came, and the time since.

For laws whose window follows from these two (CUBIC). All flows grow older at one speed; a loss at
window w puts a flow at age 0 of an epoch that began at w, of one kind or another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
from vegasfluid.fluid.mesh import Mesh, deposit, make_mesh, places, put, transport

__all__ = ["EpochMesh", "make_epoch_mesh"]

KINDS = (AFTER_LOSS, FAST_CONVERGENCE, AFTER_SLOW_START)
WIDEST, COARSER = 1.0, 1.15
"""Packets: the narrowest cell of windows at a loss; and how much wider each is than the last."""
OLDER = 1.1
"""How much longer each cell of ages is than the one before."""

Groups = Float[Array, "groups"]
Masses = Float[Array, "groups cells"]


class EpochMesh(NamedTuple):
    """The last loss, and the time since, tell all that flows of a group differ by.

    Cells are numbered by kind, window at the loss, and age, the last fastest.

    Args:
        lost: windows at the last loss, packets.
        ages: times since the last loss was repaired, s.
        plateaus: of the epochs, s; (kinds, windows, 1). Told once, not at each time anew.
    """

    lost: Mesh
    ages: Mesh
    plateaus: Any = None

    def of_law(self, law: EpochCongestionControl) -> EpochMesh:
        """The cells of a law."""
        kinds = np.array(KINDS)[:, np.newaxis, np.newaxis]
        return self._replace(plateaus=law.plateau_time(kinds, self.lost.centres[:, None]))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Kinds, windows, ages."""
        return len(KINDS), len(self.lost.edges) - 1, len(self.ages.edges) - 1

    @property
    def free(self) -> int:
        """How many cells there are for flows that may grow."""
        return int(np.prod(self.shape))

    @property
    def mending(self) -> int:
        """How many there are for flows that repair a loss."""
        return len(KINDS) * self.shape[1]

    def states(self, law: EpochCongestionControl, common: Any, rtt: Groups) -> Any:
        """The law's state in each cell of flows that may grow; (groups, free).

        Args:
            law: of the flows.
            common: not asked for.
            rtt: s.
        """
        states = self.flat(self.epochs(law, self.ages.centres, rtt), rtt)
        return states._replace(cwnd=smooth.minimum(states.cwnd, self.lost.centres[-1]))

    def mending_states(self, law: EpochCongestionControl, common: Any, rtt: Groups) -> Any:
        """The same of flows that repair a loss, for which no time runs; (groups, mending)."""
        return self.flat(self.epochs(law, np.zeros(1), rtt), rtt)

    def flat(self, states: Any, rtt: Groups) -> Any:
        """States by kinds, windows and ages as cells."""
        whole = states.cwnd.shape
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, whole).reshape(*rtt.shape, -1), states
        )

    def epochs(self, law: EpochCongestionControl, ages: Any, rtt: Groups) -> Any:
        """The law's state at some ages of each epoch; (groups, kinds, windows, ages)."""
        lost = self.lost.centres[:, None]
        return law.epoch_state(self.plateaus, lost, ages, rtt[..., None, None, None])

    def rising(self, law: EpochCongestionControl, rtt: Groups, change: Any) -> Masses:
        """Packets/s by which the windows of the cells grow.

        Args:
            law: of the flows.
            rtt: s.
            change: of the states of the cells, as the law has it.
        """
        ages = jnp.asarray(self.ages.centres)
        _, slope = jax.jvp(
            lambda at: self.epochs(law, at, rtt).cwnd, (ages,), (jnp.ones_like(ages),)
        )
        return slope.reshape(change.elapsed.shape) * change.elapsed

    def carried(
        self, masses: Masses, common: Any, change: Any, growth: Callable[[Any], Any]
    ) -> Masses:
        """The rate at which time carries flows from cell to cell, 1/s; the last holds them.

        Args:
            masses: share of the flows in each cell.
            common: not asked for.
            change: of the states of the cells; the clock runs while the window is used.
            growth: not asked for.
        """
        rows = (-1, self.shape[2])
        speed = change.elapsed.reshape(rows)[:, :-1]
        return transport(masses.reshape(rows), speed, self.ages).reshape(masses.shape)

    def hit(
        self, masses: Masses, states: Any, law: EpochCongestionControl, seen: Signals
    ) -> Masses:
        """Flows that a loss hits, by the epoch that begins for them; (groups, mending).

        Args:
            masses: flows a second in the states.
            states: of the law, before.
            law: of the flows.
            seen: not asked for.
        """
        lowered, at = law.applies_fast_convergence(states) * masses, places(states.cwnd, self.lost)
        found = [put(part, at, self.lost) for part in (masses - lowered, lowered)]
        return jnp.concatenate([*found, jnp.zeros_like(found[0])], axis=1)

    def mended(self, masses: Masses) -> Masses:
        """Flows whose repair ends, at age 0; (groups, free)."""
        young = jnp.pad(masses[:, :, None], ((0, 0), (0, 0), (0, self.shape[2] - 1)))
        return young.reshape(masses.shape[0], self.free)

    def grown_up(self, masses: Groups, windows: Groups, law: EpochCongestionControl) -> Masses:
        """Flows whose slow start ends without a loss, at age 0 of a fresh epoch; (groups, free)."""
        fresh = deposit(masses[:, None], law.window_before_loss(windows)[:, None], self.lost)
        return self.mended(jnp.pad(fresh, ((0, 0), (self.mending - fresh.shape[1], 0))))


def make_epoch_mesh(law: EpochCongestionControl, largest: float, youngest: float) -> EpochMesh:
    """Cells for windows up to `largest`, whose narrowest ages are `youngest`.

    Args:
        law: with concrete numbers.
        largest: packets.
        youngest: s.
    """
    ages = make_mesh(law.max_epoch_age(largest), lowest=0.0, finest=youngest, ratio=OLDER)
    return EpochMesh(make_mesh(largest, finest=WIDEST, ratio=COARSER), ages)

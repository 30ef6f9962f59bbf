"""Control of a queue by integral: what PI, PIE, PI2 and CoDel have in common.

Drops become more frequent as long as the queue is above a target, and less frequent below it. So
the queue at equilibrium is the target, whatever drop probability the flows need.

Sources:
    C. V. Hollot et al., "On designing improved controllers for AQM routers supporting TCP flows",
    IEEE INFOCOM 2001 (a queue with integral control has no steady-state error).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vegasfluid import smooth
from vegasfluid.aqm.base import QueueDiscipline, QueueState

__all__ = ["SEARCH_BAND", "QueueControl", "waiting_packets"]

SEARCH_BAND = 1e-3
"""Width of the queues, relative to the target, over which a search for an equilibrium lets the
probability rise from 0 to 1 (chosen: so narrow that Newton's method corrects it in a few steps)."""


def waiting_packets(queue: Any, at: int) -> int:
    """Packets that wait in a queue of the packet simulator, without the one in transmission.

    Args:
        queue: record of the queue.
        at: time, ps, since the last arrival.
    """
    return max(-((at - queue.free) // queue.service) - 1, 0)


class QueueControl(QueueDiscipline):
    """A queue discipline that drops more and more while the queue is above a target."""

    if TYPE_CHECKING:
        ecn: bool

    @property
    def marks(self) -> bool:
        """Whether ECN-capable packets are marked instead of dropped (`ecn`)."""
        return self.ecn

    @property
    def integrates(self) -> bool:
        """True: drops grow without end above the target."""
        return True

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        With `ecn` it is 0, as such packets are marked instead; without, it is `drop_prob`.
        """
        return 0.0 * state.queue if self.ecn else self.drop_prob(state)

    def average_queue(self, aqm_state: Any) -> Any:
        """0 packets, in the shape of the state: the discipline has no average of the queue."""
        return 0.0 * aqm_state[0]

    def search_prob(self, state: QueueState) -> Any:
        """Drop probability in a search for an equilibrium, which rises from 0 to 1 at the target.

        It depends on the queue of `state` alone.
        """
        excess = state.queue / self.target_queue(state.capacity) - 1
        return smooth.clip(excess / SEARCH_BAND, 0.0, 1.0)

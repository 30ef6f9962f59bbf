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
        at: point in time, ps, not before the last arrival; packets that have left by then do not
            count.
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
        """True: the AQM state keeps changing unless the queue has one certain length."""
        return True

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        With `ecn` it is 0, as such packets are marked instead; without, it is `drop_prob`.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
        """
        return 0.0 * state.queue if self.ecn else self.drop_prob(state)

    def average_queue(self, aqm_state: Any) -> Any:
        """Average of the queue, packets: 0, as the discipline has no average.

        Args:
            aqm_state: a state such as `init` returns; the zero has the shape of its fields.
        """
        return 0.0 * aqm_state[0]

    def search_prob(self, state: QueueState) -> Any:
        """Drop probability, 0 to 1, in a search for an equilibrium.

        It depends on the queue alone: it is 0 up to the target and rises to 1 just above it.

        Args:
            state: queue and capacity of the link; other fields are not used.
        """
        excess = state.queue / self.target_queue(state.capacity) - 1
        return smooth.clip(excess / SEARCH_BAND, 0.0, 1.0)

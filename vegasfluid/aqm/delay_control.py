"""Control of the queueing delay: what PIE and PI2 have in common, and some of it CoDel.

Every T = `t_update` a controller changes a probability P by alpha (delay - target) + beta (delay -
old delay), times a gain. In the fluid model P is a state. The updates are spread over T, and the
old delay, which the packets' rules sample T earlier, follows the delay d with the time constant T:

    dP/dt = gain / T (alpha (d - target) + beta (d - d_old))        dd_old/dt = (d - d_old) / T

A trend that is measured between two updates and applied until the next one is late by T on average,
as this one is. At equilibrium the delay is the target, whatever the flows need as P.

A packet rule runs only when a packet arrives, but between two arrivals a queue just drains, so that
all updates since the last arrival are made up for exactly. The delay is the number of waiting
packets divided by the capacity.

Sources:
    C. V. Hollot et al., "On designing improved controllers for AQM routers supporting TCP flows",
    IEEE INFOCOM 2001 (control of the queue by its length and trend). RFC 8033, section 4.2, and RFC
    9332, appendix A (the delay in place of the length). The fluid with the first-order lag of the
    old delay: derived for this project, and tested (`tests/aqm`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.aqm.base import QueueState
from vegasfluid.aqm.queue_control import QueueControl, waiting_packets

__all__ = ["DelayControl", "DelayControlState", "TargetDelay", "queueing_delay", "trend"]


def queueing_delay(queue: Any, at: int) -> float:
    """Queueing delay in the packet simulator, s: waiting packets divided by the capacity.

    Args:
        queue: record of the queue.
        at: point in time, ps, not before the last arrival.
    """
    return waiting_packets(queue, at) * (queue.service * 1e-12)


def trend(queue: Any, delay: float) -> float:
    """Change of a queue's probability in an update, before it is scaled or clipped.

    It is alpha (delay - target) + beta (delay - old delay), without unit.

    Args:
        queue: record of the queue, with `alpha`, `beta` (1/s), `target` and `old_delay` (s).
        delay: present queueing delay, s.
    """
    return queue.alpha * (delay - queue.target) + queue.beta * (delay - queue.old_delay)


class DelayControlState(NamedTuple):
    """State of a controller of the queueing delay in the fluid model.

    Args:
        base_prob: probability P that the controller adjusts, 0 to 1.
        old_delay: queueing delay as it was at the update before, s.
    """

    base_prob: Any
    old_delay: Any


class TargetDelay(QueueControl):
    """A queue discipline that drops more and more while the queueing delay is above a target."""

    sets_queue: ClassVar[tuple[str, ...]] = ("target",)

    if TYPE_CHECKING:
        target: float

    def target_queue(self, capacity: Any) -> Any:
        """Queue, packets, with a delay of `target` on a link of `capacity` packets/s."""
        return self.target * capacity


class DelayControl(TargetDelay):
    """A queue discipline that adjusts a probability until the queueing delay is at its target."""

    if TYPE_CHECKING:
        t_update: float
        alpha: float
        beta: float

    def init(self) -> DelayControlState:
        """State in the fluid model for an empty queue: probability 0 and delay 0."""
        return DelayControlState(0.0, 0.0)

    def relaxation_rate(self, capacity: Any) -> Any:
        """Rate, 1/s, at which the old delay follows the delay: once in `t_update`.

        Args:
            capacity: packets/s; not used.
        """
        return 1 / self.t_update

    def trend(self, state: QueueState) -> tuple[Any, Any]:
        """Change of the probability per update before any gain, and growth of the queueing delay.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            alpha (delay - target) + beta growth, without unit, and the growth of the delay (queue
            over capacity) since the last update, s.
        """
        delay = state.queue / state.capacity
        growth = delay - state.aqm_state.old_delay
        return self.alpha * (delay - self.target) + self.beta * growth, growth

    def converging_derivative(self, state: QueueState) -> DelayControlState:
        """Time derivative of an AQM state that converges for any constant queue.

        With it the probability approaches a value that depends on the delay alone: it rises from 0
        to 1 just above `target`. The old delay approaches the delay.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            The time derivatives of the probability, 1/s, and of the old delay, s/s.
        """
        prob, old_delay = state.aqm_state
        delay = state.queue / state.capacity
        wanted = self.search_prob(state)
        return DelayControlState(
            (wanted - prob) / self.t_update, (delay - old_delay) / self.t_update
        )

    def clip(self, aqm_state: DelayControlState, buffer: Any) -> DelayControlState:
        """AQM state with the probability clipped to 0 to 1 and the old delay to at least 0 s.

        Args:
            aqm_state: the state.
            buffer: size of the buffer, packets; not used.
        """
        prob, old_delay = aqm_state
        return DelayControlState(smooth.clip(prob, 0.0, 1.0), smooth.maximum(old_delay, 0.0))

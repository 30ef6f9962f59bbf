"""PI: proportional integral control of the queue's length, the ancestor of PIE and PI2.

The queue is sampled w times a second. With q_old for the sample before, each sample changes the
drop probability by

    a (q - q_ref) - b (q_old - q_ref) = (a - b) (q - q_ref) + b (q - q_old),

and clips it to 0 to 1. A packet is dropped, or marked, with this probability, by a coin.

Fluid: samples of q turn into p by (a - b/z) / (1 - 1/z) with z = e^(sT) and T = 1/w, and p is held
until the next sample, which is the factor (1 - e^(-sT)) / (sT). So the linear system from q to p is

    C(s) = (a - b e^(-sT)) / (sT).

With 1 / (1 + sT) for e^(-sT), the old queue follows the queue with the time constant T, and the
states are p and q_old:

    T dp/dt = a (q - q_ref) - b (q_old - q_ref)        T dq_old/dt = q - q_old

The difference is of second order in sT: at 160 Hz and 1 rad/s a part in 50 000 of b. This C(s) is
K (1 + s/z) / (s (1 + sT)) with K = (a - b) w and K/z = a: the controller K (1 + s/z) / s of the
paper with a lag of one sample. As in a sample, p loses at most itself in a time T, and gains at
most 1 - p. At equilibrium the queue is q_ref, or it is shorter and p = 0.

The rule is that of ns-2. The queue that it samples is without the packet in transmission. A packet
rule runs only when a packet arrives; between two arrivals a queue just drains, so that all samples
since then are made up for exactly. Not modelled: ns-2's `bytes_` and `queue_in_bytes_`.

Sources:
    C. V. Hollot, V. Misra, D. Towsley, W.-B. Gong, "On designing improved controllers for AQM
    routers supporting TCP flows", IEEE INFOCOM 2001 (not checked against the original; the rule and
    its numbers as ns-2 has them: a = 1.822e-5, b = 1.816e-5, in the paper 160 Hz). ns-2.35,
    queue/pi.cc and tcl/lib/ns-default.tcl (read; no code copied). The fluid: derived for this
    project, and tested against packets and by the linearised loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, AdmissionRule, QueueState
from vegasfluid.aqm.queue_control import QueueControl, waiting_packets
from vegasfluid.clock import picoseconds
from vegasfluid.quantities import Packets, PerSecond, Positive, Share, require_ordered

__all__ = ["Pi", "PiState"]


def update(queue: Any, at: int) -> None:
    """Sample a queue: update the drop probability and the old queue (packets) in its record.

    Args:
        queue: record of the queue, changed in place.
        at: time of the sample, ps.
    """
    waiting = waiting_packets(queue, at)
    change = queue.a * (waiting - queue.q_ref) - queue.b * (queue.old_queue - queue.q_ref)
    queue.drop_prob = min(max(queue.drop_prob + change, 0.0), 1.0)
    queue.old_queue = waiting


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a PI queue, after the samples that are due.

    Args:
        queue: record of the queue, changed in place.
        waiting: not used.
        idle_packets: not used.

    Returns:
        ADMIT, EARLY (dropped at random) or MARK.
    """
    while queue.update_at <= queue.now:
        update(queue, queue.update_at)
        queue.update_at += queue.update_interval
    if queue.drop_prob == 0.0:
        return ADMIT
    queue.uniform_used = 1
    if queue.uniform >= queue.drop_prob:
        return ADMIT
    return MARK if queue.ecn and queue.ect else EARLY


RULE = AdmissionRule(decide, state={"drop_prob": 0.0, "old_queue": 0, "update_at": 0})
"""Admission rule of PI, with initial values of the fields that it keeps in the record."""


class PiState(NamedTuple):
    """State of PI in the fluid model.

    Args:
        base_prob: drop probability, 0 to 1.
        old_queue: queue as it was at the sample before, packets.
    """

    base_prob: Any
    old_queue: Any


@dataclass(frozen=True)
class Pi(QueueControl):
    """Proportional integral controller of the queue's length (PI).

    >>> Pi().q_ref
    50
    """

    name: ClassVar[str] = "pi"
    sets_queue: ClassVar[tuple[str, ...]] = ("q_ref",)
    sources: ClassVar[tuple[str, ...]] = ("Hollot et al., IEEE INFOCOM 2001", "ns-2.35, pi.cc")

    a: Annotated[Share, Positive] = 1.822e-5
    """Change of the probability in a sample for each packet of the queue above `q_ref`."""
    b: Share = 1.816e-5
    """Decrease of the probability in a sample for each packet above `q_ref` in the sample before;
    below `a`, so that a queue that stays above `q_ref` raises the probability."""
    w: Annotated[PerSecond, Positive] = 170.0
    """Samples of the queue in a second."""
    q_ref: Annotated[Packets, Positive] = 50
    """Queue that PI aims at, without the packet in transmission."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "b", "a", strict=True)

    def init(self) -> PiState:
        """State in the fluid model for an empty queue: probability 0, and a queue of 0 packets."""
        return PiState(0.0, 0.0)

    def target_queue(self, capacity: Any) -> Any:
        """Queue that PI aims at (`q_ref`), packets, at any capacity."""
        return self.q_ref

    def relaxation_rate(self, capacity: Any) -> Any:
        """Rate, 1/s, at which the old queue follows the queue: the sampling rate `w`.

        Args:
            capacity: packets/s; not used.
        """
        return self.w

    def drop_prob(self, state: QueueState) -> Any:
        """Fraction of arriving packets dropped or marked before the buffer is full, 0 to 1.

        It is the probability `base_prob` in `state.aqm_state`.
        """
        return state.aqm_state.base_prob

    def derivative(self, state: QueueState) -> PiState:
        """Time derivative of the probability, 1/s, and of the old queue, packets/s.

        As after a sample, the probability stays between 0 and 1.
        """
        prob, old_queue = state.aqm_state
        change = self.a * (state.queue - self.q_ref) - self.b * (old_queue - self.q_ref)
        clipped = smooth.clip(change, -prob, 1 - prob)
        return PiState(self.w * clipped, self.w * (state.queue - old_queue))

    def converging_derivative(self, state: QueueState) -> PiState:
        """Time derivative of an AQM state that converges for any constant queue.

        With it the probability approaches a value that depends on the queue alone: it rises from 0
        to 1 just above `q_ref`. The old queue approaches the queue.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            The time derivatives of the probability, 1/s, and of the old queue, packets/s.
        """
        prob, old_queue = state.aqm_state
        wanted = self.search_prob(state)
        return PiState(self.w * (wanted - prob), self.w * (state.queue - old_queue))

    def clip(self, aqm_state: PiState, buffer: Any) -> PiState:
        """AQM state with the probability clipped to 0 to 1, the old queue to 0 to `buffer` packets.

        Args:
            aqm_state: the state.
            buffer: size of the buffer, packets.
        """
        prob, old_queue = aqm_state
        return PiState(smooth.clip(prob, 0.0, 1.0), smooth.clip(old_queue, 0.0, buffer))

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule: admits, marks or drops a packet."""
        return RULE

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        `a` and `b` are probabilities per packet, `q_ref` is in packets, `ecn` is 0 or 1;
        `update_interval` (1 / `w`) is in picoseconds.
        """
        values = {name: float(getattr(self, name)) for name in ("a", "b", "q_ref")}
        return values | {"update_interval": max(picoseconds(1 / self.w), 1), "ecn": int(self.ecn)}

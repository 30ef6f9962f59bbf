"""Drop-tail: a packet is dropped if and only if the buffer is full.

Sources:
    Fluid overflow: a full buffer drops arrivals above capacity, p = 1 - C/y.
    M/M/1/K: L. Kleinrock, Queueing Systems I, 1975, section 3.6. Small buffers: G. Raina,
    D. Towsley and D. Wischik, "Part II: control theory for buffer sizing", ACM CCR 35(3), 2005
    (not checked against the original). Synchronised losses: all flows respond to an overflow, as
    in T. Bonald's programs. The power of 20: as in fluid models of BBR (no single source).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.base import ADMIT, AdmissionRule, QueueState, WithoutAverage
from vegasfluid.quantities import require_one_of

__all__ = ["LOSSES", "DropTail", "overflow_prob"]

LEAST_ARRIVAL_RATE = 1e-9
"""Lower bound of the arrival rate in a division, packets/s (chosen: far below any real rate)."""
FILL_EXPONENT = 20
"""Exponent of the fill level q/B in `smooth` losses (as in fluid models of BBR)."""
LOG_LOAD_OFFSET = 1e-6
"""Added to the logarithm of the load, as the M/M/1/K formula is 0/0 at a load of 1 (chosen)."""
LARGEST_EXPONENT = 600.0
"""Bound of an exponent, so that exp does not overflow a double (chosen)."""
OVERFLOW_PROBABILITY = 1e-6
"""Drop probability from which on `synchronised` losses affect every flow (chosen)."""


def overflow_prob(state: QueueState) -> Any:
    """Fraction of the arrivals that a full buffer drops: 1 - C/y, or 0 where y is below C.

    C is the capacity, y the arrival rate. While the queue grows from one packet below the buffer to
    the buffer, the fraction rises from 0 to this value.
    """
    excess = smooth.positive_part(
        1 - state.capacity / smooth.maximum(state.arrival_rate, LEAST_ARRIVAL_RATE)
    )
    return excess * smooth.step(state.queue - (state.buffer - 1), 1.0)


def no_early_drops(state: QueueState) -> Any:
    """Drop probability before the buffer is full: zero, as only a full buffer drops packets."""
    return 0.0 * state.queue


def load(state: QueueState) -> Any:
    """Load of a link: arrival rate (at least 1e-9 packets/s) divided by capacity, without unit."""
    return smooth.maximum(state.arrival_rate, LEAST_ARRIVAL_RATE) / state.capacity


def smooth_overflow(state: QueueState) -> Any:
    """Drop probability of queue q in buffer B: (1 - 1/load) (q/B)^20 above a load of 1, else 0."""
    fill = smooth.clip(state.queue / state.buffer, 0.0, 1.0)
    return smooth.positive_part(1 - 1 / load(state)) * fill**FILL_EXPONENT


def mm1k(state: QueueState) -> Any:
    """Loss probability of an M/M/1/K queue, (1 - r) r^K / (1 - r^(K + 1)).

    r is the load (arrival rate divided by capacity), K the buffer in packets.
    """
    log = smooth.log1p(load(state) - 1) + LOG_LOAD_OFFSET
    exponent = smooth.clip(-(state.buffer + 1) * log, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return (smooth.exp(-log) - 1) / (smooth.exp(exponent) - 1)


def small_buffer(state: QueueState) -> Any:
    """Drop probability r^B, at most 1: load r (arrival rate / capacity), buffer of B packets."""
    return smooth.exp(smooth.minimum(state.buffer * smooth.log1p(load(state) - 1), 0.0))


LOSSES = {
    "overflow": no_early_drops,
    "synchronised": no_early_drops,
    "smooth": smooth_overflow,
    "mm1k": mm1k,
    "small_buffer": small_buffer,
}
"""Drop probability (0 to 1) before the buffer is full as a function of a `QueueState`, by the name
of the loss model."""


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Admit every packet that arrives at a queue (ADMIT); if it does not fit, the link drops it."""
    return ADMIT


@dataclass(frozen=True)
class DropTail(WithoutAverage):
    """A first-in, first-out queue with a finite buffer and no early drops.

    `losses` chooses the fluid model's drop probability; the packet simulator always drops at a full
    buffer. With capacity C, arrival rate y, queue q and buffer B:

    * `overflow`: 1 - C/y at a full buffer.
    * `synchronised`: the same, and every flow has a loss in each round trip of an overflow.
    * `smooth`: (1 - C/y) (q/B)^20, also before the buffer is full.
    * `mm1k`: the loss probability of an M/M/1/K queue with load y/C.
    * `small_buffer`: (y/C)^B, for many flows and a buffer of a few packets.

    >>> DropTail().losses
    'overflow'
    """

    name: ClassVar[str] = "droptail"
    drops_by_chance: ClassVar[bool] = False
    synchronises: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("RFC 7567, section 1 (drop-tail as the baseline)",)

    losses: str = "overflow"
    """Loss model of the fluid: overflow, synchronised, smooth, mm1k or small_buffer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self, "losses", LOSSES)

    @property
    def losses_follow_growth(self) -> bool:
        """Whether losses divide among flows in proportion to their windows' growth.

        True for the loss models `overflow` and `synchronised`, where only a full buffer drops.
        """
        return LOSSES[self.losses] is no_early_drops

    def drop_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an arriving packet is dropped before the buffer is full.

        It follows from queue, buffer, arrival rate and capacity by the loss model `losses`; 0 for
        `overflow` and `synchronised`.
        """
        return LOSSES[self.losses](state)

    def loss_signal_prob(self, drop_prob: Any) -> Any:
        """Fraction of a flow's packets whose loss its sender responds to, 0 to 1.

        It is `drop_prob`, the probability that a packet is dropped. With `synchronised` losses it
        is 1 during an overflow: from a `drop_prob` of 1e-6 on.
        """
        if self.losses != "synchronised":
            return drop_prob
        return smooth.maximum(drop_prob, smooth.step(drop_prob, OVERFLOW_PROBABILITY))

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule, which admits every packet; links drop at a full buffer."""
        return AdmissionRule(decide)

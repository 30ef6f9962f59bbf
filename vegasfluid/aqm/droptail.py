"""Drop-tail: a packet is lost when, and only when, the buffer is full.

Sources:
    Fluid overflow: what arrives above capacity at a full buffer is lost, p = 1 - C/y.
    M/M/1/K: L. Kleinrock, Queueing Systems I, 1975, section 3.6. Small buffers: G. Raina,
    D. Towsley and D. Wischik, "Part II: control theory for buffer sizing", ACM CCR 35(3), 2005
    (not checked against the original). Synchronised losses: all flows answer an overflow, as in
    T. Bonald's programs. The power of 20: as fluid models of BBR have it (no single source).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.base import ADMIT, AdmissionRule, Average, QueueDiscipline, QueueState
from vegasfluid.errors import InvalidInput

__all__ = ["LOSSES", "DropTail", "overflow_prob"]

NO_LOAD = 1e-9
"""Packets/s."""
STEEPNESS = 20
OFF_ONE = 1e-6
"""Added to the logarithm of a load, because at a load of 1 the formula is nought by nought."""
LARGEST_EXPONENT = 600.0
SYNCHRONISED_AT = 1e-6
"""A probability of loss that counts as an overflow."""


def overflow_prob(seen: QueueState) -> Any:
    """The share of arrivals that a full buffer loses, rising over the last packet of room."""
    excess = smooth.positive_part(1 - seen.capacity / smooth.maximum(seen.arrival_rate, NO_LOAD))
    return excess * smooth.step(seen.queue - (seen.buffer - 1), 1.0)


def no_early_drops(seen: QueueState) -> Any:
    """None: only the full buffer loses."""
    return 0.0 * seen.queue


def load(seen: QueueState) -> Any:
    """What arrives, in units of the capacity."""
    return smooth.maximum(seen.arrival_rate, NO_LOAD) / seen.capacity


def smooth_overflow(seen: QueueState) -> Any:
    """(1 - 1/load) (q/B)^20 above a load of 1."""
    fill = smooth.clip(seen.queue / seen.buffer, 0.0, 1.0)
    return smooth.positive_part(1 - 1 / load(seen)) * fill**STEEPNESS


def mm1k(seen: QueueState) -> Any:
    """(1 - r) r^K / (1 - r^(K + 1)) at a load r, with K packets in the buffer."""
    log = smooth.log1p(load(seen) - 1) + OFF_ONE
    most = smooth.clip(-(seen.buffer + 1) * log, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return (smooth.exp(-log) - 1) / (smooth.exp(most) - 1)


def small_buffer(seen: QueueState) -> Any:
    """The load to the power of the buffer, at most 1."""
    return smooth.exp(smooth.minimum(seen.buffer * smooth.log1p(load(seen) - 1), 0.0))


LOSSES = {
    "overflow": no_early_drops,
    "synchronised": no_early_drops,
    "smooth": smooth_overflow,
    "mm1k": mm1k,
    "small_buffer": small_buffer,
}
"""How the fluid sees losses before the buffer is full."""


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Never before the buffer is full; the link itself refuses what does not fit."""
    return ADMIT


@dataclass(frozen=True)
class DropTail(QueueDiscipline):
    """A first-in, first-out queue with a finite buffer and no early drops.

    How the fluid sees its losses is a choice (`losses`); packets are dropped at a full buffer
    whatever it is:

    * `overflow`: what comes above the capacity to a full buffer is lost.
    * `synchronised`: the same, and every flow loses something in every round trip of it.
    * `smooth`: (1 - C/y) (q/B)^20 already before the buffer is full.
    * `mm1k`: of an M/M/1/K system whose load is y/C.
    * `small_buffer`: (y/C)^B, for many flows and a buffer of a few packets.

    >>> DropTail().losses
    'overflow'
    """

    name: ClassVar[str] = "droptail"
    drops_by_chance: ClassVar[bool] = False
    sources: ClassVar[tuple[str, ...]] = ("RFC 7567, section 1 (drop-tail as the baseline)",)

    losses: str = "overflow"
    """For the fluid: overflow, synchronised, smooth, mm1k or small_buffer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.losses not in LOSSES:
            raise InvalidInput("DropTail", "losses", "one of " + ", ".join(LOSSES), self.losses)

    @property
    def losses_follow_growth(self) -> bool:
        """Where only the full buffer loses."""
        return LOSSES[self.losses] is no_early_drops

    def drop_prob(self, seen: QueueState) -> Any:
        """Drops before the buffer is full, where the fluid's losses are smooth ones."""
        return LOSSES[self.losses](seen)

    def loss_signal_prob(self, drop_prob: Any) -> Any:
        """Where losses are synchronised, every flow has one."""
        if self.losses != "synchronised":
            return drop_prob
        return smooth.maximum(drop_prob, smooth.step(drop_prob, SYNCHRONISED_AT))

    def derivative(self, seen: QueueState) -> Average:
        """No average is kept."""
        return Average(0.0 * seen.queue)

    def clip(self, memory: Average, buffer: Any) -> Average:
        """None is kept, and none is held."""
        return memory

    @property
    def rule(self) -> AdmissionRule:
        """Admit; only the full buffer drops."""
        return AdmissionRule(decide)

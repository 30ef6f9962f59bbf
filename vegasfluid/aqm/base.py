"""What a queue law is: a drop probability for the fluid, an admission rule for packets.

The two are one law: the long-run share of packets that the rule drops equals the drop
probability, and a contract test holds them to it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.quantities import Value

__all__ = [
    "ADMIT",
    "EARLY",
    "FORCED",
    "MARK",
    "AdmissionRule",
    "Average",
    "QueueDiscipline",
    "QueueState",
]

Real = smooth.Real

ADMIT, EARLY, FORCED, MARK = 0, 1, 2, 3
"""What a rule decides on a packet: take it, drop it by chance, drop it in any case, or take and
mark it."""


class Average(NamedTuple):
    """What a queue law keeps of the past; a law that keeps more has a tuple of its own.

    Args:
        avg_queue: the law's average of the queue, packets.
    """

    avg_queue: Real


class QueueState(NamedTuple):
    """A queue as the fluid sees it.

    Args:
        queue: packets waiting.
        memory: what the law keeps of the past: an `Average`, or the law's own tuple.
        arrival_rate: packets/s.
        capacity: packets/s.
        buffer: packets.
    """

    queue: Real
    memory: Any
    arrival_rate: Real
    capacity: Real
    buffer: Real


@dataclass(frozen=True)
class AdmissionRule:
    """What the queue does for each arriving packet: a plain scalar function on its record.

    Args:
        decide: `(queue, waiting, idle_packets) -> int`: ADMIT, EARLY, FORCED or MARK, given the
            packets that wait (without the one in transmission) and, after an idle time, how many
            packets could have been sent in it. `queue.uniform` is a fresh uniform
            variate; a rule that uses it sets `queue.uniform_used = 1`. `queue.relative_size` is the
            size of the arriving packet relative to a data packet and, where the buffer is measured
            in bytes, `queue.waiting_size` that of the packets that wait. `queue.ect`: whether the
            packet is ECN capable (RFC 3168); `queue.now`: time, ps.
        state: fields that the rule keeps beyond those of `vegasfluid.packet.records.LINK`, with
            their values at the start.
    """

    decide: Callable[..., int]
    state: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueDiscipline(Value):
    """A queue law with its parameters."""

    name: ClassVar[str]
    """The name in model files."""
    sources: ClassVar[tuple[str, ...]]
    """Where the law is defined."""
    drops_by_chance: ClassVar[bool] = True
    """Whether packets are dropped at random before the buffer is full."""

    @property
    def average_weight(self) -> Real:
        """Weight of an arriving packet's sample in an average of the queue; 0: no average."""
        return 0.0

    @property
    def upper_threshold(self) -> Real | None:
        """Average queue from which drops are no longer random, packets; None: no thresholds."""
        return None

    @property
    def marks(self) -> bool:
        """Whether ECN-capable packets are marked instead of dropped (RFC 3168)."""
        return False

    @property
    def counts_bytes(self) -> bool:
        """Whether queue and buffer are measured in bytes, so that small packets take less."""
        return False

    @property
    def adapts(self) -> bool:
        """Whether it changes its own parameters for ever, so that there is no equilibrium."""
        return False

    @property
    def losses_follow_growth(self) -> bool:
        """Whether the queue loses the packets by which windows grow, more than others."""
        return False

    def init(self) -> Any:
        """What the law remembers of an empty queue."""
        return Average(0.0)

    @abstractmethod
    def drop_prob(self, seen: QueueState) -> Real:
        """The probability with which an arriving packet is dropped before the buffer is full."""

    def forced_prob(self, seen: QueueState) -> Real:
        """The part of `drop_prob` that hits even packets that may be marked: here all of it."""
        return self.drop_prob(seen)

    def loss_signal_prob(self, drop_prob: Real) -> Real:
        """With which probability a sender that loses packets so often has a loss to answer."""
        return drop_prob

    @abstractmethod
    def derivative(self, seen: QueueState) -> Any:
        """d(memory)/dt, each field in its unit a second."""

    def clip(self, memory: Any, buffer: Real) -> Any:
        """What is kept of the past, held in its domain: an average from 0 to a full buffer.

        The equations do not leave it, but a step of a solver may.

        Args:
            memory: as `init` has it.
            buffer: packets.
        """
        return memory._replace(avg_queue=smooth.clip(memory.avg_queue, 0.0, buffer))

    @property
    @abstractmethod
    def rule(self) -> AdmissionRule:
        """The law as a rule for single packets."""

    def packet_parameters(self) -> dict[str, float]:
        """The parameters that `rule` reads from the queue record, by field name."""
        return {}

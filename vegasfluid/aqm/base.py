"""A queue discipline: a drop probability for the fluid model, an admission rule for packets.

Over a long run at a constant queue, the rule drops the fraction of packets that the drop
probability gives; `tests/congestion/test_contract.py` tests this.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Ge

from vegasfluid import smooth
from vegasfluid.quantities import Packets, Value

__all__ = [
    "ADMIT",
    "EARLY",
    "FORCED",
    "MARK",
    "AdmissionRule",
    "Average",
    "FlowQueues",
    "Quantum",
    "QueueDiscipline",
    "QueueState",
    "WithoutAverage",
]

Real = smooth.Real
"""A float, a NumPy or JAX array of any shape, or a SymPy expression."""

Quantum = Annotated[Packets, Ge(0.01)]
"""Packets that a queue of one flow may send in its turn; with fewer it would have to wait for more
than a hundred turns to send one."""

ADMIT, EARLY, FORCED, MARK = 0, 1, 2, 3
"""Decisions of an admission rule: admit a packet, drop it at random, drop it because the average
queue is too long, or admit and mark it."""


def ignore(queue: Any) -> None:
    """Do nothing where a queue is found empty."""


class FlowQueues(NamedTuple):
    """How a link serves a queue for each flow: by deficit round robin (RFC 8290, section 4).

    Args:
        quantum: size of the packets that a queue may send in its turn, in data packets.
        initial_quantum: size of the packets that the queue of a new flow may send in its first
            turn, in data packets.
        flow_limit: packets that the queue of a flow can hold; infinite: no limit.
        drops_longest: whether a full buffer drops packets at the head of the longest queue, and not
            the one that arrives.
        refill_delay: time, s, for which a queue must have been empty to get a new quantum when its
            next packet arrives.
    """

    quantum: float
    initial_quantum: float
    flow_limit: float
    drops_longest: bool
    refill_delay: float


class Average(NamedTuple):
    """State of a queue discipline in the fluid model; one with more state has its own tuple.

    Args:
        avg_queue: average queue, packets.
    """

    avg_queue: Real


class QueueState(NamedTuple):
    """A queue of the fluid model.

    Args:
        queue: packets waiting.
        aqm_state: state of the queue discipline, from its `init`.
        arrival_rate: packets/s.
        capacity: packets/s.
        buffer: packets.
    """

    queue: Real
    aqm_state: Any
    arrival_rate: Real
    capacity: Real
    buffer: Real


@dataclass(frozen=True)
class AdmissionRule:
    """Rule for each packet that arrives at a queue: a scalar function on the queue's record.

    Args:
        decide: `(queue, waiting, idle_packets) -> int`: ADMIT, EARLY, FORCED or MARK. `waiting`:
            packets in the queue without the one in transmission; `idle_packets`: how many packets
            the link could have sent while it was idle just before. `queue.uniform`: a new uniform
            variate; a rule that uses it sets `queue.uniform_used = 1`. `queue.relative_size`: size
            of the arriving packet relative to a data packet. `queue.waiting_size`: total size of
            the waiting packets, where the buffer is measured in bytes. `queue.ect`: whether the
            packet is ECN-capable (RFC 3168). `queue.now`: time, ps. `queue.free`: when the link
            will have sent, or has sent, all packets before this one, ps; it does not change
            between two arrivals, so a rule can make up for what a timer would have done meanwhile.
            `queue.service`: transmission time of a data packet, ps. `queue.count`: what the rule
            counts since the last drop; a drop at a full buffer sets it to 0.
        state: fields of the record that the rule adds to those of
            `vegasfluid.packet.records.LINK`, with their initial values.
        on_empty: `(queue) -> None`, where each flow has a queue: called when the link finds one
            empty in its turn. There `decide` is called for each packet that leaves, with
            `queue.now` the time when it arrived and `queue.free` the present time; `waiting` are
            the packets left in all queues.
    """

    decide: Callable[..., int]
    state: Mapping[str, int | float] = field(default_factory=dict)
    on_empty: Callable[..., None] = ignore


@dataclass(frozen=True)
class QueueDiscipline(Value):
    """A queue discipline with its parameters."""

    name: ClassVar[str]
    """Name in model files."""
    sources: ClassVar[tuple[str, ...]]
    """Literature and source code that define it."""
    drops_by_chance: ClassVar[bool] = True
    """Whether packets are dropped before the buffer is full."""
    synchronises: ClassVar[bool] = False
    """Whether its drops are not random, so that packet runs need random delays at senders."""
    synchronises_marked: ClassVar[bool] = True
    """Whether flows whose packets it marks instead need these delays, too."""

    sets_queue: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that decide the queue at equilibrium; empty: the buffer decides."""

    @property
    def flow_queues(self) -> FlowQueues | None:
        """How the link serves a queue for each flow; None: all packets wait in one queue."""
        return None

    @property
    def shares_full_buffer(self) -> bool:
        """Whether only a full buffer that all flows share drops packets, as at drop-tail.

        Then the order of single packets decides which flow loses.
        """
        return not self.drops_by_chance and self.flow_queues is None

    @property
    def average_weight(self) -> Real:
        """Weight of one arriving packet's sample in the moving average of the queue, 0 to 1.

        0: the discipline has no average.
        """
        return 0.0

    @property
    def upper_threshold(self) -> Real | None:
        """Average queue, packets, above which drops are not random; None if there is none."""
        return None

    @property
    def marks(self) -> bool:
        """Whether ECN-capable packets are marked instead of dropped (RFC 3168)."""
        return False

    @property
    def counts_bytes(self) -> bool:
        """Whether queue and buffer are measured in bytes, so that small packets take less space."""
        return False

    @property
    def drops_by_size(self) -> bool:
        """Whether a packet's drop probability is in proportion to its size.

        By default where queue and buffer are measured in bytes.
        """
        return self.counts_bytes

    @property
    def adapts(self) -> bool:
        """Whether the discipline keeps adjusting its parameters, so that no equilibrium exists."""
        return False

    @property
    def losses_follow_growth(self) -> bool:
        """Whether losses at the queue divide among flows in proportion to their windows' growth.

        By default they do not: each packet is lost with the same probability. They do where only a
        full buffer drops packets (see `fluid.queues.drop_tail_loss_bias`).
        """
        return False

    @property
    def integrates(self) -> bool:
        """Whether the AQM state keeps changing unless the queue has one certain length.

        That is the case with integral control, as in PIE; by default it is not. The search for an
        equilibrium then begins with `converging_derivative`.
        """
        return False

    def beside(self, hosts: Collection[str], packet_bytes: int) -> QueueDiscipline:
        """Copy with the parameters that are None set to the defaults for a network of these hosts.

        By default the discipline itself: nothing depends on the hosts.

        Args:
            hosts: names of the kinds of hosts in the network, such as {"linux"}.
            packet_bytes: size of a data packet, bytes.
        """
        return self

    def init(self) -> Any:
        """State of the discipline in the fluid model at an empty queue: an average of 0 packets."""
        return Average(0.0)

    @abstractmethod
    def drop_prob(self, state: QueueState) -> Real:
        """Probability that an arriving packet is dropped or marked before the buffer is full.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            The probability, 0 to 1, for a packet of the size of a data packet.
        """

    def forced_prob(self, state: QueueState) -> Real:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        By default it equals `drop_prob`; a discipline that marks packets drops fewer.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
        """
        return self.drop_prob(state)

    def loss_signal_prob(self, drop_prob: Real) -> Real:
        """Fraction of a flow's packets whose loss or mark its sender responds to, 0 to 1.

        By default each lost or marked packet is one signal.

        Args:
            drop_prob: probability that a packet of the flow is dropped or marked.
        """
        return drop_prob

    @abstractmethod
    def derivative(self, state: QueueState) -> Any:
        """Time derivative of the AQM state in the fluid model.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            A tuple such as `state.aqm_state`, each field in its unit per second.
        """

    def target_queue(self, capacity: Real) -> Real | None:
        """Queue, packets, at which the discipline holds a busy link; None without such a target.

        Args:
            capacity: packets/s.
        """
        return None

    def converging_derivative(self, state: QueueState) -> Any:
        """Time derivative of an AQM state that converges for any constant queue.

        A search for an equilibrium begins with it where the discipline `integrates`; it must lead
        close to the same equilibrium. By default it equals `derivative`.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
        """
        return self.derivative(state)

    def relaxation_rate(self, capacity: Real) -> Real:
        """Fastest rate, 1/s, at which the AQM state approaches its equilibrium at a constant queue.

        The solver's steps resolve it; 0: nothing to resolve. By default that of an average with one
        sample per packet time, -C ln(1 - `average_weight`).

        Args:
            capacity: C, packets/s.
        """
        return -smooth.log1p(-self.average_weight) * capacity

    def average_queue(self, aqm_state: Any) -> Real:
        """The discipline's average of the queue, packets, which results report as `avg_queue`.

        A discipline without an average overrides this with 0.

        Args:
            aqm_state: a state such as `init` returns; fields may be arrays.
        """
        return aqm_state.avg_queue

    def clip(self, aqm_state: Any, buffer: Real) -> Any:
        """AQM state of the fluid model with its average queue clipped to 0 to `buffer` packets.

        The exact solution never leaves this range, but a step of a solver may. Disciplines with
        other fields clip each to its range.

        Args:
            aqm_state: a state such as `init` returns.
            buffer: size of the buffer, packets.
        """
        return aqm_state._replace(avg_queue=smooth.clip(aqm_state.avg_queue, 0.0, buffer))

    @property
    @abstractmethod
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule, which admits, marks or drops an arriving packet."""

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that `rule` reads from the queue's record, by field name.

        Queue lengths are in packets, probabilities from 0 to 1, switches 0 or 1.
        """
        return {}


class WithoutAverage(QueueDiscipline):
    """A queue discipline that decides by the present queue alone: its average stays at 0."""

    def derivative(self, state: QueueState) -> Average:
        """Time derivative of the average queue, packets/s: zero, as there is no average."""
        return Average(0.0 * state.queue)

    def clip(self, aqm_state: Average, buffer: Real) -> Average:
        """`aqm_state` unchanged: there is no average that could leave its domain."""
        return aqm_state

"""CoDel: drops, at a growing rate, while the queueing delay stays above its target.

A packet that leaves the queue is dropped if all packets have waited longer than `target` for an
`interval`; the n-th drop that follows comes interval / sqrt(n) after the one before. The first
packet that waits less ends the drops. Drops that begin again soon after begin with the number of
drops between, and not with 1.

Packets: the rule decides when a packet arrives, but as of the time at which it will leave, which
the packets before it determine. CoDel also stops where one packet or none is left in the queue.
How many will have arrived behind a packet is not known yet, so the rule takes the number of those
before it: in a queue that changes by one packet at a time, both have the same distribution (Burke).
A packet that will be dropped takes no space in the buffer.

Fluid: with n drops the rate of drops is r = sqrt(n) / I, and the law of the spacing makes dr/dt =
1 / (2 I^2) while packets are dropped, whatever n is. Where CoDel stops and begins again in a cycle,
it begins with the drops of the last episode. If all episodes are the same, n doubles in each, so
that r restarts at 1 / sqrt(2) of its end, at the earliest after an interval I. With s the fraction
of packets above the target, this loss spread over I, and a in [0, 1] for whether the queue has been
too long for an interval,

    dr/dt = a s / (2 I^2) - (1 - s) (1 - 1 / sqrt(2)) r / I.

Packets are dropped at the rate a r. A timer T grows by 1 in an interval above the target, and falls
to 0 in a tenth of it below; a rises from 0 to 1 around T = 1. s rises from 0 to 1 over delays from
half the target to 1.5 times the target, since delays fluctuate. At a busy link C + a r packets
arrive, so that a r / (C + a r) is the fraction dropped.

So the fluid cycles, as CoDel does: the queue grows for an interval before the first drop, and the
mean delay of many or of fast flows is a multiple of the target.

Sources:
    K. Nichols, V. Jacobson, "Controlling queue delay", ACM Queue 10(5), 2012; RFC 8289, sections 4
    and 5. Behaviour of Linux 6.1, include/net/codel_impl.h (how drops begin again; one drop more
    before the first spacing; no code copied). The fluid: derived for this project, and tested
    against packets. P. J. Burke, "The output of a queuing system", Operations Research 4, 1956 (the
    queue that arrivals find and departures leave; not checked against the original).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, AdmissionRule, QueueState
from vegasfluid.aqm.delay_control import TargetDelay
from vegasfluid.aqm.queue_control import SEARCH_BAND
from vegasfluid.clock import picoseconds
from vegasfluid.quantities import Delay, Positive

__all__ = ["CoDel", "CoDelState", "ControlledDelay"]

LEAST_BEHIND = 1
"""Packets left in the queue up to which none is dropped (RFC 8289, section 4.4: one packet)."""
SOON = 16
"""Intervals after the last planned drop within which drops begin with a larger count (Linux)."""
RESTART = 1 - 1 / math.sqrt(2)
"""Part of the rate of drops that a restart takes away, where episodes of drops are all the same."""
LIKELY = 1.33
"""Delay at equilibrium, relative to the target: the timer stays at `ARMING` there, or above if many
packets have to be dropped (from `ControlledDelay.derivative`: s = 0.925 at T = 0.76)."""
MOST = 0.99
"""Largest probability in a search for an equilibrium (chosen)."""
FALL = 0.1
"""Time in which the fluid's timer falls below the target, in intervals (chosen: one packet below
the target resets CoDel, but a mean delay below it does not mean that every packet's is)."""
ARMING, ARMED = 0.75, 1.25
"""Values of the timer between which the fluid begins to drop packets (chosen: around 1)."""
LONGEST = 2.0
"""Largest value of the fluid's timer, intervals (chosen: beyond `ARMED`)."""


def too_long(queue: Any, delay: int, waiting: int, at: int) -> bool:
    """Whether delays have been at or above the target for more than an interval.

    It is evaluated for each packet that leaves. A delay below the target, or at most one packet
    left in the queue, ends the interval.

    Args:
        queue: record of the queue; `long_from`, the end of the interval (ps; 0: none has begun), is
            changed in place.
        delay: time that the packet that leaves has waited, ps.
        waiting: packets left in the queue.
        at: present time, ps.
    """
    if delay < queue.target or waiting <= LEAST_BEHIND:
        queue.long_from = 0
        return False
    if queue.long_from == 0:
        queue.long_from = at + queue.interval
        return False
    return at > queue.long_from


def after(queue: Any, time: int) -> int:
    """Time of the drop that follows one at `time`, both ps: interval / sqrt(drops so far) later."""
    return time + int(queue.interval / math.sqrt(queue.drops))


def first_drop(queue: Any, at: int) -> None:
    """Begin an episode of drops in a queue's record at time `at`, ps: the first drop.

    The count of drops starts at 1. It starts at the number of drops of the last episode if this is
    above 1 and the last planned drop was less than 16 intervals ago.
    """
    recent = queue.drops - queue.drops_before
    soon = at - queue.next_drop < SOON * queue.interval
    queue.drops = recent if recent > 1 and soon else 1
    queue.drops_before = queue.drops
    queue.dropping, queue.next_drop = 1, after(queue, at)


def is_next(queue: Any, long: bool, at: int) -> bool:
    """Whether a queue in an episode of drops drops the packet that leaves now.

    Args:
        queue: record of the queue, changed in place: if `long` is false, the episode ends.
        long: whether delays have been too long, by `too_long`.
        at: present time, ps.
    """
    if queue.planned == 0:
        queue.planned = 1
        if long:
            queue.next_drop = after(queue, queue.next_drop)
    if not long:
        queue.dropping = 0
        return False
    if at < queue.next_drop:
        return False
    queue.drops += 1
    queue.planned = 0
    return True


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a CoDel queue, as of the time when it will leave.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: not used.

    Returns:
        ADMIT, EARLY (dropped) or MARK.
    """
    at = max(queue.now, queue.free)
    if queue.now >= queue.free:
        queue.dropping = 0
    long = too_long(queue, at - queue.now, waiting, at)
    if queue.fresh:
        queue.fresh = 0
        return ADMIT
    if queue.dropping:
        if not is_next(queue, long, at):
            return ADMIT
    elif long:
        first_drop(queue, at)
        queue.fresh, queue.planned = 1, 1
    else:
        return ADMIT
    if queue.ecn and queue.ect:
        queue.fresh = 0
        if queue.planned == 0:
            queue.planned, queue.next_drop = 1, after(queue, queue.next_drop)
        return MARK
    return EARLY


STATE = ("long_from", "next_drop", "drops", "drops_before", "dropping", "planned", "fresh")
"""Fields of the record that the rule keeps: times in ps, counts of drops, and switches: whether it
drops, whether the next drop is planned, and whether it dropped the first packet just now."""


def on_empty(queue: Any) -> None:
    """End the drops of a flow's queue that is found empty."""
    queue.dropping = 0
    queue.long_from = 0


RULE = AdmissionRule(decide, state=dict.fromkeys(STATE, 0), on_empty=on_empty)
"""Admission rule of CoDel, with initial values of the fields that it keeps in the record."""


def armed(timer: Any) -> Any:
    """How far CoDel drops packets in the fluid model, from 0 (no) to 1 (yes), by its timer.

    It rises from 0 at a timer of 0.75 intervals to 1 at 1.25 intervals.
    """
    return smooth.step(timer - ARMING, ARMED - ARMING)


class CoDelState(NamedTuple):
    """State of CoDel in the fluid model.

    Args:
        drop_load: rate of drops or marks r once packets are dropped, relative to the capacity.
        timer: time for which the delay has been above the target, in intervals, 0 to 2.
    """

    drop_load: Any
    timer: Any


@dataclass(frozen=True)
class ControlledDelay(TargetDelay):
    """CoDel's control of a queue, which is a link's only queue or the queue of a single flow."""

    synchronises: ClassVar[bool] = True

    target: Annotated[Delay, Positive] = 0.005
    """Queueing delay above which a queue is too long."""
    interval: Annotated[Delay, Positive] = 0.1
    """Time for which delays must exceed `target` before the first drop; about the longest RTT."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them."""

    def init(self) -> CoDelState:
        """State in the fluid model for an empty queue: no drops, and the timer at 0."""
        return CoDelState(0.0, 0.0)

    def relaxation_rate(self, capacity: Any) -> Any:
        """Fastest rate, 1/s, of the AQM state: that of the timer's fall while the queue is empty.

        Args:
            capacity: packets/s; not used.
        """
        return 1 / (FALL * self.interval)

    def above(self, state: QueueState) -> Any:
        """Fraction of time, 0 to 1, with a delay above the target, for the queue in `state`.

        It rises from 0 at a mean delay (queue / capacity) of half the target to 1 at 1.5 times the
        target.
        """
        return smooth.step(state.queue / state.capacity - self.target / 2, self.target)

    def drop_prob(self, state: QueueState) -> Any:
        """Fraction of arriving packets dropped or marked before the buffer is full, 0 to 1.

        It follows from the rate of drops in `state.aqm_state`. It is 0 while the timer there is
        below 0.75 intervals.
        """
        load = armed(state.aqm_state.timer) * state.aqm_state.drop_load
        return load / (1 + load)

    def derivative(self, state: QueueState) -> CoDelState:
        """Time derivative of the AQM state in the fluid model.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            The time derivatives of `drop_load` (drops relative to the capacity) and `timer` (in
            intervals), both in 1/s.
        """
        load, timer = state.aqm_state
        above = self.above(state)
        growth = above * armed(timer) / (2 * self.interval * state.capacity)
        restart = (1 - above) * RESTART * load
        rising = above * smooth.positive_part(1 - timer / LONGEST)
        running = rising - (1 - above) * timer / FALL
        return CoDelState((growth - restart) / self.interval, running / self.interval)

    def converging_derivative(self, state: QueueState) -> CoDelState:
        """Time derivative of an AQM state that converges for any constant queue.

        With it the rate of drops relative to the capacity approaches p / (1 - p). The drop
        probability p depends on the delay alone: it rises from 0 to 0.99 just above 1.33 `target`,
        where an equilibrium is likely. The timer approaches one interval.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.

        Returns:
            The time derivatives of `drop_load` and `timer`, both in 1/s, as neither has a unit.
        """
        load, timer = state.aqm_state
        delay = state.queue / state.capacity
        prob = smooth.clip((delay / self.target - LIKELY) / SEARCH_BAND, 0.0, MOST)
        wanted = prob / (1 - prob)
        return CoDelState((wanted - load) / self.interval, (1.0 - timer) / self.interval)

    def clip(self, aqm_state: CoDelState, buffer: Any) -> CoDelState:
        """AQM state with `drop_load` clipped to at least 0 and `timer` to 0 to 2 intervals.

        Args:
            aqm_state: the state.
            buffer: size of the buffer, packets; not used.
        """
        load, timer = aqm_state
        return CoDelState(smooth.maximum(load, 0.0), smooth.clip(timer, 0.0, LONGEST))

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule: admits, marks or drops a packet."""
        return RULE

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        `target` and `interval` are in picoseconds, `ecn` is 0 or 1.
        """
        times = {"target": picoseconds(self.target), "interval": picoseconds(self.interval)}
        return {**times, "ecn": int(self.ecn)}


@dataclass(frozen=True)
class CoDel(ControlledDelay):
    """Controlled delay (CoDel).

    >>> CoDel().interval
    0.1
    """

    name: ClassVar[str] = "codel"
    sources: ClassVar[tuple[str, ...]] = (
        "Nichols and Jacobson, ACM Queue 10(5), 2012",
        "RFC 8289",
        "Linux 6.1, include/net/codel_impl.h",
    )

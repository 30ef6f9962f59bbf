"""The packet engine: events of flows over first-in, first-out links.

*Eager evaluation.* In a FIFO link the departure of a packet is known when it is admitted, and so
is its arrival at the next queue, or, after the last one, at the receiver and (where ACKs do not
wait in queues) that of its ACK at the sender. So the only events are arrivals at queues: one per
data packet for data in one direction over one link. Each flow keeps its packets in rings, one for
each queue on its path (a *hop*), and has one entry in the schedule: the earliest packet at the
head of its rings, or a timer of its sender or receiver. Before an ACK is processed, the timers of
that sender that are due earlier are run.

A link that has a queue for each flow does not know its next packet in advance (`flow_queues`):
there the end of a transmission is an event, too, and the link has an entry in the schedule.

Everything here is plain scalar Python, which `jit` compiles.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.packet.features import (
    ARRIVAL_BINS,
    DELAYED_ACKS,
    ECN,
    FLOW_QUEUES,
    MULTI_HOP,
    REORDERING,
    SACK_BLOCKS,
    TWO_WAY,
)
from vegasfluid.packet.flow_queues import NONE, arrive, count_drop, next_packet
from vegasfluid.packet.link import REFUSED, admit
from vegasfluid.packet.receiver import reach_receiver, send_ack
from vegasfluid.packet.ring import ACCESS, add_jitter, current_delay, pop, push
from vegasfluid.packet.sampling import finish_samples, sample_links, sample_receiver, sample_sender
from vegasfluid.packet.schedule import build, reschedule, sift_down
from vegasfluid.packet.sender import next_due, reach_sender, run_due, send_window
from vegasfluid.packet.state import (
    bin_of,
    flow_of,
    heap_of,
    hop_of,
    link_of,
    packet_of,
    queue_of,
    time_of,
)

__all__ = ["COMPLETED", "OUT_OF_LINE", "RING_FULL", "run"]

COMPLETED, RING_FULL = 0, 1
"""Results of `run`: the last sample was taken, or a flow had more packets in flight than its rings
hold, so that the run must be repeated with larger rings."""

OUT_OF_LINE = (
    "run_due",
    "expire_rto",
    "sample_sender",
    "sample_receiver",
    "sample_links",
    "finish_samples",
    "start",
    "on_timeout",
    "on_ecn_echo",
    "on_application",
    "on_finished",
    "open_connection",
    "apply_loss_action",
    "on_dupack",
    "mark_all_lost",
    "send_ack",
    "drop_longest",
    "insert_in_order",
    "receive_ack",
    "finish_handshake",
    "expire_timer",
    "update_state",
    "acknowledge_out_of_order",
    "finish_probe",
    "reduce_window",
    "send_lost",
    "send_packet",
    "resend",
    "rearm_timeout",
    "start_probe",
    "detect_losses",
    "enter_recovery",
    "try_to_open",
    "undo_reduction",
    "set_state",
    "control_grows",
    "control_restarts",
    "control_window_after_loss",
    "control_window_after_mark",
    "control_window_after_timeout",
    "control_sees_state",
    "control_starts_flight",
)
"""Names of functions that are called, not inlined, which halves the compile time: few packets reach
them, or they are parts of RACK-TLP recovery, which takes long enough for a call not to count."""


def next_event_time(sim: Any, f: int) -> int:
    """Time of the next event of flow `f`, ps: a packet at a hop, or a timer of its ends.

    Stores the index of the hop with the earliest packet in `flow.next_hop`.
    """
    flow = flow_of(sim, f)
    time = hop_of(sim, f, 0).next_arrival
    if MULTI_HOP:
        hop_index = 0
        for i in range(1, flow.hops):
            other = hop_of(sim, f, i).next_arrival
            hop_index = i if other < time else hop_index
            time = min(time, other)
        flow.next_hop = hop_index
    if DELAYED_ACKS:
        time = min(time, flow.delack_deadline)
    return min(time, next_due(flow))


def step(sim: Any, f: int, now: int) -> None:
    """Process the next event of flow `f`, which is due at `now` (ps): a packet before a timer."""
    flow = flow_of(sim, f)
    hop_index = flow.next_hop if MULTI_HOP else 0
    if hop_of(sim, f, hop_index).next_arrival == now:
        advance(sim, f, hop_index, now)
    elif DELAYED_ACKS and flow.delack_deadline == now:
        send_ack(sim, f, now)
    else:
        run_due(sim, f, now)


def advance(sim: Any, f: int, i: int, now: int) -> None:
    """Process the packet of flow `f` that arrives at hop `i` at `now` (ps).

    The link of the hop admits it and passes it on to the next hop, or drops and counts it.
    """
    flow, hop = flow_of(sim, f), hop_of(sim, f, i)
    packet = packet_of(sim, f, i, hop.head)
    header = packet.header
    low = high = 0
    if SACK_BLOCKS:
        low, high = packet.low, packet.high
    pop(sim, f, i)
    arrival = now
    if not REORDERING or hop.link >= 0:
        if ECN:
            link_of(sim, hop.link).ect = flow.ect and i < flow.data_hops
        if ARRIVAL_BINS and i < flow.data_hops:
            bin_of(sim, now // link_of(sim, hop.link).bin_width, hop.link).count += 1
        if FLOW_QUEUES and hop.queue >= 0:
            arrive(sim, f, i, now)
            return
        admission = admit(sim, hop.link, hop.relative_size, hop.service, now)
        if admission == REFUSED:
            count_drop(flow, i)
            return
        if ECN:
            header |= admission & 1
        departure = admission >> 1
        arrival = departure + current_delay(sim, hop.link, 0, hop.propagation, departure)
        arrival = add_jitter(sim, f, i, arrival)
    forward(sim, f, i + 1, arrival, header, low, high)


def serve(sim: Any, number: int, now: int) -> int:
    """Begin the next transmission at `now` (ps) of link `number`, which has a queue for each flow.

    Stores the time at which it ends in `link.wake`, or NEVER if no packet waits.

    Returns:
        Index of the flow whose packet is sent; NONE if no packet waits.
    """
    link = link_of(sim, number)
    q = next_packet(sim, number, now)
    if q == NONE:
        link.wake = NEVER
        return NONE
    queue = queue_of(sim, q)
    f, i = queue.flow, queue.hop
    hop, packet = hop_of(sim, f, i), packet_of(sim, f, i, queue.taken)
    header = packet.header
    low = high = 0
    if SACK_BLOCKS:
        low, high = packet.low, packet.high
    if ECN:
        header |= queue.mark
    departure = now + hop.service
    link.free = departure
    link.wake = departure
    arrival = departure + current_delay(sim, number, 0, hop.propagation, departure)
    forward(sim, f, i + 1, add_jitter(sim, f, i, arrival), header, low, high)
    return f


def forward(sim: Any, f: int, i: int, arrival: int, header: int, low: int, high: int) -> None:
    """Send a packet that has left a link to hop `i`, or to the receiver or the sender.

    Where packets can be reordered, the last hop of the data and of the ACKs has no queue: packets
    that overtook each other on the last link are sorted by time there.

    Args:
        sim: the simulation.
        f: index of the flow.
        i: index of the hop; the number of hops stands for the end of the path.
        arrival: time at which the packet reaches the far end of the previous link, ps.
        header: 2 seq + CE mark, or 2 ack_number + ECE for an ACK.
        low: for an ACK, the first packet of its SACK block.
        high: the packet after that block.
    """
    flow = flow_of(sim, f)
    data_hops = flow.data_hops if MULTI_HOP else 1
    hops = flow.hops if MULTI_HOP else 1
    if REORDERING:
        if i == data_hops:
            reach_receiver(sim, f, arrival, header)
        elif i == hops:
            reach_sender(sim, f, arrival, header, low, high)
        elif hop_of(sim, f, i).link >= 0:
            push(sim, f, i, arrival, header, low, high)
        else:
            arrival += current_delay(sim, ACCESS, flow.flow_class, flow.access_delay, arrival)
            push(
                sim,
                f,
                i,
                arrival if i < data_hops else arrival + flow.ack_service,
                header,
                low,
                high,
            )
    elif i == data_hops:
        reach_receiver(sim, f, arrival + flow.access_delay, header)
    elif TWO_WAY and i == hops:
        arrival += flow.access_delay + flow.ack_service
        reach_sender(sim, f, arrival, header, low, high)
    else:
        push(sim, f, i, arrival, header, low, high)


def start(sim: Any) -> None:
    """Send the first window of every flow at its start time, and order the schedule of events."""
    for f in range(sim.flow_count):
        flow = flow_of(sim, f)
        flow.sample_at = time_of(sim, 0).at
        flow.received_sample_at = time_of(sim, 0).at
        sample_sender(sim, f, flow.start)
        sample_receiver(sim, f, flow.start)
        send_window(sim, f, flow.start)
        heap_of(sim, f).time = next_event_time(sim, f)
    for position in range(sim.flow_count, sim.entry_count):
        heap_of(sim, position).time = NEVER
    build(sim)


def wake(sim: Any, f: int, now: int) -> None:
    """Schedule the idle link, if any, at which a packet of flow `f` has arrived at `now` (ps)."""
    flow = flow_of(sim, f)
    if flow.wakes > 0:
        reschedule(sim, link_of(sim, flow.wakes - 1).place, now)
        flow.wakes = 0


def run(sim: Any) -> int:
    """Simulate all events of a run in order of time, until its last sample time.

    Args:
        sim: a `vegasfluid.packet.state.Simulation`, changed in place.

    Returns:
        COMPLETED, or RING_FULL if a flow has more packets in flight than its rings hold.
    """
    start(sim)
    sample_count = 0
    while True:
        first = heap_of(sim, 0)
        f, now = first.flow, first.time
        while now > time_of(sim, sample_count).at:
            sample_links(sim, sample_count)
            sample_count += 1
            if sample_count == sim.sample_count:
                finish_samples(sim)
                return COMPLETED
        if FLOW_QUEUES and f < 0:
            number = -1 - f
            f = serve(sim, number, now)
            reschedule(sim, 0, link_of(sim, number).wake)
            if f == NONE:
                continue
            reschedule(sim, flow_of(sim, f).place, next_event_time(sim, f))
        else:
            step(sim, f, now)
            heap_of(sim, 0).time = next_event_time(sim, f)
            sift_down(sim, 0)
            if FLOW_QUEUES:
                wake(sim, f, now)
        if flow_of(sim, f).full:
            return RING_FULL

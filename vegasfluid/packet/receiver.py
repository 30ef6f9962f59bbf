"""A TCP receiver: it counts the packets that arrive, and sends ACKs at once or delayed.

Sources:
    RFC 5681, section 4.2 (an ACK at once for a packet out of order, otherwise for every second
    packet or after a delay); RFC 2018 (an ACK reports the block that contains the latest packet);
    RFC 3168, section 6.1.3 (a mark is echoed until the sender has responded to it); RFC 8257,
    section 3.2 (DCTCP: an ACK at once where marks begin or end). Before that, the ACK of the
    packets that wait for one: Linux 6.1, net/ipv4/tcp_dctcp.h (behaviour only).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.packet.features import APP_LIMITED, DELAYED_ACKS, ECN, SACK_BLOCKS, TWO_WAY
from vegasfluid.packet.ring import ACCESS, current_delay, push
from vegasfluid.packet.sampling import sample_receiver
from vegasfluid.packet.sender import reach_sender, run_until
from vegasfluid.packet.state import flow_of, slot_of

__all__ = ["reach_receiver", "send_ack"]


def reach_receiver(sim: Any, f: int, arrival: int, header: int) -> None:
    """Process a data packet of flow `f` that arrives at the receiver's access link.

    The receiver counts it, and sends its ACK at once or starts the delayed-ACK timer.

    Args:
        sim: the simulation.
        f: index of the flow.
        arrival: time at which the packet reaches the access link, ps.
        header: 2 seq + CE mark.
    """
    flow = flow_of(sim, f)
    flow.egress_free = max(arrival, flow.egress_free) + flow.egress_service
    now = flow.egress_free
    if DELAYED_ACKS and flow.delack_deadline <= now:
        send_ack(sim, f, flow.delack_deadline)
    if flow.received_sample_at < now:
        sample_receiver(sim, f, now)
    if not TWO_WAY:
        run_until(sim, f, now + flow.return_delay)
    changed = 0
    if ECN and flow.exact_echo:
        changed = echo_exactly(sim, f, now, header)
    elif ECN:
        update_ece(flow, header)
    prompt = receive(sim, f, header >> 1) | changed
    if DELAYED_ACKS and prompt == 0 and flow.reliable and may_delay_ack(flow):
        flow.delack_deadline = now + flow.ack_delay
    elif flow.reliable:
        send_ack(sim, f, now)


def may_delay_ack(flow: Any) -> bool:
    """Whether a flow's receiver may delay the ACK of a packet that arrived in order.

    It may not for the first packets (each call counts `flow.quick_acks` down by 1), if the host
    delays no ACKs (`flow.ack_delay` is 0), or if an ACK is delayed already.
    """
    if flow.quick_acks > 0:
        flow.quick_acks -= 1
        return False
    return flow.ack_delay > 0 and flow.delack_deadline == NEVER


def receive(sim: Any, f: int, seq: int) -> int:
    """Count packet `seq` of flow `f` in `delivered` if it is new, and advance `expected`.

    `expected` is the packet after all that arrived in order.

    Returns:
        1 if an ACK must be sent at once, 0 if it may be delayed. It may be delayed for a packet in
        order while none has arrived out of order, and for any packet of an unreliable flow.
    """
    flow = flow_of(sim, f)
    if APP_LIMITED and not flow.reliable:
        flow.delivered += 1
        return 0
    if seq == flow.expected:
        flow.delivered += 1
        flow.expected += 1
        if flow.delivered == flow.expected:  # no packet has arrived out of order
            return 0
        advance_expected(sim, f)
    elif seq > flow.expected and slot_of(sim, f, seq).received == 0:
        flow.delivered += 1
        slot_of(sim, f, seq).received = 1
        if SACK_BLOCKS:
            update_sack_block(sim, f, seq)
    return 1


def advance_expected(sim: Any, f: int) -> None:
    """Advance `expected` of flow `f` to the first packet that has not arrived."""
    flow = flow_of(sim, f)
    while slot_of(sim, f, flow.expected).received:
        slot_of(sim, f, flow.expected).received = 0
        flow.expected += 1


def update_sack_block(sim: Any, f: int, seq: int) -> None:
    """Store in flow `f` the SACK block to report: the packets out of order around `seq`.

    `seq` is the latest packet; the block goes from `block_low` to below `block_high`.
    """
    flow = flow_of(sim, f)
    low, high = seq, seq + 1
    if flow.expected < flow.block_low <= seq <= flow.block_high:
        low, high = flow.block_low, max(seq + 1, flow.block_high)
    while slot_of(sim, f, low - 1).received:
        low -= 1
    while slot_of(sim, f, high).received:
        high += 1
    flow.block_low = low
    flow.block_high = high


def update_ece(flow: Any, header: int) -> None:
    """Set or clear a receiver's echo of CE marks (`flow.ece`), from a packet's header.

    The header is 2 seq + CE mark. The echo ends with a packet that was sent after the sender's
    response.
    """
    if (header >> 1) >= flow.reduced_at > flow.answer_seen:
        flow.ece = 0
        flow.answer_seen = flow.reduced_at
    if header & 1:
        flow.ece = 1


def echo_exactly(sim: Any, f: int, now: int, header: int) -> int:
    """Set the echo of flow `f` to the mark of the packet that arrives at `now` (ps).

    Where it changes, a delayed ACK goes out first, with the echo of the packets before.

    Args:
        sim: the simulation.
        f: index of the flow.
        now: time of the packet, ps.
        header: 2 seq + CE mark.

    Returns:
        1 if the packet must be acknowledged at once, as the echo has changed, else 0.
    """
    flow = flow_of(sim, f)
    if flow.ece == header & 1:
        return 0
    if DELAYED_ACKS and flow.delack_deadline != NEVER:
        send_ack(sim, f, now)
    flow.ece = header & 1
    return 1


def send_ack(sim: Any, f: int, now: int) -> None:
    """Send at `now` (ps) the ACK of all packets of flow `f` that arrived in order.

    It carries the SACK block and the echo of marks, to the first queue of the ACKs or the sender.
    """
    flow = flow_of(sim, f)
    flow.delack_deadline = NEVER
    header = 2 * flow.expected + flow.ece
    if TWO_WAY:
        delay = current_delay(sim, ACCESS, flow.flow_class, flow.access_delay, now)
        arrival = now + flow.ack_service + delay
        push(sim, f, flow.data_hops, arrival, header, flow.block_low, flow.block_high)
    else:
        reach_sender(sim, f, now + flow.return_delay, header, flow.block_low, flow.block_high)

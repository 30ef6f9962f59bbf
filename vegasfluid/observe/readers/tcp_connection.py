"""A TCP connection in a capture: RTTs, data in flight and retransmissions of both directions.

The capture may be at either end, or between them. The time from a packet to its answer on one side
of the capture, plus that on the other side, is the RTT; at one of the ends one of them is nearly 0.
Answers are found by sequence numbers, without packets that were sent again (Karn's algorithm), and
by time stamps, which pure ACKs also have.

Sources:
    P. Karn and C. Partridge, "Improving round-trip time estimates in reliable transport protocols",
    SIGCOMM 1987; RFC 7323; K. Nichols, https://github.com/pollere/pping (the method).
"""

from __future__ import annotations

import math
from collections import deque

from vegasfluid.observe.readers.tcp_headers import TcpHeader
from vegasfluid.observe.sample_columns import SampleColumns

__all__ = ["Connection", "Direction"]

FIN, SYN, RST, ACK = 1, 2, 4, 16
NUMBERS = 1 << 32
"""Sequence numbers count modulo this."""
REORDERED = 3e-3
"""Longest time by which a packet in the wrong order is late, s: one that comes later was sent again
(Wireshark's limit, tcp.analysis.out_of_order)."""
MOST_WAITING = 65_536
"""Largest number of packets of a direction whose ACK is awaited."""
MOST_STAMPS = 4096
"""Largest number of time stamps of a direction whose echo is awaited."""
LARGEST_JUMP = 1 << 30
"""Most data that an ACK may acknowledge beyond what was captured, bytes: the largest window."""
MOST_GAPS = 256
"""Largest number of gaps in a direction's data."""


class ResponseTimes:
    """Times from packets to their answers within an interval: number, sum and smallest, s."""

    __slots__ = ("count", "least", "total")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin another interval."""
        self.count, self.total, self.least = 0, 0.0, math.inf

    def add(self, seconds: float) -> None:
        """Add the time of an answer, s."""
        self.count += 1
        self.total += seconds
        self.least = min(self.least, seconds)

    def values(self, name: str) -> dict[str, float]:
        """Mean and smallest time, s; empty where there is none.

        Args:
            name: beginning of the keys.
        """
        if not self.count:
            return {}
        return {f"{name}_mean": self.total / self.count, f"{name}_least": self.least}


class Direction:
    """The data of one direction, and the answers of the other end."""

    def __init__(self) -> None:
        self.base: int | None = None
        self.sent = 0
        """Sequence number after the last one that was sent, not modulo 2**32."""
        self.acked = 0
        """Sequence number before which all data is acknowledged, not modulo 2**32."""
        self.data_end = 0
        """Sequence number after the last byte of data that was sent, without FIN."""
        self.recovery_end = 0
        """Sequence number that must be acknowledged, after a retransmission, before RTTs count."""
        self.retransmitted = 0.0
        self.is_acked = False
        self.largest = 0
        """Most data in a packet, bytes."""
        self.announced: int | None = None
        """Smaller one of the maximum segment sizes that the ends announced, bytes."""
        self.has_stamps = False
        self.waiting: deque[tuple[int, float]] = deque(maxlen=MOST_WAITING)
        self.gaps: list[tuple[int, int, float]] = []
        self.stamps: dict[int, float] = {}
        self.last_stamp: int | None = None
        self.by_number, self.by_stamp = ResponseTimes(), ResponseTimes()
        self.columns = SampleColumns()

    def number(self, low: int) -> int:
        """A sequence number, not modulo 2**32: the one nearest to the last that was sent."""
        if self.base is None:
            self.base = self.sent = self.acked = self.data_end = self.recovery_end = low
        distance = (low - self.sent) % NUMBERS
        return self.sent + (distance - NUMBERS if distance >= NUMBERS // 2 else distance)

    def send(self, now: float, header: TcpHeader) -> None:
        """Take a packet of this direction that has data, SYN or FIN."""
        seq = self.number(header.seq)
        is_syn = bool(header.flags & SYN)
        end = seq + header.payload + is_syn + bool(header.flags & FIN)
        if is_syn and self.base == seq:
            self.base = self.data_end = seq + 1
        self.largest = max(self.largest, header.payload)
        if seq < self.sent:
            self.send_again(now, seq, end, header.payload)
        elif seq > self.sent and len(self.gaps) < MOST_GAPS:
            self.gaps.append((self.sent, seq, now))
        if end > self.sent:
            self.sent = end
            if self.acked >= self.recovery_end:
                self.waiting.append((end, now))
        self.data_end = max(self.data_end, seq + is_syn + header.payload)

    def send_again(self, now: float, seq: int, end: int, payload: int) -> None:
        """Take a packet whose number is below those already sent: sent again, or out of order."""
        if not payload or (payload == 1 and end == self.sent):  # SYN, FIN; probes of a window
            return
        for place, (low, high, since) in enumerate(self.gaps):
            if low <= seq < high:
                rest = [(low, seq, since), (end, high, since)]
                self.gaps[place : place + 1] = [gap for gap in rest if gap[0] < gap[1]][:2]
                if now - since < REORDERED:
                    return
                break
        self.retransmitted += max(1.0, round(payload / self.segment_bytes))
        self.waiting.clear()
        self.recovery_end = max(self.recovery_end, self.sent)

    def acknowledge(self, now: float, low: int) -> None:
        """Take an ACK of this direction's data at `now` (s); `low`: its number modulo 2**32."""
        ack = self.number(low)
        self.is_acked = True
        if ack > self.sent + LARGEST_JUMP:  # the packet is damaged
            return
        if ack > self.sent:  # its data was not captured
            self.sent = self.data_end = ack
        if ack <= self.acked:
            return
        was_recovering = self.acked < self.recovery_end
        self.acked = ack
        newest = None
        while self.waiting and self.waiting[0][0] <= ack:
            newest = self.waiting.popleft()
        if newest is not None and not was_recovering:
            self.by_number.add(now - newest[1])

    def stamp(self, now: float, tsval: int) -> None:
        """Take a time stamp `tsval` of this direction at `now` (s); its first packet counts."""
        self.has_stamps = True
        if tsval != self.last_stamp:
            self.last_stamp = tsval
            self.stamps[tsval] = now
            if len(self.stamps) > MOST_STAMPS:
                del self.stamps[next(iter(self.stamps))]

    def echo(self, now: float, tsecr: int) -> None:
        """Take a time stamp `tsecr` that the other end echoes at `now` (s): its first echo counts.

        The time since this direction's packet with that stamp is a response time.
        """
        since = self.stamps.pop(tsecr, None)
        if since is not None:
            self.by_stamp.add(now - since)

    @property
    def segment_bytes(self) -> float:
        """Data of a full packet, bytes, from what the ends announced or from packets.

        A capture on a host may have packets before the network card splits them.
        """
        if self.announced is not None:
            return float(max(self.announced - 12 * self.has_stamps, 1))
        usual = [size for size in (1448, 1460, 1428, 1440) if self.largest % size == 0]
        if self.largest > 1460 and usual:
            return float(usual[0])
        return float(self.largest if 0 < self.largest <= 9000 else 1448)

    def values(self) -> dict[str, float]:
        """What was sent and acknowledged so far, by field of `FlowSamples`.

        Keys: `sent_bytes`, `retransmitted_packets`, and, if an ACK was captured, `delivered_bytes`
        and `in_flight_packets`.
        """
        base = self.base or 0
        found = {
            "sent_bytes": float(self.data_end - base),
            "retransmitted_packets": self.retransmitted,
        }
        if self.is_acked:
            found["delivered_bytes"] = float(max(min(self.acked, self.data_end) - base, 0))
            found["in_flight_packets"] = max(self.sent - self.acked, 0) / self.segment_bytes
        return found


class Connection:
    """Both directions of a connection.

    Args:
        source: address and port of the first packet's sender, as in the packet.
        target: those of its receiver.
    """

    def __init__(self, source: bytes, target: bytes) -> None:
        self.ends = (source, target)
        self.directions = (Direction(), Direction())
        self.interval = -math.inf
        self.last = 0.0

    def is_another(self, header: TcpHeader) -> bool:
        """Whether a packet begins another connection between the same ports."""
        own = self.directions[header.source != self.ends[0]]
        if not header.flags & SYN or own.base is None:
            return False
        return (header.seq + 1) % NUMBERS != own.base % NUMBERS

    def add(self, now: float, header: TcpHeader) -> None:
        """Take a packet.

        Args:
            now: its time, s.
            header: its headers.
        """
        which = header.source != self.ends[0]
        own, other = self.directions[which], self.directions[not which]
        self.last = now
        if header.segment is not None:
            for each in self.directions:
                each.announced = min(each.announced or header.segment, header.segment)
        if header.payload or header.flags & (SYN | FIN):
            own.send(now, header)
        if header.flags & ACK:
            other.acknowledge(now, header.ack)
        if header.tsval is not None:
            own.stamp(now, header.tsval)
            if header.flags & ACK:
                other.echo(now, header.tsecr)

    def sample(self) -> int:
        """End an interval: add a sample to each direction that has data; returns their number."""
        count = 0
        for own, other in (self.directions, self.directions[::-1]):
            if not own.largest:
                continue
            values = own.values() | own.by_number.values("far_number")
            values |= own.by_stamp.values("far_stamp") | other.by_number.values("near_number")
            own.columns.add(self.last, values | other.by_stamp.values("near_stamp"))
            count += 1
        for own in self.directions:
            own.by_number.clear()
            own.by_stamp.clear()
        return count

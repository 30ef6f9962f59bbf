"""Reader of packet captures, pcap and pcapng: RTTs, data in flight, retransmissions of each flow.

    tcpdump -i eth0 -s 96 -w capture.pcap 'tcp port 5201'

dpkt reads the file formats: it has no dependencies, reads packet by packet in constant memory
(2 GB take minutes and 100 MB), and has the BSD licence. scapy takes ten times as long per packet
and has the GPL; python-pcapng does not read pcap; pyshark needs Wireshark.

Samples are means over 0.1 s; a longer capture has longer intervals, so that memory is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import dpkt
import numpy as np

from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import FlowSamples, Measurement
from vegasfluid.observe.readers.tcp_connection import Connection, Direction
from vegasfluid.observe.readers.tcp_headers import LINK_TYPES, address_of, tcp_header

__all__ = ["is_pcap", "read_pcap"]

MAGIC = ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
"""First bytes of captures: pcap, pcap in nanoseconds, Kuznetzov's pcap, pcapng."""
INTERVAL = 0.1
"""Length of the intervals of which samples are means, s."""
MOST_SAMPLES = 500_000
"""Number of samples at which the length of intervals is doubled: 50 MB."""
MOST_CONNECTIONS = 20_000
"""Largest number of connections: 100 MB."""
LARGEST_PACKET = 1 << 18
"""Largest size of a packet, bytes (libpcap's MAXIMUM_SNAPLEN)."""
LARGEST_BLOCK = 1 << 24
"""Largest size of a block of pcapng, bytes (Wireshark's limit)."""
STEP_BACK = 1.0
"""Most by which a packet's time may be before the last one's, s: from several queues of a card."""
AT_THE_END = 0.1
"""Ratio of the smallest times on both sides of a capture below which it is at one end."""


class Bounded:
    """A file that is read in pieces of sensible sizes, whatever sizes the file itself has.

    Args:
        stream: the file.
        largest: largest size of a piece, bytes.
    """

    def __init__(self, stream: IO[bytes], largest: int) -> None:
        self.stream, self.largest = stream, largest
        self.is_cut = False

    def read(self, size: int) -> bytes:
        """The next bytes, fewer at the file's end.

        Raises:
            ValueError: for a negative or too large size.
        """
        if not 0 <= size <= self.largest:
            raise ValueError(f"size must be from 0 to {self.largest}, but is {size}")
        data = self.stream.read(size)
        self.is_cut |= 0 < len(data) < size
        return data


def is_pcap(head: bytes) -> bool:
    """Whether a file is a capture.

    Args:
        head: beginning of the file.
    """
    return head[:4].hex() in MAGIC


def read_pcap(path: Path) -> Measurement:
    """Flows of a capture.

    Args:
        path: the file, at either end of the connections or between them.

    Raises:
        MeasurementFileError: for a damaged file, another link type, no TCP, or more than 20 000
            connections.
    """
    with open(path, "rb") as stream:
        reader = _Reader(path)
        for number, now, packet in reader.packets(stream):
            reader.add(number, now, packet)
    return reader.measurement()


class _Reader:
    """Reads a capture packet by packet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.link_type: int | None = None
        self.connections: dict[tuple[bytes, bytes], Connection] = {}
        self.ended: list[Connection] = []
        self.samples, self.length = 0, INTERVAL
        self.start: float | None = None
        self.last = -math.inf

    def error(self, place: str, problem: str, given: str = "") -> MeasurementFileError:
        """The error for a place in the file."""
        return MeasurementFileError(str(self.path), place, problem, given)

    def packets(self, stream: IO[bytes]) -> Iterator[tuple[int, float, bytes]]:
        """Number from 1, time (s) and bytes of each packet.

        Args:
            stream: the file.
        """
        is_pcapng = stream.read(4).hex() == MAGIC[-1]
        stream.seek(0)
        file = Bounded(stream, LARGEST_BLOCK if is_pcapng else LARGEST_PACKET)
        reader: Any
        number = 0
        try:
            reader = dpkt.pcapng.Reader(file) if is_pcapng else dpkt.pcap.Reader(file)
            self.link_type = reader.datalink()
            if self.link_type not in LINK_TYPES:
                known = ", ".join(map(str, sorted(LINK_TYPES)))
                raise self.error("", f"link type {self.link_type} is not supported: {known}")
            for number, (now, packet) in enumerate(reader, start=1):
                yield number, float(now), packet
        except MeasurementFileError:
            raise
        except (dpkt.Error, ArithmeticError, ValueError, IndexError, TypeError) as error:
            if not file.is_cut:
                place = f"packet {number + 1}" if self.link_type is not None else ""
                problem = "the capture must be complete and undamaged"
                raise self.error(place, problem, str(error)) from None
        except Exception as error:  # dpkt: struct.error, without a common class
            if type(error).__name__ != "error":
                raise
            raise self.error(f"packet {number + 1}", "the block must be complete") from None
        if file.is_cut and number:
            self.notes.append(f"{self.path}: the capture ends within packet {number}.")

    def add(self, number: int, now: float, packet: bytes) -> None:
        """Take a packet.

        Args:
            number: its number from 1.
            now: its time, Unix or from any beginning, s.
            packet: its bytes.
        """
        if now < self.last - STEP_BACK:
            raise self.error(f"packet {number}", "times must not go backwards")
        now = self.last = max(now, self.last)
        header = None if self.link_type is None else tcp_header(packet, self.link_type)
        if header is None:
            return
        if self.start is None:
            self.start = now
        ends = (header.source, header.target)
        connection = self.connections.get(ends)
        if connection is None or connection.is_another(header):
            connection = self.begin(connection, ends)
        if now >= connection.interval:
            if connection.interval > 0:
                self.samples += connection.sample()
                if self.samples > MOST_SAMPLES:
                    self.samples, self.length = 0, self.length * 2
            connection.interval = now + self.length
        connection.add(now, header)

    def begin(self, before: Connection | None, ends: tuple[bytes, bytes]) -> Connection:
        """A new connection.

        Args:
            before: an earlier one between the same ports.
            ends: both ends.
        """
        if before is not None:
            self.ended.append(before)
        connection = Connection(*ends)
        self.connections[ends] = self.connections[ends[1], ends[0]] = connection
        if len(self.connections) // 2 + len(self.ended) > MOST_CONNECTIONS:
            problem = (
                f"the capture must have at most {MOST_CONNECTIONS} connections: select some by"
                " tcpdump -r CAPTURE -w PART 'tcp port PORT'"
            )
            raise self.error("", problem)
        return connection

    def measurement(self) -> Measurement:
        """All flows that were read: directions that have data."""
        flows: list[FlowSamples] = []
        names: dict[str, int] = {}
        for connection in [*self.ended, *dict.fromkeys(self.connections.values())]:
            connection.sample()
            ends = [address_of(end) for end in connection.ends]
            for way, direction in zip((ends, ends[::-1]), connection.directions, strict=True):
                if direction.columns.time:
                    name = " > ".join(way)
                    names[name] = names.get(name, 0) + 1
                    again = f" ({names[name]})" if names[name] > 1 else ""
                    addresses = way[0].rpartition(":")[0], way[1].rpartition(":")[0]
                    flows.append(self.flow(name + again, addresses, direction))
        if not flows:
            raise self.error("", "the capture must have TCP connections with data")
        return Measurement(tuple(flows), (), (str(self.path),), self.start, tuple(self.notes))

    def flow(self, name: str, addresses: tuple[str, str], direction: Direction) -> FlowSamples:
        """The flow of a direction.

        Args:
            name: its name.
            addresses: of its sender and of its receiver.
            direction: the direction, whose samples are complete.
        """
        series = direction.columns.arrays(self.start or 0.0)
        means, least = (
            {
                side: [series.pop(f"{side}_{kind}_{which}", None) for kind in ("number", "stamp")]
                for side in ("far", "near")
            }
            for which in ("mean", "least")
        )
        vantage, rtt, smallest = _round_trips(means, least)
        if rtt is not None and smallest is not None:
            series["rtt_s"] = rtt
            series["min_rtt_s"] = np.fmin.accumulate(smallest)
        if vantage == "receiver":
            series.pop("in_flight_packets", None)
        return FlowSamples(
            name,
            str(self.path),
            vantage=vantage,
            sender=addresses[0],
            receiver=addresses[1],
            segment_bytes=direction.segment_bytes,
            is_smoothed=False,
            **series,
        )


Series = dict[str, list[np.ndarray | None]]
"""Series by the side of the capture: by sequence numbers, and by time stamps."""
Vantage = Literal["sender", "receiver"] | None
"""Where a capture was made; None: between the ends, or not known."""


def _round_trips(
    means: Series, least: Series
) -> tuple[Vantage, np.ndarray | None, np.ndarray | None]:
    """Where a capture was made, and the RTTs, mean and smallest of each interval, s.

    Args:
        means: mean times of an interval from packets to their answers, on the side of the data's
            receiver (`far`) and of its sender (`near`), s; (sample,).
        least: smallest of these times, s; (sample,).

    Returns:
        Where the capture was made, mean RTTs and smallest RTTs, (sample,). The RTTs are None if
        there are no times on the receiver's side. Without times on the sender's side, they are the
        times on the receiver's side.
    """
    far, near = _first_known(means["far"]), _first_known(means["near"])
    far_least, near_least = _first_known(least["far"]), _first_known(least["near"])
    if far is None or near is None or far_least is None or near_least is None:
        return None, far, far_least
    far_min, near_min = float(np.nanmin(far_least)), float(np.nanmin(near_least))
    if near_min <= AT_THE_END * far_min:
        return "sender", far, far_least
    if far_min <= AT_THE_END * near_min:
        return "receiver", near, near_least
    return None, far + near, far_least + near_least


def _first_known(series: list[np.ndarray | None]) -> np.ndarray | None:
    """Values by sequence numbers, by time stamps where there are none; None: there are neither."""
    by_number, by_stamp = series
    if by_number is None or by_stamp is None:
        return by_stamp if by_number is None else by_number
    return np.where(np.isfinite(by_number), by_number, by_stamp)

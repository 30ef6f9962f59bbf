"""Reader of tcp_probe, with which Linux logs a connection's state at each packet that it receives.

Up to Linux 4.15 it is a module, and from 4.16 on a trace event:

    modprobe tcp_probe port=5201 full=1; cat /proc/net/tcpprobe > tcp_probe.txt

    cd /sys/kernel/tracing; echo 1 > events/tcp/tcp_probe/enable; cat trace_pipe > tcp_probe.txt

Lines of the trace event may also be those of `trace-cmd report` or `perf script`, and lines of
other events between them are skipped.

Sources:
    Linux 4.15, net/ipv4/tcp_probe.c, `tcpprobe_sprint`; Linux 3.14, the same (srtt in jiffies);
    Linux 6.1, include/trace/events/tcp.h, `TRACE_EVENT(tcp_probe)`.
"""

from __future__ import annotations

import re
import statistics
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from vegasfluid.observe.clock_times import FIRST_UNIX
from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import FlowSamples, Measurement
from vegasfluid.observe.sample_columns import SampleColumns
from vegasfluid.observe.text_files import DEFAULT_SEGMENT, end_of, ends_a_line, numbered_lines

__all__ = ["is_tcp_probe", "read_tcp_probe"]

END = r"(\S{1,80}:\d{1,5})"
"""An address with its port."""
MODULE = re.compile(
    rf"^(\d{{1,12}}\.\d{{1,9}})\s+{END}\s+{END}\s+\d{{1,10}}"
    r"\s+(?:0x)?([0-9a-f]{1,8})\s+(?:0x)?([0-9a-f]{1,8})\s+(\d{1,10})\s+\d{1,10}\s+\d{1,10}"
    r"\s+(\d{1,10})(?:\s+\d{1,10})?$"
)
"""A line of the module: time, both ends, length, snd_nxt, snd_una, snd_cwnd, ssthresh, snd_wnd,
srtt, and, in later versions, rcv_wnd."""
EVENT = re.compile(r"(?:^|\s)(\d{1,12}\.\d{1,9}):\s+(?:tcp:)?tcp_probe:\s+(.*)$")
"""A line of the trace event: time and fields."""
FIELD = re.compile(r"(\w{1,20})=(\S{1,90})")
"""Name and value of a field of the trace event."""
LOST = re.compile(r"\[LOST (\d{1,12}) EVENTS\]")
"""What the trace has where it lost events."""
NUMBERS = 1 << 32
"""Sequence numbers count modulo this."""
LARGEST_WINDOW = 1 << 30
"""Most data that can be sent and not acknowledged, bytes."""
MICROSECOND = 1e-6
"""Unit of srtt from Linux 3.15 on, s."""
JIFFIES = (1e-3, 1 / 300, 4e-3, 1e-2)
"""Units of srtt up to Linux 3.14, s: jiffies of kernels with HZ=1000, 300, 250 and 100."""
MOST_RATIOS = 10_000
"""Number of RTTs of a connection from which the unit of srtt is found."""
MOST_WAITING = 65_536
"""Largest number of sequence numbers of a connection whose acknowledgement is awaited."""
SEGMENTS = (1448, 1460, 1428, 1440, 8948, 8960)
"""Usual data of full packets, bytes: Ethernet and jumbo frames, IPv4 and IPv6, with and without
time stamps."""
MOST_ACKS = 0.5
"""Fraction of the ACKs that must be for a whole number of such packets."""


class Line(NamedTuple):
    """A line of the log.

    Args:
        time: its time, s.
        ends: address and port of the host that wrote the log, and of the other one.
        next: sequence number of the next byte to be sent (snd_nxt), modulo 2**32.
        unacked: sequence number of the first byte that is not acknowledged (snd_una).
        window: congestion window, packets.
        srtt: smoothed RTT in the unit of the file.
    """

    time: float
    ends: tuple[str, str]
    next: int
    unacked: int
    window: float
    srtt: float


class Connection:
    """A connection over time: its samples, and RTTs from sequence numbers."""

    def __init__(self) -> None:
        self.columns = SampleColumns()
        self.low: int | None = None
        self.acked = 0
        self.waiting: deque[tuple[int, float]] = deque(maxlen=MOST_WAITING)
        self.ratios: list[float] = []
        """Seconds in the unit of srtt, by RTTs from sequence numbers."""
        self.acks = 0
        self.whole = dict.fromkeys(SEGMENTS, 0)
        """Number of ACKs for a whole number of packets, by the data of a packet."""

    def is_another(self, line: Line) -> bool:
        """Whether a line is of a later connection between the same ends."""
        return self.low is not None and (line.unacked - self.low) % NUMBERS > LARGEST_WINDOW

    def add(self, line: Line) -> None:
        """Take a line."""
        advance = 0 if self.low is None else (line.unacked - self.low) % NUMBERS
        self.low = line.unacked
        self.acked += advance
        values = {"delivered_bytes": float(self.acked), "window_packets": line.window}
        if line.srtt > 0:
            values["rtt_s"] = line.srtt
        if advance > 0:
            self.acks += 1
            for segment in SEGMENTS:
                self.whole[segment] += advance % segment == 0
        flight = (line.next - line.unacked) % NUMBERS
        if flight <= LARGEST_WINDOW:
            values["in_flight_bytes"] = float(flight)
            self.compare(line, self.acked + flight)
        self.columns.add(line.time, values)

    def compare(self, line: Line, sent: int) -> None:
        """Compare srtt with the time from sending data to its acknowledgement.

        The log has no line when data is sent: data that was sent at a line is taken to have been
        sent then.

        Args:
            line: the line.
            sent: data sent so far, bytes.
        """
        newest = None
        while self.waiting and self.waiting[0][0] <= self.acked:
            newest = self.waiting.popleft()[1]
        if newest is not None and line.srtt > 0 and len(self.ratios) < MOST_RATIOS:
            self.ratios.append((line.time - newest) / line.srtt)
        if not self.waiting or sent > self.waiting[-1][0]:
            self.waiting.append((sent, line.time))

    @property
    def segment_bytes(self) -> float | None:
        """Data of a full packet, bytes: what most ACKs are multiples of; None: not known."""
        segment = max(SEGMENTS, key=self.whole.__getitem__)
        return float(segment) if self.whole[segment] > MOST_ACKS * self.acks else None


def is_tcp_probe(head: str) -> bool:
    """Whether the beginning of a file is a log of tcp_probe.

    Args:
        head: beginning of the file.
    """
    lines = [line.strip() for line in head.splitlines()]
    return _is_module(lines) or any(EVENT.search(line) for line in lines)


def _is_module(lines: Iterable[str]) -> bool:
    """Whether the first of some lines that has text is one of the module."""
    return bool(MODULE.match(next(filter(None, (line.strip() for line in lines)), "")))


def read_tcp_probe(path: Path) -> Measurement:
    """Flows in a log of tcp_probe.

    The module's log does not say whether srtt is in microseconds or, up to Linux 3.14, in jiffies:
    the unit is the one with which it agrees best with the times from sending data to its
    acknowledgement.

    Args:
        path: the file.

    Raises:
        MeasurementFileError: for a line that cannot be read, and for times that go backwards.
    """
    connections: dict[tuple[tuple[str, str], int], Connection] = {}
    generations: dict[tuple[str, str], int] = {}
    lost: list[int] = []
    is_module = _is_module(text for _, text in numbered_lines(path))
    for number, line in _lines(path, is_module, lost):
        generation = generations.setdefault(line.ends, 1)
        connection = connections.setdefault((line.ends, generation), Connection())
        if connection.columns.time and line.time < connection.columns.time[-1]:
            problem = "times must not go backwards"
            raise MeasurementFileError(str(path), f"line {number}", problem, f"{line.time:.9g}")
        if connection.is_another(line):
            generations[line.ends] = generation + 1
            connection = connections.setdefault((line.ends, generation + 1), Connection())
        connection.add(line)
    if not connections:
        raise MeasurementFileError(str(path), "", "the log must have a complete line of tcp_probe")
    unit, notes = _unit(path, connections.values()) if is_module else (MICROSECOND, [])
    if sum(lost):
        notes.append(f"{path}: the trace lost {sum(lost)} events.")
    if any(each.acks and each.segment_bytes is None for each in connections.values()):
        notes.append(f"{path}: packets of unknown size are taken to have {DEFAULT_SEGMENT:g} B.")
    first = min(each.columns.time[0] for each in connections.values())
    start = first if first >= FIRST_UNIX else None
    flows = tuple(
        _flow(ends, generation, connection, path, unit, start or 0.0)
        for (ends, generation), connection in connections.items()
    )
    return Measurement(flows, (), (str(path),), start, tuple(notes))


def _lines(path: Path, is_module: bool, lost: list[int]) -> Iterator[tuple[int, Line]]:
    """Lines of a log with their numbers, without a last one that may be cut.

    Args:
        path: the file.
        is_module: whether it is of the module, not of the trace event.
        lost: list to which numbers of lost events are appended.

    Raises:
        MeasurementFileError: for a line that cannot be read.
    """
    count, waiting = 0, None
    for number, text in numbered_lines(path):
        text = text.strip()
        found = None if is_module else EVENT.search(text)
        lost.extend(int(each) for each in LOST.findall(text))
        if not text or (not is_module and found is None):
            continue
        if waiting is not None:
            count += 1
            yield _checked(path, *waiting)
        waiting = (number, text, _of_module(text) if found is None else _of_event(found))
    if waiting is not None and (not count or ends_a_line(path)):
        yield _checked(path, *waiting)


def _checked(path: Path, number: int, text: str, line: Line | None) -> tuple[int, Line]:
    """A line and its number; raises MeasurementFileError if its text could not be read."""
    if line is None:
        problem = "the line must have the fields of tcp_probe"
        raise MeasurementFileError(str(path), f"line {number}", problem, text)
    return number, line


def _of_module(text: str) -> Line | None:
    """A line of the module; None: it is none."""
    found = MODULE.match(text)
    if found is None:
        return None
    time, source, target, following, unacked, window, srtt = found.groups()
    ends = (end_of(source), end_of(target))
    return Line(float(time), ends, int(following, 16), int(unacked, 16), int(window), int(srtt))


def _of_event(found: re.Match[str]) -> Line | None:
    """A line of the trace event; None: fields are missing or cannot be read."""
    fields = dict(FIELD.findall(found[2]))
    try:
        return Line(
            float(found[1]),
            (end_of(fields["src"]), end_of(fields["dest"])),
            int(fields["snd_nxt"], 16) % NUMBERS,
            int(fields["snd_una"], 16) % NUMBERS,
            _count(fields["snd_cwnd"]),
            _count(fields["srtt"]),
        )
    except (KeyError, ValueError):
        return None


def _count(text: str) -> float:
    """A number from its digits; raises ValueError for other text."""
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII):
        raise ValueError("not a number")
    return float(text)


def _unit(path: Path, connections: Iterable[Connection]) -> tuple[float, list[str]]:
    """Unit of srtt in the module's log, s, and a note if it is not certainly the microsecond."""
    ratios = [ratio for each in connections for ratio in each.ratios if ratio > 0]
    if not ratios:
        return MICROSECOND, [f"{path}: srtt is taken to be in microseconds."]
    ratio = statistics.median(ratios)
    unit = min((MICROSECOND, *JIFFIES), key=lambda each: max(each / ratio, ratio / each))
    if unit == MICROSECOND:
        return unit, []
    how = "which fits the times from sending data to its acknowledgement best"
    return unit, [f"{path}: srtt is taken to be in jiffies of {unit * 1e3:.3g} ms, {how}."]


def _flow(
    ends: tuple[str, str],
    generation: int,
    connection: Connection,
    path: Path,
    unit: float,
    start: float,
) -> FlowSamples:
    """The flow of a connection.

    Args:
        ends: address and port of the sender, and of the receiver.
        generation: number among the connections between the same ends, from 1.
        connection: its samples.
        path: the file.
        unit: unit of its RTTs, s.
        start: time that becomes 0, s.
    """
    series = connection.columns.arrays(start)
    if "rtt_s" in series:
        series["rtt_s"] = series["rtt_s"] * unit
    segment = connection.segment_bytes
    flight = series.pop("in_flight_bytes", None)
    if flight is not None:
        series["in_flight_packets"] = flight / (segment or DEFAULT_SEGMENT)
    return FlowSamples(
        " > ".join(ends) + (f" ({generation})" if generation > 1 else ""),
        str(path),
        vantage="sender",
        sender=ends[0].rpartition(":")[0],
        receiver=ends[1].rpartition(":")[0],
        segment_bytes=segment,
        rtt_step_s=unit if unit > MICROSECOND else None,
        **series,
    )

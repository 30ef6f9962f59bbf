"""Reader of `ss -tin`: once, or a loop's output with times or with a known interval.

    while sleep 0.1; do date +%s.%N; ss -tin; done > ss.txt
    while sleep 0.1; do ss -tin; done | ts %.s > ss.txt

Versions of iproute2 differ in the words that they print, and in whether a connection has one line
or several; unknown words are skipped, and `-e`, `-o`, `-p`, `-m` and `-O` do no harm.

Sources:
    iproute2 6.1, misc/ss.c: `tcp_stats_print`, `tcp_show_info`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from vegasfluid.observe.clock_times import FIRST_UNIX, ListingClock, time_in
from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import FlowSamples, Measurement
from vegasfluid.observe.readers.host_limits import TIMES, HostLimits, limits_note
from vegasfluid.observe.sample_columns import SampleColumns
from vegasfluid.observe.text_files import end_of, ends_a_line, finite, numbered_lines

__all__ = ["is_ss", "read_ss"]

ADDRESS = r"(\S+:(?:\d+|\*|[a-z][\w.-]*))"
"""An address with its port."""
CONNECTION = re.compile(
    rf"^(?:(?:tcp|mptcp)\s+)?(?:([A-Z][A-Z0-9-]+)\s+)?\d+\s+\d+\s+{ADDRESS}\s+{ADDRESS}(?=\s|$)"
)
"""Beginning of a connection: state, two lengths of queues, and both addresses."""
HEADER = re.compile(r"^(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\b")
"""Names of the columns, with which a listing begins."""
STAMPED = re.compile(r"^(\d{9,10}\.\d{1,9})\s+(?!$)(.*)$")
"""A line after its time, as `ss -tin | ts %.s` (moreutils) prints it."""
PROCESSES = re.compile(r"users:\(\(.*?\)\)")
"""Processes of a connection (`-p`), whose names may have spaces."""
CONTROL = re.compile(r"^[a-z][a-z0-9_-]*$")
"""Name of a congestion control."""
FLAGS = frozenset({"ts", "sack", "ecn", "ecnseen", "fastopen", "accecn", "send"})
"""Words without a value before the name of the congestion control."""
USED = ("rtt", "minrtt", "cwnd", "mss", "bytes_acked", "bytes_sent", "bytes_retrans", "retrans")
USED += ("unacked", "delivered", "bytes_received", "sacked", *TIMES)
"""Words whose values are read."""
RECEIVER_FACTOR = 10.0
"""Ratio of data received to data acknowledged above which a connection's host is a receiver."""
NO_SENDER = ("window_packets", "rtt_s", "min_rtt_s", "in_flight_packets", "sent_bytes")
NO_SENDER += ("retransmitted_packets",)
"""Series that mean nothing at the receiver of the data."""


class Connection(NamedTuple):
    """A connection in one listing.

    Args:
        ends: both addresses with their ports, first that of the host that ran `ss`.
        number: number of its line.
        words: its words after the addresses, each with the number of its line.
    """

    ends: tuple[str, str]
    number: int
    words: list[tuple[int, str]]

    def extend(self, number: int, line: str) -> None:
        """Add the words of a line."""
        self.words.extend((number, word) for word in PROCESSES.sub("", line).split())


class Flow:
    """A connection over time."""

    def __init__(self) -> None:
        self.columns = SampleColumns()
        self.control: str | None = None
        self.segment: float | None = None
        self.last: dict[str, float] = {}
        self.limits = HostLimits()


def is_ss(head: str) -> bool:
    """Whether the beginning of a file is output of `ss`, also of one that lists no connection.

    Args:
        head: beginning of the file.
    """
    lines = [_without_time(line.strip()) for line in head.splitlines()]
    if any(HEADER.match(line) for line in lines):
        return True
    has_values = re.search(r"(?:^|\s)(?:cwnd:\d|rtt:\d)", head)
    return bool(has_values) and any(CONNECTION.match(line) for line in lines)


def read_ss(path: Path, interval: float | None = None) -> Measurement:
    """Flows in the output of `ss -tin`.

    Args:
        path: the file.
        interval: time between two listings without time stamps, s; None: not known.

    Raises:
        MeasurementFileError: for a value that cannot be read, for several listings without times,
            and for times that go backwards.
    """
    reader = _Reader(path, interval)
    for number, line in numbered_lines(path):
        reader.line(number, line.strip())
    reader.end()
    return reader.measurement()


class _Reader:
    """Reads a file line by line."""

    def __init__(self, path: Path, interval: float | None) -> None:
        self.path = path
        self.clock = ListingClock(interval)
        self.connection: Connection | None = None
        self.listed: set[tuple[str, str]] = set()
        self.flows: dict[tuple[tuple[str, str], int], Flow] = {}
        self.generations: dict[tuple[str, str], int] = {}
        self.is_new_listing = True

    def error(self, number: int, problem: str, given: str = "") -> MeasurementFileError:
        """The error for a line."""
        return MeasurementFileError(str(self.path), f"line {number}", problem, given)

    def line(self, number: int, line: str) -> None:
        """Read a line."""
        stamped = STAMPED.match(line)
        if stamped is not None:
            if CONNECTION.match(stamped[2]):
                self.finish()
            self.set_clock(number, float(stamped[1]), line)
            line = stamped[2]
        if not line:
            return
        if line[0].isdigit() or line[0] in "#=-[*" or line[0].isalpha():
            time = time_in(line)
            if time is not None:
                self.finish()
                self.set_clock(number, time, line)
                return
        if HEADER.match(line):
            self.finish()
            self.is_new_listing = True
            return
        found = CONNECTION.match(line)
        if found is not None:
            self.finish()
            ends = (end_of(found[2]), end_of(found[3]))
            self.connection = Connection(ends, number, [])
            self.connection.extend(number, line[found.end() :])
        elif self.connection is not None:
            self.connection.extend(number, line)

    def set_clock(self, number: int, time: float, line: str) -> None:
        """Take the time of a line, s, with which another listing begins."""
        if not self.clock.set(time):
            raise self.error(number, "times must not go backwards", line)
        self.is_new_listing = True

    def finish(self) -> None:
        """Add the connection that was read to its flow."""
        connection, self.connection = self.connection, None
        if connection is None:
            return
        values = self.values(connection)
        if not values:
            return
        if self.is_new_listing or connection.ends in self.listed:
            self.listed.clear()
            self.is_new_listing = False
            if not self.clock.begin_listing():
                problem = "listings need times: date +%s.%N before each ss, or a given interval"
                raise self.error(connection.number, problem)
        self.listed.add(connection.ends)
        flow = self.flow(connection.ends, values)
        flow.segment = values.get("mss", flow.segment)
        flow.control = _control(connection.words) or flow.control
        flow.limits.add(values)
        flow.columns.add(self.clock.time, _samples(values))

    def values(self, connection: Connection) -> dict[str, float]:
        """Values of a connection's words by name, in the units of `ss` (times in ms).

        Empty for a connection that only listens, or without `rtt`, `cwnd` and `bytes_acked`.
        """
        values: dict[str, float] = {}
        if connection.ends[1].endswith(":*"):
            return values
        for number, word in connection.words:
            name, colon, text = word.partition(":")
            if colon and name in USED and name not in values:
                digits = text.partition("ms")[0] if name in TIMES else text
                parts = digits.split("/")
                try:
                    values[name] = finite(parts[-1] if name == "retrans" else parts[0])
                except ValueError:
                    problem = f"{name} must be a number from 0 on"
                    raise self.error(number, problem, word) from None
        return values if values.keys() & {"rtt", "cwnd", "bytes_acked"} else {}

    def flow(self, ends: tuple[str, str], values: dict[str, float]) -> Flow:
        """Flow of a connection: a new one where the counters began again."""
        generation = self.generations.setdefault(ends, 1)
        flow = self.flows.setdefault((ends, generation), Flow())
        for name in ("bytes_acked", "bytes_received"):
            if values.get(name, flow.last.get(name, 0.0)) < flow.last.get(name, 0.0):
                self.generations[ends] = generation + 1
                flow = self.flows.setdefault((ends, generation + 1), Flow())
                break
        flow.last = values
        return flow

    def end(self) -> None:
        """End the file: a connection that may have been cut is left out if it has other samples."""
        last = self.connection
        if last is None:
            return
        has_samples = any(ends == last.ends for ends, _ in self.flows)
        if ends_a_line(self.path) or not has_samples:
            self.finish()

    def measurement(self) -> Measurement:
        """All flows that were read."""
        if not self.flows:
            problem = "the listings must have connections with cwnd and rtt, as ss -tin prints them"
            raise MeasurementFileError(str(self.path), "", problem)
        first = min(flow.columns.time[0] for flow in self.flows.values())
        start = first if first >= FIRST_UNIX else None
        flows = tuple(
            _flow(ends, generation, flow, str(self.path), start or 0.0)
            for (ends, generation), flow in self.flows.items()
        )
        senders = [
            flow.limits
            for flow, samples in zip(self.flows.values(), flows, strict=True)
            if samples.vantage == "sender"
        ]
        notes = tuple(limits_note(str(self.path), senders))
        return Measurement(flows, sources=(str(self.path),), start_unix_s=start, notes=notes)


def _without_time(line: str) -> str:
    """A line without the time before it."""
    stamped = STAMPED.match(line)
    return line if stamped is None else stamped[2]


def _control(words: list[tuple[int, str]]) -> str | None:
    """Name of the congestion control: the first word that is neither an option nor a value."""
    for _, word in words:
        if word == "send" or word.startswith(("rto:", "rtt:")):
            return None
        if word not in FLAGS and CONTROL.match(word):
            return word
    return None


def _samples(values: dict[str, float]) -> dict[str, float]:
    """Values by field of `FlowSamples`, in its units. `ss` leaves out counters that are 0.

    Data beyond a loss is delivered, too: without the packets of selective ACKs, rates would stand
    still until the loss is repaired, and then jump.
    """
    acked = values.get("bytes_acked")
    if acked is not None:
        acked += values.get("sacked", 0.0) * values.get("mss", 0.0)
    if acked is None and {"delivered", "mss"} <= values.keys():
        acked = values["delivered"] * values["mss"]
    found = {
        "window_packets": values.get("cwnd"),
        "rtt_s": values["rtt"] * 1e-3 if "rtt" in values else None,
        "min_rtt_s": values["minrtt"] * 1e-3 if "minrtt" in values else None,
        "delivered_bytes": acked,
        "sent_bytes": _new_data(values),
        "received_bytes": values.get("bytes_received"),
        "in_flight_packets": values.get("unacked", 0.0),
        "retransmitted_packets": values.get("retrans", 0.0),
    }
    return {name: value for name, value in found.items() if value is not None}


def _new_data(values: dict[str, float]) -> float | None:
    """Data sent the first time so far, bytes; None: not known."""
    if "bytes_sent" not in values:
        return None
    return max(values["bytes_sent"] - values.get("bytes_retrans", 0.0), 0.0)


def _flow(
    ends: tuple[str, str], generation: int, flow: Flow, source: str, start: float
) -> FlowSamples:
    """The flow of a connection: that of the direction in which most data went."""
    series = flow.columns.arrays(start)
    received = series.pop("received_bytes", None)
    last = flow.last
    is_receiver = received is not None and (
        last.get("bytes_received", 0.0)
        > RECEIVER_FACTOR * max(last.get("bytes_acked", 0.0), last.get("bytes_sent", 0.0))
    )
    if is_receiver:
        ends = (ends[1], ends[0])
        series = {name: each for name, each in series.items() if name not in NO_SENDER}
        series["delivered_bytes"] = received
    name = " > ".join(ends) + (f" ({generation})" if generation > 1 else "")
    return FlowSamples(
        name,
        source,
        vantage="receiver" if is_receiver else "sender",
        sender=ends[0].rpartition(":")[0],
        receiver=ends[1].rpartition(":")[0],
        congestion_control=None if is_receiver else flow.control,
        segment_bytes=None if is_receiver else flow.segment,
        **series,
    )

"""Reader of the JSON of `iperf3 --json` (and `--json-stream`), at either end.

A sender's report has windows, RTTs and retransmissions, where its system has them, and the data
that was given to TCP; a receiver's report has the data that was delivered.

Sources:
    iperf 3.17, src/iperf_api.c (`print_interval_results`, `JSON_write`), src/tcp_info.c.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.json_documents import documents
from vegasfluid.observe.measurement import FlowSamples, Measurement, merge
from vegasfluid.observe.sample_columns import SampleColumns
from vegasfluid.observe.text_files import DEFAULT_SEGMENT, finite

__all__ = ["is_iperf3", "read_iperf3"]

REPORTS = re.compile(r'"(?:intervals|test_start|connecting_to|accepted_connection)"\s*:|"iperf 3')
"""Keys that only reports of iperf3 have."""
FAULTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors that a report of another form leads to."""


def is_iperf3(head: str) -> bool:
    """Whether the beginning of a file is a report of iperf3.

    Args:
        head: beginning of the file.
    """
    return head.lstrip()[:1] == "{" and bool(REPORTS.search(head))


def read_iperf3(path: Path) -> Measurement:
    """Flows in a report of iperf3, or in several that follow one another.

    Args:
        path: the file. A report that was cut is read up to its last complete interval.

    Raises:
        MeasurementFileError: for a report without intervals, of another form, or of UDP.
    """
    reports: list[tuple[int, dict[str, Any]]] = []
    events: dict[str, Any] = {}
    notes = []
    for document in documents(path):
        value = document.value
        if document.rest:
            notes.append(f"{path}: the report is incomplete; its complete intervals were read.")
            value = _salvaged(document.rest)
        if isinstance(value, dict) and "event" in value:
            if value["event"] == "start":
                events = {}
                reports.append((document.number, events))
            _add_event(events, value)
        elif document.time is None:
            reports.append((document.number, value))
    parts = [_read(path, number, value) for number, value in reports]
    if not parts:
        raise MeasurementFileError(str(path), "", "a report of iperf3 --json must have intervals")
    found = merge(parts)
    return Measurement(found.flows, (), (str(path),), found.start_unix_s, tuple(notes))


def _add_event(report: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add an event of `--json-stream` to a report."""
    if event["event"] == "interval":
        report.setdefault("intervals", []).append(event.get("data"))
    elif isinstance(event["event"], str):
        report[event["event"]] = event.get("data")


def _salvaged(text: str) -> dict[str, Any]:
    """Start and complete intervals of a report that is cut."""
    decoder = json.JSONDecoder()
    report: dict[str, Any] = {"intervals": []}
    try:
        start = re.search(r'"start"\s*:\s*(?=\{)', text)
        if start is not None:
            report["start"], _ = decoder.raw_decode(text, start.end())
        found = re.search(r'"intervals"\s*:\s*\[\s*', text)
        while found is not None:
            interval, end = decoder.raw_decode(text, found.end())
            report["intervals"].append(interval)
            found = re.compile(r"\s*,\s*").match(text, end)
    except (RecursionError, ValueError):
        pass
    return report


def _read(path: Path, number: int, report: Any) -> Measurement:
    """Flows of a report."""
    place = f"line {number}"
    if not isinstance(report, dict):
        raise MeasurementFileError(str(path), place, "a report of iperf3 must be a JSON object")
    try:
        return _flows(path, report)
    except MeasurementFileError as error:
        raise MeasurementFileError(str(path), place, str(error).removesuffix(".")) from None
    except FAULTS:
        problem = "a report of iperf3 --json must have streams with numbers in each interval"
        raise MeasurementFileError(str(path), place, problem) from None


def _flows(path: Path, report: Mapping[str, Any]) -> Measurement:
    """Flows of a report, which may have any form."""
    start = report.get("start", {})
    if start.get("test_start", {}).get("protocol", "TCP") != "TCP":
        raise MeasurementFileError("iperf3", "", "the test must be of TCP")
    samples: dict[Any, SampleColumns] = {}
    senders: dict[Any, bool] = {}
    segment = finite(start.get("tcp_mss") or start.get("tcp_mss_default") or DEFAULT_SEGMENT)
    totals: dict[Any, list[float]] = {}
    for interval in report.get("intervals", []):
        for stream in interval["streams"]:
            socket = stream["socket"]
            columns = samples.setdefault(socket, SampleColumns())
            is_sender = senders.setdefault(socket, _is_sender(stream, start))
            total = totals.setdefault(socket, [0.0, 0.0, 0.0])
            _add(columns, stream, total, segment, is_sender)
    if not samples:
        why = str(report.get("error", "")).strip()
        problem = "the report must have intervals" + (f" ({why[:100]})" if why else "")
        raise MeasurementFileError("iperf3", "", problem)
    begun = _begin(start)
    flows = tuple(
        _flow(path, report, socket, columns, senders[socket], segment)
        for socket, columns in samples.items()
    )
    return Measurement(flows, (), (str(path),), begun)


def _begin(start: Mapping[str, Any]) -> float | None:
    """Unix time at which a test began, s; None: the report has none."""
    stamp = start.get("timestamp", {})
    if "timemillisecs" in stamp:
        return finite(stamp["timemillisecs"]) * 1e-3
    return finite(stamp["timesecs"]) if "timesecs" in stamp else None


def _is_sender(stream: Mapping[str, Any], start: Mapping[str, Any]) -> bool:
    """Whether the host that wrote the report sent the data of a stream."""
    if isinstance(stream.get("sender"), bool):
        return stream["sender"]
    if "snd_cwnd" in stream or "retransmits" in stream:
        return True
    is_client = "accepted_connection" not in start
    return is_client != bool(start.get("test_start", {}).get("reverse"))


def _add(
    columns: SampleColumns,
    stream: Mapping[str, Any],
    total: list[float],
    segment: float,
    is_sender: bool,
) -> None:
    """Add an interval of a stream to its samples.

    Args:
        columns: the stream's samples; the first one is the start of its first interval.
        stream: the interval.
        total: bytes and retransmissions so far, and time to add to the report's times, s.
        segment: data of a packet, bytes.
        is_sender: whether the report is the sender's.
    """
    begin, end = finite(stream["start"]), finite(stream["end"])
    last = columns.time[-1] if columns.time else begin
    if begin + total[2] < last - (end - begin) / 2:  # times begin again after omitted intervals
        total[2] = last - begin
    name = "sent_bytes" if is_sender else "delivered_bytes"
    repeated = ["retransmitted_packets"] if "retransmits" in stream else []
    if not columns.time:
        columns.add(begin, {name: 0.0, **dict.fromkeys(repeated, 0.0)})
    total[0] += finite(stream["bytes"])
    values = {name: total[0]}
    if "retransmits" in stream:
        total[1] += finite(stream["retransmits"])
        values["retransmitted_packets"] = total[1]
    if "snd_cwnd" in stream:
        values["window_packets"] = finite(stream["snd_cwnd"]) / segment
    if is_sender and finite(stream.get("rtt", 0)) > 0:
        values["rtt_s"] = finite(stream["rtt"]) * 1e-6
    columns.add(max(end + total[2], last), values)


def _flow(
    path: Path,
    report: Mapping[str, Any],
    socket: Any,
    columns: SampleColumns,
    is_sender: bool,
    segment: float,
) -> FlowSamples:
    """The flow of a stream."""
    here, there = next(_ends(report.get("start", {}), socket), ("", ""))
    ends = (here, there) if is_sender else (there, here)
    end = report.get("end")
    control = end.get("sender_tcp_congestion") if isinstance(end, dict) else None
    series = columns.arrays()
    if not is_sender:
        series.pop("retransmitted_packets", None)
    return FlowSamples(
        " > ".join(ends) if all(ends) else f"{path.stem} stream {socket}",
        str(path),
        vantage="sender" if is_sender else "receiver",
        sender=ends[0].rpartition(":")[0] or None,
        receiver=ends[1].rpartition(":")[0] or None,
        congestion_control=str(control) if control else None,
        segment_bytes=segment,
        **series,
    )


def _ends(start: Mapping[str, Any], socket: Any) -> Iterator[tuple[str, str]]:
    """Both addresses with their ports of a stream, first that of the report's host."""
    for each in start.get("connected", []):
        if each.get("socket") == socket:
            local, remote = str(each["local_host"]), str(each["remote_host"])
            ends = [(local, each["local_port"]), (remote, each["remote_port"])]
            here, there = (
                f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in ends
            )
            yield here, there

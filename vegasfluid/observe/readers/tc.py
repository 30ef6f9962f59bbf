"""Reader of `tc -s -j qdisc show`: once, or a loop's output with times or with a known interval.

    while sleep 1; do date +%s.%N; tc -s -j qdisc show dev eth0; done > tc.json

Sources:
    iproute2 6.1, tc/tc_qdisc.c, and `print_opt` and `print_xstats` of each discipline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vegasfluid.observe.clock_times import FIRST_UNIX, ListingClock
from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.json_documents import documents
from vegasfluid.observe.measurement import Measurement, QueueSamples
from vegasfluid.observe.sample_columns import SampleColumns
from vegasfluid.observe.text_files import LARGEST, finite

__all__ = ["is_tc", "read_tc"]

COUNTERS = {
    "qlen": "backlog_packets",
    "backlog": "backlog_bytes",
    "bytes": "sent_bytes",
    "packets": "sent_packets",
    "drops": "dropped_packets",
    "pdrop": "overflow_packets",
    "drop_overlimit": "overflow_packets",
    "overlimit": "overflow_packets",
    "ecn_mark": "marked_packets",
    "marked": "marked_packets",
}
"""Field of `QueueSamples` by counter: of all disciplines, then RED, (FQ-)CoDel, PIE, and marks."""
DELAYS = ("ldelay", "delay")
"""Queueing delay in CoDel and in PIE, microseconds."""
FIRST_IN_FIRST_OUT = ("pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop", "tbf")
"""Disciplines that drop only when they are full."""

Key = tuple[str, str, str, str]
"""Interface, handle, parent and kind of a queue."""


def is_tc(head: str) -> bool:
    """Whether the beginning of a file is output of `tc -j qdisc`.

    Args:
        head: beginning of the file.
    """
    return bool(re.search(r'"kind"\s*:\s*"', head) and re.search(r'"handle"\s*:\s*"', head))


def read_tc(path: Path, interval: float | None = None) -> Measurement:
    """Queues in the output of `tc -s -j qdisc show`.

    Args:
        path: the file: JSON documents, each after a line with the time, or a single one.
        interval: time between two documents without time stamps, s; None: not known.

    Raises:
        MeasurementFileError: for text that is no such output, for several documents without times,
            and for times that go backwards.
    """
    clock = ListingClock(interval)
    samples: dict[Key, SampleColumns] = {}
    parameters: dict[Key, dict[str, float | bool | str]] = {}
    notes = []
    for document in documents(path):
        place = f"line {document.number}"
        if document.time is not None:
            if not clock.set(document.time):
                raise MeasurementFileError(str(path), place, "times must not go backwards")
            continue
        if document.rest:
            notes.append(f"{path}: the last document is incomplete and was left out.")
            continue
        try:
            queues = list(_queues(document.value))
        except (KeyError, TypeError, ValueError):
            problem = "the document must be a list of disciplines, as tc -s -j qdisc show prints"
            raise MeasurementFileError(str(path), place, problem) from None
        if not clock.begin_listing():
            problem = "documents need times: date +%s.%N before each tc, or a given interval"
            raise MeasurementFileError(str(path), place, problem)
        for key, values, options in queues:
            samples.setdefault(key, SampleColumns()).add(clock.time, values)
            parameters[key] = options
    return _measurement(path, samples, parameters, notes)


def _measurement(
    path: Path,
    samples: Mapping[Key, SampleColumns],
    parameters: Mapping[Key, dict[str, float | bool | str]],
    notes: list[str],
) -> Measurement:
    """The queues of a file's samples."""
    if not samples:
        problem = "the documents must have counters: tc needs the option -s"
        raise MeasurementFileError(str(path), "", problem)
    first = min(columns.time[0] for columns in samples.values())
    start = first if first >= FIRST_UNIX else None
    queues = tuple(
        QueueSamples(*key, str(path), parameters=parameters[key], **columns.arrays(start or 0.0))
        for key, columns in samples.items()
    )
    return Measurement((), queues, (str(path),), start, tuple(notes))


def _queues(
    value: Any,
) -> Iterator[tuple[Key, dict[str, float], dict[str, float | bool | str]]]:
    """Key, values and parameters of each queue with counters in a document.

    Raises:
        KeyError: for a queue without a kind.
        TypeError: for a document of another form.
        ValueError: for a counter that is no number.
    """
    for each in [value] if isinstance(value, dict) else value:
        if not isinstance(each, dict):
            raise TypeError("not a discipline")
        if not each or ("packets" not in each and "bytes" not in each):
            continue
        parent = "root" if each.get("root") else str(each.get("parent", ""))
        key = (str(each.get("dev", "")), str(each.get("handle", "")), parent, str(each["kind"]))
        options = each.get("options", {})
        yield key, _values(each), dict(_scalars(options if isinstance(options, dict) else {}))


def _values(each: Mapping[str, Any]) -> dict[str, float]:
    """Values of a queue by field."""
    values = {field: finite(each[name]) for name, field in COUNTERS.items() if name in each}
    for name in DELAYS:
        if name in each:
            values["delay_s"] = finite(each[name]) * 1e-6
    if each["kind"] in FIRST_IN_FIRST_OUT and "drops" in each:
        values["overflow_packets"] = finite(each["drops"])
    tins = each.get("tins")
    if isinstance(tins, list):
        values |= _of_tins([tin for tin in tins if isinstance(tin, dict)], values)
    return values


def _of_tins(tins: list[dict[str, Any]], values: Mapping[str, float]) -> dict[str, float]:
    """Values of CAKE, whose counters are those of its tins.

    Its ACK filter takes out ACKs that a later one replaces. CAKE counts them as drops, but they are
    no sign of a full queue.

    Args:
        tins: the tins.
        values: the queue's other values by field.
    """
    found = {
        "marked_packets": sum(finite(tin.get("ecn_mark", 0)) for tin in tins),
        "delay_s": max((finite(tin.get("avg_delay_us", 0)) for tin in tins), default=0.0) * 1e-6,
    }
    filtered = sum(finite(tin.get("ack_drops", 0)) for tin in tins)
    if "dropped_packets" in values:
        found["dropped_packets"] = max(values["dropped_packets"] - filtered, 0.0)
    return found


def _scalars(options: Mapping[str, Any]) -> Iterator[tuple[str, float | bool | str]]:
    """Parameters that are numbers, truth values or text, by name.

    A parameter with parts, such as the rate of `netem`, is the part of the same name.
    """
    for name, given in options.items():
        value = given.get(name) if isinstance(given, Mapping) else given
        if isinstance(value, bool | str):
            yield str(name), value
        elif isinstance(value, int | float):
            yield str(name), finite(value, -LARGEST)

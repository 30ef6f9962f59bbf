"""Reader of CSV files: time, window, RTT and data acknowledged, or a queue's counters.

The first line names the columns, in any order, with their units (`csv_columns`). Columns are
separated by commas, semicolons, tabs or spaces. Times are seconds from any beginning, Unix times
(also in milliseconds, microseconds or nanoseconds), or ISO 8601.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from vegasfluid.observe.clock_times import FIRST_UNIX
from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import FlowSamples, Measurement, QueueSamples
from vegasfluid.observe.readers.csv_columns import Column, column_of
from vegasfluid.observe.sample_columns import SampleColumns
from vegasfluid.observe.text_files import DEFAULT_SEGMENT, LARGEST, finite, numbered_lines

__all__ = ["is_csv", "read_csv"]

UNIX_UNITS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""Times without a unit above the first number are Unix times in this unit, s."""
FLOW_SERIES = {
    "window": "window_packets",
    "rtt": "rtt_s",
    "min_rtt": "min_rtt_s",
    "acked": "delivered_bytes",
    "sent": "sent_bytes",
    "in_flight": "in_flight_packets",
    "retransmitted": "retransmitted_packets",
    "bytes": "delivered_bytes",
}
"""Field of `FlowSamples` by quantity."""
QUEUE_SERIES = {
    "backlog_packets": "backlog_packets",
    "backlog": "backlog_bytes",
    "dropped": "dropped_packets",
    "marked": "marked_packets",
    "bytes": "sent_bytes",
    "packets": "sent_packets",
}
"""Field of `QueueSamples` by quantity."""
OF_QUEUES = ("backlog_packets", "backlog", "dropped")
"""Quantities that only queues have."""
TEXTS = ("flow", "source", "source_port", "target", "target_port", "control")
"""Quantities that are text."""


class Table(NamedTuple):
    """A CSV file whose header has been read.

    Args:
        path: the file.
        separator: character between columns; empty: spaces.
        header: number of the line with the names.
        columns: what each column has; None: nothing that is understood.
    """

    path: Path
    separator: str
    header: int
    columns: tuple[Column | None, ...]

    def error(self, number: int, problem: str, given: str = "") -> MeasurementFileError:
        """The error for a line of the file."""
        return MeasurementFileError(str(self.path), f"line {number}", problem, given)

    @property
    def quantities(self) -> set[str]:
        """Quantities that the file has."""
        return {column.quantity for column in self.columns if column is not None}


def is_csv(head: str) -> bool:
    """Whether the beginning of a file names a column of times and one of a flow or queue."""
    first = next((line for line in head.splitlines() if _has_text(line)), "")
    found = {column.quantity for column in _columns(first)[1] if column is not None}
    return "time" in found and bool(found & (FLOW_SERIES.keys() | QUEUE_SERIES.keys()))


def read_csv(path: Path) -> Measurement:
    """Flows, or queues, of a CSV file.

    It has queues if it has a column of backlog or drops, and none of windows or RTTs.

    Args:
        path: the file.

    Raises:
        MeasurementFileError: for a header or a line that cannot be read.
    """
    table = _table(path)
    _check_units(table)
    as_queue = bool(table.quantities.intersection(OF_QUEUES))
    as_queue = as_queue and not table.quantities & {"window", "rtt"}
    samples: dict[tuple[str, ...], SampleColumns] = {}
    segments: dict[tuple[str, ...], float] = {}
    for number, cells in _rows(table):
        key = tuple(cells.pop(name, "") for name in TEXTS)
        segment = _number(table, number, "segment", cells)
        segments[key] = segment if segment > 0 else segments.get(key, 0.0)
        time = _time(table, number, cells)
        columns = samples.setdefault(key, SampleColumns())
        if columns.time and time < columns.time[-1]:
            raise table.error(number, "times must not go backwards", cells["time"])
        names = QUEUE_SERIES if as_queue else FLOW_SERIES
        values = _values(table, number, cells, segments[key] or DEFAULT_SEGMENT, names)
        columns.add(time, values)
    if not samples:
        raise table.error(table.header, "at least one line of samples must follow")
    return _measurement(table, samples, segments, as_queue)


def _measurement(
    table: Table,
    samples: dict[tuple[str, ...], SampleColumns],
    segments: dict[tuple[str, ...], float],
    as_queue: bool,
) -> Measurement:
    """The flows or queues of a file's samples.

    Args:
        table: the file.
        samples: columns of each flow or queue; the key has its cells of the columns `TEXTS`.
        segments: segment size of each, bytes; 0: not given.
        as_queue: whether the samples are of queues, not of flows.
    """
    first = min(columns.time[0] for columns in samples.values())
    start = first if first >= FIRST_UNIX else None
    source = str(table.path)
    flows, queues, notes = [], [], []
    for key, columns in samples.items():
        series = columns.arrays(start or 0.0)
        if as_queue:
            queues.append(QueueSamples(key[0], "", "", "", source, **series))
        else:
            receiver = key[3] or None
            name = _flow_name(key, table.path)
            flow = FlowSamples(
                name,
                source,
                receiver=receiver,
                congestion_control=key[5] or None,
                segment_bytes=segments[key] or None,
                **series,
            )
            flows.append(flow)
    if not any(segments.values()) and _has_conversion(table):
        notes.append(f"{source}: no column mss: packets are taken to have {DEFAULT_SEGMENT:g} B.")
    return Measurement(tuple(flows), tuple(queues), (source,), start, tuple(notes))


def _flow_name(key: tuple[str, ...], path: Path) -> str:
    """Name of a flow from its texts: number or name, addresses and ports."""
    flow, source, source_port, target, target_port, _ = key
    ends = [":".join(filter(None, end)) for end in ((source, source_port), (target, target_port))]
    ends = list(filter(None, ends))
    return " ".join(filter(None, (flow, " > ".join(ends)))) or path.stem


def _has_conversion(table: Table) -> bool:
    """Whether a column's unit has to be converted between bytes and packets."""
    counted = {"window": True, "in_flight": True, "acked": False, "sent": False}
    return any(
        column is not None and counted.get(column.quantity, column.in_packets) != column.in_packets
        for column in table.columns
    )


def _has_text(line: str) -> bool:
    """Whether a line has text besides spaces and leading number signs, as a header has."""
    return bool(line.strip().lstrip("#").strip())


def _columns(line: str) -> tuple[str, tuple[Column | None, ...]]:
    """Separator of a header (empty: spaces), and what its columns have.

    Of several columns with the same quantity the first one counts.
    """
    text = line.strip().lstrip("#").strip().replace('"', "")
    separator = next((each for each in (",", ";", "\t") if each in text), "")
    columns: list[Column | None] = []
    for cell in _cells(text, separator):
        column = column_of(cell)
        known = {each.quantity for each in columns if each is not None}
        columns.append(None if column is not None and column.quantity in known else column)
    return separator, tuple(columns)


def _cells(line: str, separator: str) -> list[str]:
    """Cells of a line.

    Raises:
        ValueError: for quotes that do not end.
    """
    if not separator:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        cells = next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return [cell.strip() for cell in cells]


def _table(path: Path) -> Table:
    """A CSV file with its header: the first line that is not empty.

    Raises:
        MeasurementFileError: for a file without such a line.
    """
    for number, line in numbered_lines(path):
        if _has_text(line):
            separator, columns = _columns(line)
            return Table(path, separator, number, columns)
    raise MeasurementFileError(str(path), "", "the file must have a line with column names")


def _check_units(table: Table) -> None:
    """Raise MeasurementFileError for a column that needs a unit and has none."""
    for column in table.columns:
        if column is not None and not column.scale:
            unit = "rtt_ms" if "rtt" in column.quantity else f"{column.quantity}_bytes"
            problem = f"the name of column {column.quantity} must have a unit, such as {unit}"
            raise table.error(table.header, problem)


def _rows(table: Table) -> Iterator[tuple[int, dict[str, str]]]:
    """Cells of each line by quantity, with the line's number; an incomplete last line is left out.

    Raises:
        MeasurementFileError: for a line with fewer cells than the header that is not the last one.
    """
    short: int | None = None
    for number, line in numbered_lines(table.path):
        if number <= table.header or not line.strip() or line.lstrip().startswith("#"):
            continue
        if short is not None:
            raise table.error(short, f"a line must have {len(table.columns)} columns")
        try:
            cells = _cells(line, table.separator)
        except ValueError:
            raise table.error(number, "the quotes must end", line) from None
        if len(cells) < len(table.columns):
            short = number
            continue
        pairs = zip(table.columns, cells, strict=False)
        yield number, {column.quantity: cell for column, cell in pairs if column is not None}


def _number(table: Table, number: int, quantity: str, cells: dict[str, str]) -> float:
    """Value of a cell in the unit of its column; NaN where it is empty or missing.

    Raises:
        MeasurementFileError: for text that is no number, or a number below 0.
    """
    cell = cells.get(quantity, "").strip("\"'")
    if cell.lower() in ("", "nan", "na", "n/a", "-", "null", "none"):
        return float("nan")
    try:
        value = finite(cell, -LARGEST)
    except ValueError:
        raise table.error(number, f"{quantity} must be a number", cell) from None
    if value < 0:
        raise table.error(number, f"{quantity} must be at least 0", cell)
    return value


def _time(table: Table, number: int, cells: dict[str, str]) -> float:
    """Time of a line, s.

    ISO 8601 times become Unix times. So do numbers above 1e11 in a column of seconds: they are
    taken as ms, us or ns.

    Raises:
        MeasurementFileError: for an empty cell or text that is no time.
    """
    cell = cells["time"].strip("\"'")
    column = _of(table.columns, "time")
    if "-" in cell[1:] and ":" in cell:
        try:
            return datetime.fromisoformat(cell).timestamp()
        except (OverflowError, ValueError, OSError):
            raise table.error(number, "time must be a number or an ISO time", cell) from None
    value = _number(table, number, "time", cells)
    if value != value:
        raise table.error(number, "time must be given")
    if column.scale == 1.0:
        return value * next((scale for least, scale in UNIX_UNITS if value > least), 1.0)
    return value * column.scale


def _of(columns: Sequence[Column | None], quantity: str) -> Column:
    """The column that has a quantity."""
    return next(each for each in columns if each is not None and each.quantity == quantity)


def _values(
    table: Table, number: int, cells: dict[str, str], segment: float, names: dict[str, str]
) -> dict[str, float]:
    """Values of a line by field, in the fields' units.

    Args:
        table: the file.
        number: the line's number.
        cells: its cells by quantity.
        segment: data of a packet, bytes.
        names: fields by quantity.
    """
    values = {}
    for column in table.columns:
        if column is None or column.quantity not in names:
            continue
        name = names[column.quantity]
        value = _number(table, number, column.quantity, cells) * column.scale
        if name.endswith("_packets") and not column.in_packets:
            value /= segment
        elif name.endswith("_bytes") and column.in_packets:
            value *= segment
        values[name] = value
    return values

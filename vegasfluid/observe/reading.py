"""Reading of measurements: the format of each file is recognised from its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import Measurement, merge
from vegasfluid.observe.readers.csv_file import is_csv, read_csv
from vegasfluid.observe.readers.iperf3 import is_iperf3, read_iperf3
from vegasfluid.observe.readers.pcap import is_pcap, read_pcap
from vegasfluid.observe.readers.ss import is_ss, read_ss
from vegasfluid.observe.readers.tc import is_tc, read_tc
from vegasfluid.observe.readers.tcp_probe import is_tcp_probe, read_tcp_probe

__all__ = ["FORMATS", "read", "read_files"]

HEAD_BYTES = 65_536
"""Beginning of a file from which its format is recognised, bytes."""


class Format(NamedTuple):
    """A format of measurements.

    Args:
        title: its name, for messages.
        recognises: function that returns whether text, a file's beginning, is of this format.
        read: function `(path, interval)` that reads a file; `interval` is the time between two
            listings without time stamps, s, or None.
    """

    title: str
    recognises: Callable[[str], bool]
    read: Callable[[Path, float | None], Measurement]


FORMATS = (
    Format("ss -tin", is_ss, read_ss),
    Format("tc -s -j qdisc show", is_tc, read_tc),
    Format("iperf3 --json", is_iperf3, lambda path, _: read_iperf3(path)),
    Format("tcp_probe", is_tcp_probe, lambda path, _: read_tcp_probe(path)),
    Format("CSV with column names", is_csv, lambda path, _: read_csv(path)),
)
"""Formats that are text, in the order in which they are tried."""


def read(path: str | Path, interval: float | None = None) -> Measurement:
    """Read a file with a measurement; its format is recognised from its content.

    Args:
        path: the file: output of `ss -tin`, `tc -s -j qdisc show` or `iperf3 --json`, a log of
            tcp_probe, CSV, or a packet capture (pcap, pcapng).
        interval: time between two listings of `ss` or `tc` that have no time stamps, s; None: not
            known.

    Raises:
        MeasurementFileError: for a file that cannot be read, in one line with the place in it.
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            start = stream.read(HEAD_BYTES)
        if is_pcap(start):
            return read_pcap(file)
        head = start.decode("utf-8-sig", errors="replace")
        for each in FORMATS:
            if each.recognises(head):
                return each.read(file, interval)
    except OSError as error:
        raise MeasurementFileError(str(file), "", error.strerror or str(error)) from None
    titles = ", ".join(each.title for each in FORMATS)
    allowed = f"output of {titles}, pcap or pcapng"
    line = head.lstrip().split("\n", 1)[0]
    raise MeasurementFileError(str(file), "", f"the content must be {allowed}", line)


def read_files(paths: Iterable[str | Path], interval: float | None = None) -> Measurement:
    """Read several files that were measured on the same network at the same time.

    Args:
        paths: the files, each output of `ss -tin`, `tc -s -j qdisc show` or `iperf3 --json`, a log
            of tcp_probe, CSV, or a packet capture (pcap, pcapng).
        interval: time between two listings of `ss` or `tc` that have no time stamps, s; None: not
            known.

    Raises:
        MeasurementFileError: for a file that cannot be read, in one line with the place in it.
    """
    return merge([read(path, interval) for path in paths])

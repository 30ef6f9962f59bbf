"""What readers of measurements return: samples of flows and of queues over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from vegasfluid.errors import InvalidInput

__all__ = ["FlowSamples", "Measurement", "QueueSamples", "merge"]

NO_PARAMETERS: Mapping[str, float | bool | str] = MappingProxyType({})
"""Parameters of a queue of which none are known."""


@dataclass(frozen=True)
class FlowSamples:
    """Samples of one TCP flow, in the order of time.

    A series has one value for each sample and is NaN where the sample lacks it; it is None where
    the file has it nowhere. Counters count from any beginning: only their differences matter.

    Args:
        name: both ends, `10.0.0.1:40000 > 10.0.0.2:5201`, from the sender of the data to its
            receiver; another name where the file has no addresses.
        source: name of the file.
        time_s: times, s after the measurement's time 0; (sample,).
        vantage: the end at which the samples were taken; None: not known.
        sender: address of the data's sender; None: not known.
        receiver: address of the data's receiver; flows with the same sender and receiver share a
            path. None: not known.
        congestion_control: name as the system has it, such as `cubic`; None: not known.
        segment_bytes: data of a full packet (the maximum segment size), bytes; None: not known.
        window_packets: congestion window, packets; (sample,).
        rtt_s: round-trip time, s; (sample,). `is_smoothed` states which.
        is_smoothed: True: `rtt_s` is the smoothed RTT of the sender's kernel; False: each value is
            the mean of the RTTs that were measured since the sample before.
        rtt_step_s: step of a clock by which RTTs are rounded down, s; None: not known.
        min_rtt_s: smallest RTT of single packets so far, or within the kernel's window (five
            minutes on Linux), s; (sample,).
        delivered_bytes: data delivered or acknowledged so far, bytes; (sample,).
        sent_bytes: data given to TCP or sent the first time so far, bytes; (sample,).
        in_flight_packets: packets sent and not yet acknowledged; (sample,).
        retransmitted_packets: packets sent again so far; (sample,).

    Raises:
        InvalidInput: for no samples, series of another length, or times that are not finite or not
            in order.
    """

    name: str
    source: str
    time_s: np.ndarray
    vantage: Literal["sender", "receiver"] | None = None
    sender: str | None = None
    receiver: str | None = None
    congestion_control: str | None = None
    segment_bytes: float | None = None
    window_packets: np.ndarray | None = None
    rtt_s: np.ndarray | None = None
    is_smoothed: bool = True
    rtt_step_s: float | None = None
    min_rtt_s: np.ndarray | None = None
    delivered_bytes: np.ndarray | None = None
    sent_bytes: np.ndarray | None = None
    in_flight_packets: np.ndarray | None = None
    retransmitted_packets: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the lengths of the series and the times."""
        _check_series(self, self.name)

    @property
    def transferred_bytes(self) -> np.ndarray | None:
        """Data delivered so far or, where that is not known, sent so far, bytes; (sample,)."""
        return self.sent_bytes if self.delivered_bytes is None else self.delivered_bytes


@dataclass(frozen=True)
class QueueSamples:
    """Samples of one queue and its discipline, in the order of time.

    A series has one value for each sample and is NaN where the sample lacks it; it is None where
    the file has it nowhere. Counters count from any beginning: only their differences matter.
    Counters of a Linux queue include link headers (14 bytes on Ethernet).

    Args:
        interface: network interface, such as `eth0`; empty: not known.
        handle: the discipline's handle, such as `10:`; empty: not known.
        parent: handle of the class or discipline that contains it; `root`, or empty: not known.
        kind: discipline as Linux names it, such as `pfifo`, `red`, `fq_codel`, `tbf`.
        source: name of the file.
        time_s: times, s after the measurement's time 0; (sample,).
        parameters: parameters of the last sample by name, in the file's units (`tc`: bytes or
            packets, microseconds, bytes/s).
        backlog_packets: packets in the queue; (sample,).
        backlog_bytes: bytes in the queue; (sample,).
        sent_bytes: bytes sent so far; (sample,).
        sent_packets: packets sent so far; (sample,).
        dropped_packets: packets dropped so far, for any reason but that a later ACK replaces them
            (the ACK filter of CAKE); (sample,).
        overflow_packets: packets dropped so far because the queue was full; (sample,).
        marked_packets: packets with an ECN mark so far; (sample,).
        delay_s: queueing delay as the discipline measures it, s; (sample,).

    Raises:
        InvalidInput: for no samples, series of another length, or times that are not finite or not
            in order.
    """

    interface: str
    handle: str
    parent: str
    kind: str
    source: str
    time_s: np.ndarray
    parameters: Mapping[str, float | bool | str] = field(default_factory=lambda: NO_PARAMETERS)
    backlog_packets: np.ndarray | None = None
    backlog_bytes: np.ndarray | None = None
    sent_bytes: np.ndarray | None = None
    sent_packets: np.ndarray | None = None
    dropped_packets: np.ndarray | None = None
    overflow_packets: np.ndarray | None = None
    marked_packets: np.ndarray | None = None
    delay_s: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the lengths of the series and the times."""
        _check_series(self, f"{self.interface} {self.handle}")


@dataclass(frozen=True)
class Measurement:
    """What was measured on a network at one time, from one file or from several.

    Args:
        flows: the flows; one that was measured at both ends, or in two files, is there twice.
        queues: the queues.
        sources: names of the files.
        start_unix_s: time 0 of all samples, s since 1970-01-01 UTC; None: no file has clock times,
            and times are those of the file.
        notes: what readers left out or assumed, a sentence each.
    """

    flows: tuple[FlowSamples, ...] = ()
    queues: tuple[QueueSamples, ...] = ()
    sources: tuple[str, ...] = ()
    start_unix_s: float | None = None
    notes: tuple[str, ...] = ()


def merge(measurements: Iterable[Measurement]) -> Measurement:
    """One measurement of several files of the same network at the same time.

    Time 0 becomes the earliest start. A file without clock times is taken to start then, too, with
    a note.

    Args:
        measurements: the measurements of the files.

    >>> times = np.array([0.0, 1.0])
    >>> one = Measurement((FlowSamples("a", "ss.txt", times),), start_unix_s=100.0)
    >>> two = Measurement((FlowSamples("b", "iperf3.json", times),), start_unix_s=102.5)
    >>> both = merge([one, two])
    >>> both.start_unix_s, both.flows[1].time_s
    (100.0, array([2.5, 3.5]))
    """
    parts = tuple(measurements)
    starts = [part.start_unix_s for part in parts if part.start_unix_s is not None]
    start = min(starts, default=None)
    notes = tuple(
        f"{', '.join(part.sources)}: no clock times: taken to start with the first file."
        for part in parts
        if part.start_unix_s is None and start is not None
    )
    shifts = [_shift(part, start) for part in parts]
    return Measurement(
        flows=tuple(
            replace(flow, time_s=flow.time_s + shift)
            for part, shift in zip(parts, shifts, strict=True)
            for flow in part.flows
        ),
        queues=tuple(
            replace(queue, time_s=queue.time_s + shift)
            for part, shift in zip(parts, shifts, strict=True)
            for queue in part.queues
        ),
        sources=tuple(source for part in parts for source in part.sources),
        start_unix_s=start,
        notes=tuple(note for part in parts for note in part.notes) + notes,
    )


def _shift(part: Measurement, start: float | None) -> float:
    """Time to add to the samples of a measurement so that time 0 becomes a Unix time, s."""
    if start is None:
        return 0.0
    if part.start_unix_s is None:
        return -min((float(each.time_s[0]) for each in part.flows + part.queues), default=0.0)
    return part.start_unix_s - start


def _check_series(samples: FlowSamples | QueueSamples, name: str) -> None:
    """Raise InvalidInput unless all series fit the times, which are finite and in order."""
    time = samples.time_s
    if time.ndim != 1 or not len(time):
        raise InvalidInput(name, "time_s", "a series with at least one sample", time.shape)
    if not np.isfinite(time).all() or (np.diff(time) < 0).any():
        raise InvalidInput(name, "time_s", "finite and in order", time.tolist()[:5])
    for each in fields(samples):
        value = getattr(samples, each.name)
        if isinstance(value, np.ndarray) and value.shape != time.shape:
            raise InvalidInput(name, each.name, f"of the shape {time.shape}", value.shape)

"""Samples of several flows at common times."""

from __future__ import annotations

from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.network.hosts import HEADER_BYTES
from vegasfluid.observe.measurement import FlowSamples, Measurement

__all__ = ["TimeGrid", "binned_rates", "time_grid"]

LEAST_PACKETS = 50.0
"""Packets below which a flow is left out: it has no information about the network."""
LEAST_SHARE = 1e-3
"""Packets of a flow relative to the largest one below which it is left out."""
LEAST_SAMPLES = 20
"""Samples below which a flow is left out."""
SHORTEST_STEP = 0.01
"""Shortest time between two times of the grid, s."""
MOST_TIMES = 100_000
"""Largest number of times of the grid: more are thinned."""
SEGMENT_BYTES = 1448.0
"""Data of a full packet where it is not known: that of Ethernet with TCP time stamps, bytes."""
LEAST_RTTS = 2
"""Number of times of the grid with an RTT below which a flow is left out."""
SEND_BUFFER = 4.0
"""Most data that was given to TCP and not delivered, relative to the largest congestion window:
Linux lets a send buffer grow to twice the window in memory, which headers need, too (RFC 9293 has
no limit; at the ends of two public reports of iperf3 it was 2.9 and 3.5)."""
STEADY = ("vegas",)
"""Congestion controls whose windows hardly vary: constant rates and correlations show nothing."""
LEAST_STEPS = 2.0
"""Steps of time in the shortest interval over which rates are averaged."""
BEGINNING = 0.1
"""Fraction of the measurement that is left out at its beginning, at most `LONGEST_BEGINNING`: slow
start is not what the models are compared with."""
LONGEST_BEGINNING = 5.0
"""Longest beginning that is left out, s."""


class TimeGrid(NamedTuple):
    """Samples of all flows, interpolated to common times.

    Args:
        time: times, equally spaced, s; (time,).
        rtt: smoothed RTT, or mean RTT of packets, NaN while a flow is not there, s; (flow, time).
        window: congestion window, NaN while a flow is not there, packets; (flow, time).
        delivered: packets delivered so far; (flow, time).
        repeated: packets sent again so far, 0 for a flow that has no such counter; (flow, time).
        has_repeated: whether each flow has that counter; (flow,).
        least_rtt: smallest RTT of each flow, s; (flow,).
        is_smoothed: whether it is the smallest smoothed RTT, an upper bound; (flow,).
        undelivered: most data that may have been given to TCP and not delivered yet, packets, where
            `delivered` counts the data given to TCP; 0 where it counts data delivered; (flow,).
        rtt_step: step by which the host rounds RTTs down, s; 0: not known; (flow,).
        controls: congestion control of each flow; empty: not known.
        paths: path of each flow, its two addresses; empty: not known.
        packet_bytes: size of a full packet on the wire, bytes.
    """

    time: np.ndarray
    rtt: np.ndarray
    window: np.ndarray
    delivered: np.ndarray
    repeated: np.ndarray
    has_repeated: np.ndarray
    least_rtt: np.ndarray
    is_smoothed: np.ndarray
    undelivered: np.ndarray
    rtt_step: np.ndarray
    controls: tuple[str, ...]
    paths: tuple[str, ...]
    packet_bytes: int

    @property
    def span(self) -> float:
        """Time from the first to the last time of the grid, s."""
        return float(self.time[-1] - self.time[0])

    @property
    def step(self) -> float:
        """Time between two samples, s."""
        return float(self.time[1] - self.time[0])

    @property
    def packets(self) -> np.ndarray:
        """Packets that each flow delivered during the measurement; (flow,)."""
        return self.delivered[:, -1] - self.delivered[:, 0]

    @property
    def losses(self) -> np.ndarray:
        """Packets that each flow sent again during the measurement; (flow,)."""
        return self.repeated[:, -1] - self.repeated[:, 0]

    @property
    def loss_counts(self) -> np.ndarray:
        """Packets sent again so far, and packets delivered so far by the same flows; (2, time).

        Flows without a counter of packets sent again are left out of both.
        """
        counters = (self.repeated, self.delivered)
        return np.stack([counter[self.has_repeated].sum(axis=0) for counter in counters])

    @property
    def mean_rate(self) -> float:
        """Packets of all flows delivered per second of the measurement."""
        return float(np.sum(self.packets)) / self.span


def binned_rates(
    time: np.ndarray, counter: np.ndarray, interval: float
) -> tuple[list[tuple[float, float]], np.ndarray]:
    """Mean rates of a counter in consecutive intervals.

    Args:
        time: times, s; (time,).
        counter: counter at these times; (..., time).
        interval: length of the intervals, s; at least two steps of time.

    Returns:
        Start and end of each interval, s, and the rates, 1/s; (..., interval).
    """
    interval = max(interval, LEAST_STEPS * float(time[1] - time[0]))
    count = max(1, int((time[-1] - time[0]) / interval))
    edges = np.minimum(time[0] + interval * np.arange(count + 1), time[-1])
    places = np.searchsorted(time, edges).clip(0, len(time) - 1)
    at = time[places]
    rates = np.diff(counter[..., places], axis=-1) / np.diff(at)
    return list(pairwise(at)), rates


def time_grid(measurement: Measurement) -> TimeGrid:
    """The flows of a measurement at common times, without its beginning (10 %, at most 5 s).

    Flows without RTTs after the beginning, with fewer than 50 packets or 20 samples, or with less
    than 0.1 % of the packets of the largest flow are left out. Of two flows with the same name (a
    flow in two files) the one with more samples is used.

    Args:
        measurement: what was read.

    Raises:
        InvalidInput: if no flow is left.
    """
    flows = _used(measurement)
    time = _times(flows) if flows else np.zeros(0)
    rtts = [_values(time, flow, flow.rtt_s) for flow in flows]
    there = [np.isfinite(rtt).sum() >= LEAST_RTTS for rtt in rtts]
    flows, rtts = list(compress(flows, there)), list(compress(rtts, there))
    if not flows:
        allowed = (
            f"of at least one flow with {LEAST_PACKETS:g} packets, {LEAST_SAMPLES} samples, and "
            f"RTTs after the first {BEGINNING:.0%} of the time (at most {LONGEST_BEGINNING:g} s)"
        )
        found = f"without such a flow{_longest_flow(measurement)}"
        raise InvalidInput("observe", "the measurement", allowed, Words(found))
    least = [_least_rtt(flow) for flow in flows]
    return TimeGrid(
        time=time,
        rtt=np.stack(rtts),
        window=np.stack([_values(time, flow, flow.window_packets) for flow in flows]),
        delivered=np.stack([_counter(time, flow, _packets(flow)) for flow in flows]),
        repeated=np.stack([_counter(time, flow, flow.retransmitted_packets) for flow in flows]),
        has_repeated=np.array([flow.retransmitted_packets is not None for flow in flows]),
        least_rtt=np.array([rtt for rtt, _ in least]),
        is_smoothed=np.array([is_smoothed for _, is_smoothed in least]),
        undelivered=np.array([_undelivered(flow) for flow in flows]),
        rtt_step=np.array([flow.rtt_step_s or 0.0 for flow in flows]),
        controls=tuple(flow.congestion_control or "" for flow in flows),
        paths=tuple(_path(flow) for flow in flows),
        packet_bytes=round(max(_segment(flow) for flow in flows)) + HEADER_BYTES,
    )


def _times(flows: list[FlowSamples]) -> np.ndarray:
    """Times of the grid, s, without the beginning of the measurement; (time,)."""
    first = min(float(flow.time_s[0]) for flow in flows)
    last = max(float(flow.time_s[-1]) for flow in flows)
    first += min(BEGINNING * (last - first), LONGEST_BEGINNING)
    steps = [float(np.median(np.diff(flow.time_s))) for flow in flows]
    step = max(SHORTEST_STEP, float(np.median(steps)), (last - first) / MOST_TIMES)
    return np.arange(first, last, step)


def _used(measurement: Measurement) -> list[FlowSamples]:
    """Flows that are long enough for estimates, each once."""
    flows: dict[str, FlowSamples] = {}
    for flow in measurement.flows:
        data = flow.transferred_bytes
        if flow.rtt_s is None or data is None or len(flow.time_s) < LEAST_SAMPLES:
            continue
        known = data[np.isfinite(data)]
        if len(known) < LEAST_SAMPLES or not np.isfinite(flow.rtt_s).sum() >= LEAST_SAMPLES:
            continue
        is_long = (known[-1] - known[0]) / _segment(flow) >= LEAST_PACKETS
        twin = flows.get(flow.name)
        if is_long and (twin is None or len(twin.time_s) < len(flow.time_s)):
            flows[flow.name] = flow
    packets = {name: np.nanmax(_packets(flow)) for name, flow in flows.items()}
    most = max(packets.values(), default=0.0)
    return [flow for name, flow in flows.items() if packets[name] >= LEAST_SHARE * most]


def _longest_flow(measurement: Measurement) -> str:
    """What the flow with most samples has, for a message: samples are those of RTT or of data."""
    sizes = [(0, 0.0, 0.0)]
    for flow in measurement.flows:
        if flow.rtt_s is not None and flow.transferred_bytes is not None:
            known = np.isfinite(flow.transferred_bytes)
            samples = min(int(known.sum()), int(np.isfinite(flow.rtt_s).sum()))
            packets = float(np.ptp(_packets(flow)[known]))
            sizes.append((samples, packets, float(np.ptp(flow.time_s[known]))))
    samples, packets, span = max(sizes)
    flows = _number_of(len(measurement.flows), "flow")
    if not measurement.flows:
        return f": it has {flows}, and {_number_of(len(measurement.queues), 'queue')}"
    return (
        f": of {flows}, the longest has {_number_of(samples, 'sample')} of RTT and data, "
        f"{_number_of(int(packets), 'packet')}, and {span:.3g} s"
    )


def _number_of(count: int, noun: str) -> str:
    """A number with its noun, which gets an s where the number is not 1."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _segment(flow: FlowSamples) -> float:
    """Data of a full packet of a flow, bytes."""
    return flow.segment_bytes or SEGMENT_BYTES


def _path(flow: FlowSamples) -> str:
    """Both addresses of a flow, as text; empty if the receiver's is not known."""
    return f"{flow.sender or ''} > {flow.receiver}" if flow.receiver else ""


def _packets(flow: FlowSamples) -> np.ndarray:
    """Packets delivered since the first sample; (sample,)."""
    data = flow.transferred_bytes
    assert data is not None  # flows without it are left out
    return (data - data[np.isfinite(data)][0]) / _segment(flow)


def _undelivered(flow: FlowSamples) -> float:
    """Most data that may have been given to TCP and not delivered, packets; 0 if not counted so."""
    if flow.delivered_bytes is not None:
        return 0.0
    window = flow.window_packets
    if window is not None and np.isfinite(window).any():
        return SEND_BUFFER * float(np.nanmax(window))
    assert flow.rtt_s is not None  # flows without it are left out
    known = np.isfinite(_packets(flow))
    rate = np.ptp(_packets(flow)[known]) / np.ptp(flow.time_s[known])
    return SEND_BUFFER * float(rate * np.nanmax(flow.rtt_s))


def _least_rtt(flow: FlowSamples) -> tuple[float, bool]:
    """Smallest RTT of a flow, s, and whether it is only the smallest of smoothed RTTs."""
    if flow.min_rtt_s is not None and np.isfinite(flow.min_rtt_s).any():
        return float(np.nanmin(flow.min_rtt_s)), False
    assert flow.rtt_s is not None  # flows without it are left out
    return float(np.nanmin(flow.rtt_s)), flow.is_smoothed


def _values(time: np.ndarray, flow: FlowSamples, values: np.ndarray | None) -> np.ndarray:
    """Values of a flow at the times of the grid; NaN before its first and after its last sample."""
    if values is None or not np.isfinite(values).any():
        return np.full(len(time), np.nan)
    known = np.isfinite(values)
    return np.interp(time, flow.time_s[known], values[known], left=np.nan, right=np.nan)


def _counter(time: np.ndarray, flow: FlowSamples, values: np.ndarray | None) -> np.ndarray:
    """A counter of a flow at the times of the grid; (time,).

    It is constant before and after the flow's samples, and 0 if it was not measured.
    """
    if values is None or not np.isfinite(values).any():
        return np.zeros(len(time))
    known = np.isfinite(values)
    return np.interp(time, flow.time_s[known], values[known])

"""The queue of the bottleneck: its buffer and its discipline, from delays and losses.

A drop-tail queue drops packets when it is full, and at no other time: losses come where the delay
is at its plateau, the buffer divided by the capacity. A discipline that drops early (RED, CoDel,
PIE) drops at all lengths above its threshold, so that losses also come well below the largest
delay. A queue that stays near its plateau may be either: a full drop-tail queue, or RED in overload
(12 of 23 such kernel traces). Its discipline is not known then, but a drop-tail queue of that
length is a model of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import Estimated, block_bootstrap, unknown
from vegasfluid.observe.time_grid import TimeGrid

__all__ = [
    "DROP_TAIL",
    "Discipline",
    "QueueShape",
    "buffer_of",
    "discipline",
    "early_drop_curve",
    "queue_shape",
]

DROP_TAIL = "droptail"
"""Name of a drop-tail queue."""
EARLY = "red"
"""Name of a queue that drops packets before it is full: RED stands for all of them."""
LARGEST = 0.999
"""Quantile of the delay that is taken as the largest: single RTTs are measured late."""
PLATEAU = 0.98
"""Quantile of the delay that is taken as the plateau: a few smoothed RTTs are larger, because
receivers delay ACKs (compared with the limits of drop-tail queues on kernel traces)."""
ROUND_TRIPS = 1.5
"""Time, in RTTs, from a drop to its repetition: losses belong to the largest delay before them."""
LEAST_LOSSES = 4
"""Number of intervals with losses from which on the discipline is classified."""
BELOW_PLATEAU = 0.95
"""Fraction of the plateau below which a drop-tail queue loses nothing."""
EARLY_LOSSES = 0.2
"""Fraction of the intervals with losses that may lie below the plateau in a drop-tail queue: 0.00
to 0.15 on kernel traces, and 0.25 to 0.65 with RED (but 0.03 with one)."""
ALWAYS = 0.6
"""Fraction of intervals with losses above which losses never cease."""
STANDING = 0.84
"""Ratio of the median delay to the plateau above which the queue stays near its plateau: with
constant losses 0.82 to 0.99 on kernel traces of drop-tail queues, 0.62 to 0.99 with RED and
CoDel."""
SHORTEST_DELAY = 1e-5
"""Delay up to which there is no queue: clocks count microseconds, s."""
COARSE = 0.25
"""Smallest ratio of the median RTT to the time between samples: below it, the delay at a sample
cannot be assigned to a loss near it."""
DELAYED_ACKS = 0.25
"""Packets of each flow by which delays near the plateau are too large, because receivers wait for a
second packet before they send an ACK (kernel traces of 1 to 12 flows)."""
BLOCKS = 20
"""Blocks of the bootstrap of the plateau."""
PACKETS, PACKETS_PER_FLOW, PART = 1.5, 0.2, 0.02
"""Accuracy of a buffer from RTTs, a sum of packets, packets for each flow, and a part of the
buffer."""


class QueueShape(NamedTuple):
    """Delays and losses of the queue in intervals of 1.5 RTTs.

    Args:
        level: largest delay of each interval relative to the plateau; (interval,).
        has_loss: whether packets were lost then; (interval,).
        plateau: nearly the largest delay (its 98 % quantile), s.
        delay: queueing delay over time, s; (time,).
        flows: number of flows.
        problem: why losses cannot be compared with delays; empty: they can.
    """

    level: np.ndarray
    has_loss: np.ndarray
    plateau: float
    delay: np.ndarray
    flows: int
    problem: str

    @property
    def losses(self) -> int:
        """Number of intervals with losses."""
        return int(self.has_loss.sum())


class Discipline(NamedTuple):
    """Discipline of the queue.

    Args:
        name: `droptail`, `red`, or another name that tc shows, such as `codel`; empty: not known.
        certain: whether it was read rather than estimated.
        how: how it was found, in a few words.
        options: its parameters, where they were read, by tc's names; lengths in packets.
        is_constant: whether the discipline is not known because the queue stays near its plateau,
            so that a drop-tail queue of that length is a model of it.
    """

    name: str
    certain: bool
    how: str
    options: dict[str, float]
    is_constant: bool = False


def queue_shape(grid: TimeGrid, delay: np.ndarray) -> QueueShape:
    """Delays and losses of the queue.

    Args:
        grid: samples of all flows at common times.
        delay: queueing delay at these times, s; (time,).
    """
    step = grid.step
    width = max(1, int(np.ceil(ROUND_TRIPS * float(np.nanmedian(grid.rtt)) / step)))
    repeated, _ = grid.loss_counts
    plateau = float(np.quantile(delay, PLATEAU))
    starts = np.arange(width, len(delay) - width, width)
    level = np.array([delay[k - width : k + width + 1].max() for k in starts])
    lost = np.array([repeated[k + width] - repeated[k] for k in starts])
    problem = ""
    if plateau < SHORTEST_DELAY:
        problem = "no queue was seen"
    elif not grid.has_repeated.any():
        problem = "retransmissions were not measured"
    elif np.nanmedian(grid.rtt) < COARSE * step:
        problem = f"samples are {step:.2g} s apart, more than four RTTs"
    return QueueShape(
        level / max(plateau, SHORTEST_DELAY), lost > 0.5, plateau, delay, len(grid.rtt), problem
    )


def discipline(shape: QueueShape) -> Discipline:
    """The discipline that the losses and delays show: drop-tail or, for any early drops, RED.

    Its name is empty if the shape has a problem, with fewer than four intervals with losses, and if
    losses come at all lengths of a queue that hardly changes.
    """
    if shape.problem:
        return Discipline("", False, f"unknown, as {shape.problem}", {})
    if shape.losses < LEAST_LOSSES:
        how = "unknown, as hardly any packet was lost, so the queue was never full"
        return Discipline("", False, how, {})
    early = float(np.mean(shape.level[shape.has_loss] < BELOW_PLATEAU))
    standing = float(np.median(shape.delay)) / shape.plateau
    how = f"{early:.0%} of the losses came while the delay was below its plateau"
    if shape.has_loss.mean() >= ALWAYS:
        how = f"packets are lost all the time, at a median delay of {standing:.0%} of the plateau"
    elif early < EARLY_LOSSES:
        return Discipline(DROP_TAIL, False, how, {})
    if standing > STANDING:
        why = f"{how}: a full drop-tail queue and RED in overload look alike"
        return Discipline("", False, why, {}, is_constant=True)
    return Discipline(EARLY, False, f"{how}: RED, CoDel or PIE", {})


def buffer_of(shape: QueueShape, found: Discipline, capacity: float) -> Estimated:
    """Buffer of the bottleneck, packets: plateau of the delay times the capacity.

    It is known for a drop-tail queue, and taken to be that of one where the queue stays near its
    plateau. For others the lower bound is the largest queue seen, less the accuracy of RTTs.

    Args:
        shape: delays and losses of the queue.
        found: its discipline.
        capacity: of the link, packets/s.
    """
    waiting = DELAYED_ACKS * shape.flows
    seen = max(float(np.quantile(shape.delay, LARGEST)) * capacity - waiting, 1.0)
    largest = max(seen - _accuracy(seen, shape.flows), 1.0)
    if found.name == "" and not found.is_constant:
        return unknown(found.how, low=largest)
    if found.name not in ("", DROP_TAIL):
        how = "unknown, as packets are dropped before the queue is full"
        return unknown(how, low=largest)
    low, high = block_bootstrap(lambda x: float(np.quantile(x, PLATEAU)), shape.delay, BLOCKS)
    value = max(shape.plateau * capacity - waiting, 1.0)
    reach = _accuracy(value, shape.flows)
    how = "delay at which packets were lost, less the base RTT, times the capacity"
    if found.is_constant:
        how = "length at which the queue stays: the buffer, if it is drop-tail"
    ends = (max(low * capacity - waiting - reach, 1.0), high * capacity - waiting + reach)
    return Estimated(value, *ends, how)


def _accuracy(packets: float, flows: int) -> float:
    """Half the width of a 90 % interval of a queue of `packets` from RTTs of `flows` flows."""
    return PACKETS + PACKETS_PER_FLOW * flows + PART * packets


def early_drop_curve(
    grid: TimeGrid, delay: np.ndarray, capacity: float
) -> tuple[float, float, float]:
    """Thresholds (packets) and largest drop probability of RED that fit the losses.

    A line is fitted to the fraction of packets lost over the mean queue, in intervals of a second
    or some RTTs. It meets zero at the lower threshold. Where RED's curve ends is not seen; the
    upper threshold is taken as three times the lower one, as Floyd recommends ("RED: discussions of
    setting parameters", 1997). Linux drops 2 p / (1 + p) of the packets at the probability p.

    Args:
        grid: samples of all flows at common times.
        delay: queueing delay at these times, s; (time,).
        capacity: of the link, packets/s.

    Returns:
        Lower and upper threshold, packets, and the largest drop probability, 0.001 to 1.
    """
    step = grid.step
    width = max(1, int(np.ceil(max(1.0, 5 * float(np.nanmedian(grid.rtt))) / step)))
    edges = np.arange(0, len(delay), width)
    queue = np.array([delay[k : k + width].mean() for k in edges[:-1]]) * capacity
    lost, sent = np.diff(grid.loss_counts[:, edges])
    fraction = lost / np.maximum(sent, 1.0)
    slope, _ = np.polyfit(queue, fraction, 1) if len(queue) > 2 else (0.0, 0.0)
    mean = float(fraction.mean())
    lowest = max(float(np.quantile(queue, 0.1)) * 0.8, 1.0)
    low = float(queue.mean() - mean / slope) if slope > 0 else lowest
    low = float(np.clip(low, max(0.3 * queue.mean(), 1.0), max(0.95 * queue.mean(), 1.1)))
    at_high = mean / max(float(queue.mean()) - low, 0.5) * 2 * low
    return low, 3 * low, float(np.clip(at_high / 2, 1e-3, 1.0))

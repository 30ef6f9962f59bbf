"""Rates that are set on a router: CAKE's `bandwidth`, and the `rate` of `tbf` and `netem`.

Sources:
    iproute2 6.1, tc/q_cake.c, tc/q_tbf.c, tc/q_netem.c: rates in bytes/s, the latency of a token
    bucket in microseconds; Linux 6.1, net/sched/sch_tbf.c: without another discipline in it, a
    token bucket has a queue of `limit` bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from vegasfluid.observe.measurement import QueueSamples

__all__ = ["TOKEN_BUCKET", "bucket_limit", "contains_another", "shaped_rate"]

TOKEN_BUCKET = "tbf"
"""Linux's token bucket filter."""
RATES = {"cake": "bandwidth", TOKEN_BUCKET: "rate", "netem": "rate"}
"""Parameter that is the rate, bytes/s, by discipline."""


def shaped_rate(queue: QueueSamples, queues: Sequence[QueueSamples]) -> float | None:
    """Rate that is set for a queue or for a token bucket around it, bytes/s; None: none is set.

    Args:
        queue: the queue.
        queues: all queues that were measured.
    """
    around = [other for other in queues if other.kind == TOKEN_BUCKET and _contains(other, queue)]
    rates = [_number(each, RATES[each.kind]) for each in (queue, *around) if each.kind in RATES]
    return min((rate for rate in rates if rate), default=None)


def bucket_limit(queue: QueueSamples) -> float | None:
    """Limit of the queue in a token bucket, bytes; None: not known.

    `tc` shows the time in which a full queue is sent, less that in which the saved tokens are.
    """
    limit = _number(queue, "limit")
    if limit:
        return limit
    rate, latency, burst = (_number(queue, name) for name in ("rate", "lat", "burst"))
    if rate is None or latency is None or burst is None:
        return None
    return rate * latency * 1e-6 + burst


def contains_another(queue: QueueSamples, queues: Sequence[QueueSamples]) -> bool:
    """Whether another measured queue is in a discipline, so that packets wait there."""
    return any(_contains(queue, other) for other in queues)


def _contains(outer: QueueSamples, inner: QueueSamples) -> bool:
    """Whether a discipline contains another one: its handle, such as `1:`, begins their parent."""
    handle = outer.handle
    same = (outer.source, outer.interface) == (inner.source, inner.interface)
    return same and handle != "" and inner.parent.startswith(handle)


def _number(queue: QueueSamples, name: str) -> float | None:
    """A parameter that is a positive number; None: it is missing, or text such as `unlimited`."""
    value = queue.parameters.get(name)
    return value if isinstance(value, float) and value > 0 else None

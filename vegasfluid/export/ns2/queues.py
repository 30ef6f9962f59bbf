"""Which queues of ns-2.35 stand for a queue law, and with which variables.

Sources:
    ns-2.35: queue/red.cc, queue/drop-tail.cc and tcl/lib/ns-default.tcl. `limit_` counts packets
    that wait; with `queue_in_bytes_` they are packets of the mean size. Drop-tail drops the packet
    that would be the last one of `limit_`, RED the one after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vegasfluid.aqm.red import Red
from vegasfluid.export.quoting import tcl_number
from vegasfluid.export.refusals import red_of, require_no_jitter
from vegasfluid.network import Link

__all__ = ["notes_of", "queue_of"]


def queue_of(name: str, link: Link, packet_bytes: int) -> tuple[str, int, dict[str, str]]:
    """The OTcl class of a link's queue, its `limit_`, and its variables.

    Args:
        name: the link's.
        link: what it is.
        packet_bytes: the size of a data packet.

    Raises:
        InvalidInput: for a queue law or jitter that ns-2 does not have.
    """
    require_no_jitter(name, link, "ns-2")
    law = red_of(name, link, "ns-2")
    if law is None:
        return "DropTail", int(link.buffer) + 1, {}
    return "RED", int(link.buffer), red(law, packet_bytes)


MARK_NOTE = "ns-2's RED drops above the upper threshold, where the model marks."


def notes_of(links: Iterable[Link]) -> tuple[str, ...]:
    """What the queues of ns-2 do otherwise."""
    laws = [link.aqm for link in links]
    marking = any(isinstance(law, Red) and law.ecn and not law.hard_drop for law in laws)
    return (MARK_NOTE,) if marking else ()


def red(law: Red, packet_bytes: int) -> dict[str, str]:
    """The variables of RED; those that ns-2 would choose by itself are given, too."""
    numbers: dict[str, Any] = {
        "thresh_": law.min_thresh,
        "maxthresh_": law.max_thresh,
        "linterm_": 1 / law.max_drop,
        "q_weight_": law.weight,
        "mean_pktsize_": packet_bytes,
        "idle_pktsize_": packet_bytes,
        "gentle_": law.gentle,
        "wait_": law.wait,
        "setbit_": law.ecn,
        "adaptive_": law.adaptive,
        "bytes_": law.in_bytes,
        "queue_in_bytes_": law.in_bytes,
        "bottom_": 0.01,
        "cautious_": 0,
    }
    return {key: tcl_number(value) for key, value in numbers.items()}

"""Queues of ns-2.35 for each queue discipline, and their variables.

Sources:
    ns-2.35: queue/red.cc, queue/drop-tail.cc and tcl/lib/ns-default.tcl. `limit_` counts
    waiting packets, with `queue_in_bytes_` in packets of the mean size. Drop-tail drops the packet
    that would be the last one of `limit_`, RED the one after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.export.quoting import tcl_number
from vegasfluid.export.unsupported import linux_red_notes, require_discipline, require_no_jitter
from vegasfluid.network import Link

__all__ = ["notes_of", "queue_of"]


def queue_of(name: str, link: Link, packet_bytes: int) -> tuple[str, int, dict[str, str]]:
    """OTcl class of a link's queue, its `limit_` (packets), and values of its variables.

    Args:
        name: name of the link.
        link: the link.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for jitter or a queue discipline that ns-2 does not support.
    """
    require_no_jitter(name, link, "ns-2")
    law = require_discipline(name, link, "ns-2", (DropTail, Red))
    if isinstance(law, DropTail):
        return "DropTail", int(link.buffer) + 1, {}
    return "RED", int(link.buffer), red_variables(law, packet_bytes)


MARK_NOTE = "ns-2's RED drops above the upper threshold, where the model marks."


def notes_of(links: Iterable[Link]) -> tuple[str, ...]:
    """Notes on differences between the queues of ns-2 and of the model, one sentence each."""
    links = list(links)
    queues = [link.aqm for link in links]
    marking = any(isinstance(aqm, Red) and aqm.ecn and not aqm.hard_drop for aqm in queues)
    return ((MARK_NOTE,) if marking else ()) + linux_red_notes(links, "ns-2")


def red_variables(red: Red, packet_bytes: int) -> dict[str, str]:
    """Values of the variables of ns-2's RED by name, as text of Tcl.

    Thresholds in packets of `packet_bytes` bytes; includes those that ns-2 would choose itself.
    """
    numbers: dict[str, Any] = {
        "thresh_": red.min_thresh,
        "maxthresh_": red.max_thresh,
        "linterm_": 1 / red.max_drop,
        "q_weight_": red.average_weight,
        "mean_pktsize_": packet_bytes,
        "idle_pktsize_": packet_bytes,
        "gentle_": red.gentle,
        "wait_": red.waits,
        "setbit_": red.ecn,
        "adaptive_": red.adaptive,
        "bytes_": red.counts_bytes and not red.is_linux,
        "queue_in_bytes_": red.counts_bytes,
        "bottom_": 0.01,
        "cautious_": 0,
    }
    return {key: tcl_number(value) for key, value in numbers.items()}

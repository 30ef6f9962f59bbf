"""Queues of ns-2.35 for each queue discipline, and their variables.

Sources:
    ns-2.35: queue/red.cc, queue/pi.cc, queue/drop-tail.cc and tcl/lib/ns-default.tcl. `limit_`
    counts waiting packets, with `queue_in_bytes_` in packets of the mean size. Drop-tail drops the
    packet that would be the last one of `limit_`, RED and PI the one after it.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.pi import Pi
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.export.quoting import tcl_number
from vegasfluid.export.step_elsewhere import ALWAYS_MARKS, step_in_ns2
from vegasfluid.export.unsupported import require_discipline, require_no_jitter
from vegasfluid.network import Link

__all__ = ["queue_of"]


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
    law = require_discipline(name, link, "ns-2", (DropTail, Pi, Red, StepMarking))
    if isinstance(law, StepMarking):
        return "RED", int(link.buffer), step_in_ns2(name, law, packet_bytes)
    if isinstance(law, DropTail):
        return "DropTail", int(link.buffer) + 1, {}
    if isinstance(law, Pi):
        return "PI", int(link.buffer), pi_variables(law, packet_bytes)
    return "RED", int(link.buffer), red_variables(law, packet_bytes)


CERTAIN = 1
"""ns-2's `mark_p_` with which RED drops, and does not mark, where its curve has probability 1."""


def red_variables(red: Red, packet_bytes: int) -> dict[str, str]:
    """Values of the variables of ns-2's RED by name, as text of Tcl.

    Thresholds are in packets of `packet_bytes` bytes. Variables for which ns-2 would choose a value
    itself are included.
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
        "mark_p_": CERTAIN if red.hard_drop else ALWAYS_MARKS,
        "adaptive_": red.adaptive,
        "bytes_": red.counts_bytes and not red.is_linux,
        "queue_in_bytes_": red.counts_bytes,
        "bottom_": 0.01,
        "cautious_": 0,
    }
    return {key: tcl_number(value) for key, value in numbers.items()}


def pi_variables(law: Pi, packet_bytes: int) -> dict[str, str]:
    """Values of the variables of ns-2's PI by name, as text of Tcl.

    Queues are in packets of `packet_bytes` bytes.

    >>> pi_variables(Pi(q_ref=200), 1500)["qref_"]
    '200'
    """
    numbers: dict[str, Any] = {
        "a_": law.a,
        "b_": law.b,
        "w_": law.w,
        "qref_": law.q_ref,
        "setbit_": law.ecn,
        "mean_pktsize_": packet_bytes,
        "bytes_": False,
        "queue_in_bytes_": False,
    }
    return {key: tcl_number(value) for key, value in numbers.items()}

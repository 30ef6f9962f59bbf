"""Step marking as the RED of ns-2, ns-3 and FreeBSD, with a weight of 1: no average.

The model marks a packet that finds more than K packets waiting, without the one in transmission,
and drops it if it is not ECN capable. The queues of all three systems leave out the packet in
transmission, too.

* ns-2 and ns-3 admit a packet that finds one or none waiting, so K is at least 2.
* ns-2 also admits the first packet above the lower threshold after a shorter queue. The lower
  threshold is 1, so that this is the packet that finds two waiting. Between the thresholds the
  probability is too small for a drop, from K + 1 on it is 1, and `mark_p_` lets ns-2 mark there.
* In ns-3 the device has room for one packet, so that one packet less waits in the queue discipline.
* FreeBSD's RED marks every packet above the lower threshold if it has the option `ecn`.

Linux cannot have it: with a weight of 1/2, the largest that `tc` chooses, RED is still an average,
and `ce_threshold` of CoDel and FQ is a delay, measured when packets leave.

Sources:
    ns-2.35, queue/red.cc (`enque`, `drop_early`); ns-3.44, src/traffic-control/model/
    red-queue-disc.cc (`DoEnqueue`); FreeBSD 14, sys/netpfil/ipfw/ip_dn_io.c (`red_drops`);
    iproute2, tc/tc_red.c; tc-codel(8), tc-fq(8). No code copied. Run here: ns-2 and ns-3.
"""

from __future__ import annotations

import math

from vegasfluid.aqm.step import StepMarking
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.export.quoting import tcl_number

__all__ = ["ALWAYS_MARKS", "reject_step_in_linux", "step_in_ipfw", "step_in_ns2", "step_in_ns3"]

SMALLEST_THRESHOLD = 2
"""Smallest K of ns-2 and ns-3, packets: their RED admits a packet that finds one waiting."""
NEVER = 1e12
"""Reciprocal of a probability at which ns-2 drops nothing (chosen: above any run's packets)."""
ALWAYS_MARKS = 2
"""ns-2's `mark_p_`, a probability below which packets are marked instead of dropped: above 1."""


def whole_threshold(law: StepMarking) -> int:
    """Largest queue that is not marked, whole packets.

    >>> whole_threshold(StepMarking(20.5))
    20
    """
    return math.floor(law.threshold)


def require_two_packets(name: str, law: StepMarking, system: str) -> None:
    """Raise InvalidInput if the threshold of link `name` is below what `system` can have."""
    if law.threshold < SMALLEST_THRESHOLD:
        allowed = f"at least {SMALLEST_THRESHOLD} packets for {system}"
        raise InvalidInput(f"links.{name}", "aqm.threshold", allowed, law.threshold)


def step_in_ns2(name: str, law: StepMarking, packet_bytes: int) -> dict[str, str]:
    """Variables of ns-2's RED by name, as text of Tcl, for step marking.

    Args:
        name: name of the link, for the error message.
        law: step marking of the model.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for a threshold below two packets.
    """
    require_two_packets(name, law, "ns-2")
    numbers = {
        "thresh_": 1,
        "maxthresh_": whole_threshold(law) + 1,
        "linterm_": NEVER,
        "q_weight_": 1,
        "mean_pktsize_": packet_bytes,
        "idle_pktsize_": packet_bytes,
        "gentle_": False,
        "wait_": True,
        "setbit_": True,
        "mark_p_": ALWAYS_MARKS,
        "adaptive_": False,
        "bytes_": False,
        "queue_in_bytes_": False,
        "bottom_": 0.01,
        "cautious_": 0,
    }
    return {key: tcl_number(value) for key, value in numbers.items()}


def step_in_ns3(name: str, law: StepMarking, packets: int, packet_bytes: int) -> dict[str, str]:
    """Attributes of ns-3's RED by name, as texts, for step marking.

    Args:
        name: name of the link, for the error message.
        law: step marking of the model.
        packets: size of the queue discipline, packets.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for a threshold below two packets.
    """
    require_two_packets(name, law, "ns-3")
    threshold = repr(float(whole_threshold(law)))
    return {
        "MaxSize": f"{packets}p",
        "MinTh": threshold,
        "MaxTh": threshold,
        "QW": "1.0",
        "Gentle": "false",
        "UseEcn": "true",
        "UseHardDrop": "false",
        "AdaptMaxP": "false",
        "MeanPktSize": str(packet_bytes),
    }


def step_in_ipfw(law: StepMarking) -> str:
    """Step marking as options of FreeBSD's ipfw.

    >>> step_in_ipfw(StepMarking(20))
    'red 1/20/21/1 ecn'
    """
    threshold = whole_threshold(law)
    return f"red 1/{threshold}/{threshold + 1}/1 ecn"


def reject_step_in_linux(name: str) -> None:
    """Raise Unsupported: step marking of link `name`, which Linux does not have."""
    reason = (
        "tc red averages the queue with a weight of at most 1/2, and ce_threshold of codel and fq "
        "is a delay"
    )
    raise Unsupported(f"links.{name}", "aqm step in Linux", reason)

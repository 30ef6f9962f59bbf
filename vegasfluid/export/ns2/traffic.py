"""Traffic sources of ns-2.35, as words of a list that the script reads.

Rates of `Application/Traffic` are bit/s of packets of the model's size. Sessions (transfers of
Pareto size, each over a new connection) are written in OTcl, as ns-2 has none.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.export.quoting import tcl_number
from vegasfluid.network import Flows
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import BYTES, Sessions

__all__ = ["traffic_of"]

AT_ONCE = 1e11
"""Rate at which the time of one packet is negligible, bit/s (chosen)."""
BITS = 8
"""Bits per byte."""


def traffic_of(name: str, flows: Flows, packet_bytes: int) -> list[str]:
    """The traffic source of a class and its numbers, as words of Tcl.

    Args:
        name: name of the class, for the error message.
        flows: the class.
        packet_bytes: size of a data packet, bytes.

    Returns:
        `bulk`; `app CLASS VARIABLE VALUE ...` with ns-2's units; or `sessions GAP PACKETS SHAPE
        OVERLAPPING` with the mean gap (s) and the mean size (packets).

    Raises:
        InvalidInput: for a traffic source that ns-2 does not support.
    """
    source, bits = flows.traffic, BITS * packet_bytes
    match source:
        case Bulk():
            return ["bulk"]
        case Cbr():
            return app("CBR", packet_bytes, rate_=source.rate * bits)
        case Poisson():
            times = {"burst_time_": 0, "idle_time_": source.mean_interval}
            return app("Exponential", packet_bytes, rate_=AT_ONCE, **times)
        case OnOff() if source.mean_size is None:
            times = {"burst_time_": source.on, "idle_time_": source.off}
            shape = {"shape_": source.shape} if source.times == "pareto" else {}
            return app(
                source.times.title(), packet_bytes, rate_=source.rate * bits, **times, **shape
            )
        case Sessions() if flows.law.rules.reliable:
            packets = source.mean_size * BYTES / packet_bytes
            numbers = (source.mean_gap, packets, source.shape, int(source.overlapping))
            return ["sessions", *map(tcl_number, numbers)]
    known = "bulk, cbr, poisson, on_off without sessions, or sessions over TCP, for ns-2"
    raise InvalidInput(f"flows.{name}", "traffic", known, source.name)


def app(name: str, packet_bytes: int, **numbers: Any) -> list[str]:
    """Words `app CLASS VARIABLE VALUE ...` for ns-2's `Application/Traffic/` class `name`.

    Args:
        name: last part of the class's name.
        packet_bytes: packet size, bytes.
        numbers: other variables in ns-2's units (bit/s, s).
    """
    words = ["app", f"Application/Traffic/{name}", "packetSize_", str(packet_bytes)]
    for key, value in numbers.items():
        words += [key, tcl_number(value)]
    return words

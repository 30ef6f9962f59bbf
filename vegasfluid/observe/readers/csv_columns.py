"""What the columns of a CSV file mean: names and units in its header.

Names are those of the kernel's `struct tcp_info`, of tcp_probe, of `tc -s qdisc` and of common
scripts. A unit follows a name after `_`, or in brackets: `rtt_us`, `rtt (ms)`, `cwnd [bytes]`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Column", "column_of"]

SECONDS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3}
SECONDS |= {"milliseconds": 1e-3, "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "microseconds": 1e-6}
SECONDS |= {"ns": 1e-9, "nsec": 1e-9, "nanoseconds": 1e-9}
"""Seconds in a unit of time."""
BYTES = {"bytes": 1.0, "byte": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "kib": 1024.0, "mib": 2.0**20}
"""Bytes in a unit of data."""
PACKETS = {"packets": 1.0, "pkts": 1.0, "packet": 1.0, "segments": 1.0, "segs": 1.0, "mss": 1.0}
"""Packets in a unit that counts packets."""

QUANTITIES = {
    "time": "t time timestamp ts elapsed time_since_start unix_time epoch",
    "window": "cwnd snd_cwnd tcpi_snd_cwnd window congestion_window cong_window",
    "rtt": "rtt srtt smoothed_rtt tcpi_rtt rtt_sample",
    "min_rtt": "minrtt min_rtt rtt_min tcpi_min_rtt rttmin",
    "acked": "acked bytes_acked acked_bytes delivered tcpi_bytes_acked tcpi_delivered",
    "sent": "sent bytes_sent tcpi_bytes_sent",
    "in_flight": "unacked in_flight inflight packets_out flight tcpi_unacked packets_in_flight",
    "retransmitted": "total_retrans retrans retransmits retransmissions retransmitted "
    "tcpi_total_retrans",
    "segment": "mss snd_mss tcpi_snd_mss",
    "backlog_packets": "qlen queue queue_length backlog_pkts",
    "backlog": "backlog",
    "dropped": "drops dropped",
    "marked": "marks marked ecn_mark",
    "bytes": "bytes",
    "packets": "packets",
    "flow": "flow flow_id conn connection stream",
    "source": "src source saddr src_addr source_address",
    "target": "dst dest destination daddr dst_addr destination_address",
    "source_port": "sport src_port source_port",
    "target_port": "dport dst_port dest_port destination_port",
    "control": "cc algo algorithm congestion congestion_control ca_name ca tcp_congestion",
}
"""Names of each quantity in headers."""
NAMES = {name: quantity for quantity, names in QUANTITIES.items() for name in names.split()}
"""Quantity by a name in a header."""
UNITS: dict[str, dict[str, float]] = dict.fromkeys(("time", "rtt", "min_rtt"), SECONDS)
UNITS |= dict.fromkeys(("window", "acked", "sent", "in_flight"), BYTES | PACKETS)
UNITS |= dict.fromkeys(("segment", "backlog", "bytes"), BYTES)
UNITS |= dict.fromkeys(("retransmitted", "dropped", "marked", "packets"), PACKETS)
UNITS |= {"backlog_packets": PACKETS}
"""Units by quantity."""
USUAL = {"time": "s", "window": "packets", "in_flight": "packets", "retransmitted": "packets"}
USUAL |= {"segment": "bytes", "backlog_packets": "packets", "backlog": "bytes"}
USUAL |= {"dropped": "packets", "marked": "packets", "bytes": "bytes", "packets": "packets"}
"""Unit of a quantity whose header gives none."""
UNIT_IN_NAME = {"bytes_acked": "bytes", "tcpi_bytes_acked": "bytes", "acked_bytes": "bytes"}
UNIT_IN_NAME |= {"bytes_sent": "bytes", "tcpi_bytes_sent": "bytes", "delivered": "packets"}
UNIT_IN_NAME |= {"tcpi_delivered": "packets", "tcpi_rtt": "us", "tcpi_min_rtt": "us"}
"""Unit of names that imply it: those of the kernel."""
BRACKETS = re.compile(r"^(?P<name>.*?)[\s_]*[\[(](?P<unit>[^\])]*)[\])]$")
"""A name with its unit in brackets."""


class Column(NamedTuple):
    """A column that is understood.

    Args:
        quantity: what it has, a key of `QUANTITIES`.
        unit: its unit, or empty for text.
        scale: seconds, bytes or packets in a unit; 0: the header gives no unit, and none is usual.
        in_packets: whether the unit counts packets.
    """

    quantity: str
    unit: str = ""
    scale: float = 1.0
    in_packets: bool = False


def column_of(header: str) -> Column | None:
    """What a column has, from its header; None: nothing that is understood.

    Args:
        header: the cell of the header.

    >>> column_of("RTT (ms)")
    Column(quantity='rtt', unit='ms', scale=0.001, in_packets=False)
    >>> column_of("colour")
    """
    text = header.strip().strip("\"'").lower()
    found = BRACKETS.match(text)
    name, unit = (found["name"], found["unit"].strip()) if found else (text, "")
    name = re.sub(r"[\s.\-:]+", "_", name.strip())
    quantity = NAMES.get(name)
    if quantity is None and not unit and "_" in name:
        name, _, unit = name.rpartition("_")
        quantity = NAMES.get(name)
    if quantity is None:
        return None
    units = UNITS.get(quantity)
    if units is None:
        return Column(quantity)
    unit = unit or UNIT_IN_NAME.get(name, USUAL.get(quantity, ""))
    if unit and unit not in units:
        return None
    return Column(quantity, unit, units.get(unit, 0.0), unit in PACKETS)

"""Export to OpenWrt routers: the file /etc/config/sqm of the package sqm-scripts.

The script `simplest.qos` limits the rate by `htb`, with one queue of the discipline `qdisc`. SQM
gives it the limit, the target and ECN; `eqdisc_opts` (upload) and `iqdisc_opts` (download) are
further options of `tc`. RED cannot be used: SQM tests a queue discipline without options first, and
`tc red` requires some. SQM sets no target of PI2 (`dualpi2`).

Sources:
    tohojo/sqm-scripts: platform/openwrt/sqm-uci and luci/sqm-cbi.lua (options, rates in kbit/s);
    src/run-openwrt.sh (sections); src/simplest.qos (htb); src/functions.sh (`get_limit`,
    `get_target`, `get_ecn`, `get_burst`, `verify_qdisc`). OpenWrt's wiki, "SQM configuration
    /etc/config/sqm". No code copied; not run here.
"""

from __future__ import annotations

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.errors import InvalidInput
from vegasfluid.export.codel_elsewhere import codel_notes, codel_times
from vegasfluid.export.dialects import Points
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.flow_queues_elsewhere import FLOWS, flow_queue_notes, quantum_bytes
from vegasfluid.export.pie_elsewhere import microseconds, pie_notes, tc_gains, tc_rounding
from vegasfluid.export.quoting import comment
from vegasfluid.export.unsupported import require_discipline
from vegasfluid.model import Model
from vegasfluid.network import Link
from vegasfluid.quantities import bits_per_second

__all__ = ["export_openwrt"]

KILOBIT = 1000
"""Bits per second in SQM's unit of rates."""
HOSTS_NOTE = "SQM sets queues of a router only; settings of hosts: --format linux."
BURST_NOTE = (
    "SQM's shaper sends bursts of up to 1 ms (at least one packet); the model's link sends packet "
    "by packet."
)
HEAD = """\
# Queues for OpenWrt's SQM, written by vegasfluid.
# Install the package sqm-scripts, replace DEVICE_1 by the interface that sends into the link, and:
#   cp sqm.uci /etc/config/sqm; /etc/init.d/sqm restart
# It replaces all sections that are in /etc/config/sqm. SQM does not start on an interface that does
# not exist. For data that the interface receives, swap upload and download."""


def export_openwrt(model: Model, points: Points, seed: int) -> Exported:
    """Export the queues of a model to OpenWrt: the file `sqm.uci`, with a section for each link.

    Args:
        model: the model.
        points: not used, as hosts are not exported.
        seed: not used, as nothing is random.

    Returns:
        Text of the file, and notes on differences.

    Raises:
        InvalidInput: for a queue discipline that SQM does not support, or a rate below 1 kbit/s.
    """
    network = model.network.resolved()
    notes = [HOSTS_NOTE, BURST_NOTE]
    sections: list[str] = []
    for number, (name, link) in enumerate(network.links.items(), start=1):
        lines, differences = section(number, name, link, network.packet_bytes, both=network.two_way)
        sections += ["", *lines]
        notes += differences
    unique = tuple(dict.fromkeys(notes))
    lines = [HEAD, *header_comments(model, unique, {}), *sections]
    return Exported("openwrt", {"sqm.uci": "\n".join(lines) + "\n"}, notes=unique)


def section(
    number: int, name: str, link: Link, packet_bytes: int, *, both: bool
) -> tuple[list[str], list[str]]:
    """Lines of the section for a link, and sentences on differences from the model.

    Args:
        number: number of the link, from 1.
        name: name of the link.
        link: rate, buffer and queue discipline.
        packet_bytes: size of a data packet, bytes.
        both: whether the other direction has the same queue, as data are sent in it, too.

    Raises:
        InvalidInput: for a queue discipline that SQM does not support, or a rate below 1 kbit/s.
    """
    law = require_discipline(name, link, "openwrt", (CoDel, DropTail, FqCoDel, Pie))
    bits = bits_per_second(link.capacity, packet_bytes)
    rate = round(bits / KILOBIT)
    if rate < 1:
        raise InvalidInput(
            f"links.{name}", "capacity", "at least 1 kbit/s for openwrt", link.capacity
        )
    lines = comment(f"The interface that sends into {name}.")
    if abs(bits - rate * KILOBIT) >= 1:
        lines += comment(
            f"rate: {bits / KILOBIT:.10g} kbit/s in the model, {rate} kbit/s in SQM (whole kbit/s)."
        )
    if isinstance(law, Pie):
        lines += [line for text in tc_rounding(law) for line in comment(text)]
    options = {
        "enabled": "1",
        "interface": f"DEVICE_{number}",
        "upload": str(rate),
        "download": str(rate) if both else "0",
        "qdisc": "pfifo" if isinstance(law, DropTail) else law.name,
        "script": "simplest.qos",
        "linklayer": "none",
        "qdisc_advanced": "1",
        "qdisc_really_really_advanced": "1",
        "ilimit": str(int(link.buffer)),
        "elimit": str(int(link.buffer)),
        **of_discipline(law, packet_bytes),
    }
    lines.append(f"config queue 'queue_{number}'")
    lines += [f"\toption {key} '{value}'" for key, value in options.items()]
    if isinstance(law, FqCoDel):
        return lines, flow_queue_notes()
    if isinstance(law, CoDel):
        return lines, codel_notes()
    return lines, pie_notes(law) if isinstance(law, Pie) else []


def of_discipline(law: CoDel | DropTail | FqCoDel | Pie, packet_bytes: int) -> dict[str, str]:
    """SQM's options for the parameters of a queue discipline, the same in both directions.

    There are none for drop-tail. `packet_bytes` is the size of a data packet, bytes.

    >>> list(of_discipline(CoDel(), 1500).items())[:3]
    [('ingress_ecn', 'NOECN'), ('egress_ecn', 'NOECN'), ('itarget', '5000us')]
    """
    if isinstance(law, DropTail):
        return {}
    if isinstance(law, CoDel | FqCoDel):
        target, interval = codel_times(law)
        more = f"interval {interval}"
        if isinstance(law, FqCoDel):
            more += f" flows {FLOWS} quantum {quantum_bytes(law.quantum, packet_bytes)}"
    else:
        target, more = microseconds(law.target), tc_gains(law)
    ecn = "ECN" if law.ecn else "NOECN"
    return {
        "ingress_ecn": ecn,
        "egress_ecn": ecn,
        "itarget": target,
        "etarget": target,
        "iqdisc_opts": more,
        "eqdisc_opts": more,
    }

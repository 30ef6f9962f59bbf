"""Export to Linux hosts and routers: a shell script and modprobe.d files.

Linux has one set of Vegas parameters per host, so each class has a host here. They are parameters
of the module tcp_vegas, in whole packets of cwnd (rtt - base) / base.

Sources:
    Linux, net/ipv4/tcp_vegas.c (alpha, beta, gamma: writable, 0644), Documentation/networking/
    ip-sysctl (tcp_congestion_control); modprobe.d(5); ip-route(8), congctl, initcwnd; tc(8),
    tc-red(8), tc-pfifo(8), tc-htb(8). RED and PIE: see `red_in_tc` and `pie_elsewhere`.
"""

from __future__ import annotations

from collections.abc import Mapping

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq import Fq
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pi2 import Pi2
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.congestion.dctcp import Dctcp
from vegasfluid.export.codel_elsewhere import codel_in_tc, codel_notes
from vegasfluid.export.dctcp_elsewhere import linux_lines
from vegasfluid.export.dialects import Points, VegasParameters, vegas_parameters
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.flow_queues_elsewhere import flow_queue_notes, flow_queues_in_tc
from vegasfluid.export.pi2_in_tc import pi2_notes, pi2_rounding, pi2_words
from vegasfluid.export.pie_elsewhere import pie_notes, tc_rounding, tc_words
from vegasfluid.export.quoting import comment
from vegasfluid.export.red_in_tc import TcRed, rounded_red
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.shell_scripts import (
    case_statement,
    config_files,
    control_commands,
    origin_comments,
)
from vegasfluid.export.step_elsewhere import reject_step_in_linux
from vegasfluid.export.unsupported import require_built_in_values, require_discipline
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link
from vegasfluid.quantities import bits_per_second

__all__ = ["CONTROLS", "export_linux", "red_notes"]

QUEUES = (CoDel, DropTail, Fq, FqCoDel, Pi2, Pie, Red)
"""Queue disciplines that Linux has."""
CONTROLS = {
    "reno": ("reno", ""),
    "newreno": ("reno", ""),
    "cubic": ("cubic", "tcp_cubic"),
    "dctcp": ("dctcp", "tcp_dctcp"),
    "highspeed": ("highspeed", "tcp_highspeed"),
    "scalable": ("scalable", "tcp_scalable"),
    "vegas": ("vegas", "tcp_vegas"),
}
"""The kernel's name of each congestion control, and its module; empty where it is built in."""
WAIT_NOTE = (
    "Let p be the drop probability at the average queue. Linux's RED drops the next packet 1 to "
    "1/p packets after the last drop, the model's RED (with wait) 1/p to 2/p packets after it. At "
    "the same average queue Linux drops up to three times as many packets. For the same fraction "
    "of drops, set a third of the probability."
)
GENTLE_NOTE = (
    "Linux's RED is not gentle: above the upper threshold all packets are dropped or marked."
)
BYTES_NOTE = "Linux's RED counts bytes where the model counts packets."
UNITS = (
    "Linux's alpha and beta are cwnd (rtt - base) / base: packets in the queue times rtt / base."
)
"""Comment on why Linux's alpha and beta are larger than those of other systems."""
HEAD = """\
#!/bin/sh
# Settings for Linux, written by vegasfluid. Each host and each router needs its own part:
#   sh tune.sh PART [DEVICE [shape]]        (as root; without PART, it lists the parts)"""


def export_linux(model: Model, points: Points, seed: int) -> Exported:
    """Export a model to Linux: the script `tune.sh` and files for /etc/modprobe.d.

    Args:
        model: the model.
        points: operating points of the Vegas classes with another dialect, by class.
        seed: not used, as nothing is random.

    Returns:
        Texts of the files, the Vegas parameters (whole packets), and notes on differences.

    Raises:
        InvalidInput: for a congestion control or parameters that Linux does not support.
    """
    network = model.network.resolved()
    vegas = vegas_parameters(SYSTEMS["linux"], network, points)
    parts: dict[str, list[str]] = {}
    for number, (name, flows) in enumerate(network.flows.items(), start=1):
        parts[f"host-{number}"] = host_part(name, flows, vegas, network.packet_bytes)
    notes: list[str] = []
    for number, (name, link) in enumerate(network.links.items(), start=1):
        lines, link_notes = queue_part(name, link, network.packet_bytes)
        parts[f"queue-{number}"] = lines
        notes += link_notes
    unique = tuple(dict.fromkeys(notes))
    head = [HEAD, *header_comments(model, unique, vegas), "set -eu", 'DEVICE="${2:-}"']
    script = "\n".join([*head, PROCEDURES, *case_statement(parts)]) + "\n"
    files = {"tune.sh": script, **config_files(vegas, "tcp_vegas.conf", modprobe_file)}
    return Exported("linux", files, vegas, unique)


PROCEDURES = """
need_device() {
    [ -n "$DEVICE" ] || { echo "usage: sh tune.sh $1 DEVICE [shape]" >&2; exit 2; }
}
# Qdiscs do not slow a device down: "shape" makes a faster one send at the link's rate.
root_of() {
    if [ "$1" = shape ]; then
        tc qdisc replace dev "$DEVICE" root handle 1: htb default 1
        tc class replace dev "$DEVICE" parent 1: classid 1:1 htb rate "$2"
        PARENT="parent 1:1 handle 10:"
    else
        PARENT="root"
    fi
}
vegas() {
    modprobe tcp_vegas
    echo "$1" > /sys/module/tcp_vegas/parameters/alpha
    echo "$2" > /sys/module/tcp_vegas/parameters/beta
    echo "$3" > /sys/module/tcp_vegas/parameters/gamma
}"""
"""Shell functions of the script."""


def host_part(
    name: str, flows: Flows, vegas: Mapping[str, VegasParameters], packet_bytes: int
) -> list[str]:
    """Shell commands for a Linux host that sends the flows of class `name`.

    Args:
        name: name of the class.
        flows: the class.
        vegas: alpha, beta and gamma for Linux (packets), by Vegas class.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for parameters of a congestion control that Linux fixes at other values.
    """
    lines, names = control_commands(name, flows, CONTROLS, "linux")
    if names is None:
        return lines
    require_built_in_values(name, flows.law, "Linux")
    control, module = names
    if parameters := vegas.get(name):
        lines += comment(f"Vegas {parameters.origin}.") + comment(UNITS)
        lines.append("vegas " + " ".join(map(str, parameters.values.values())))
    elif module:
        lines.append(f"modprobe {module}")
        if isinstance(flows.law, Dctcp):
            lines += linux_lines(name, flows.law)
    lines.append(f"sysctl -w net.ipv4.tcp_congestion_control={control}")
    lines += comment(f"Or for a single route only: ip route change ROUTE congctl {control}")
    window = round(flows.max_window * packet_bytes)
    lines += comment(
        f"The model's windows end at {flows.max_window:g} packets ({window} bytes: see "
        f"net.ipv4.tcp_wmem and tcp_rmem) and begin with {flows.settings.initial_window:g} "
        f"(Linux: 10; ip route ... initcwnd)."
    )
    return lines


def queue_part(name: str, link: Link, packet_bytes: int) -> tuple[list[str], list[str]]:
    """Shell commands (`tc`) for the device that sends into a link, in a part of the script.

    Args:
        name: name of the link.
        link: rate, delay, buffer and queue discipline.
        packet_bytes: size of a data packet, bytes.

    Returns:
        Lines of the script, and notes on differences from the model.

    Raises:
        InvalidInput: for a queue discipline that Linux does not support.
    """
    rate = f"{round(bits_per_second(link.capacity, packet_bytes))}bit"
    lines = comment(
        f"The device that sends into {name}: {rate}/s, {link.delay * 1e3:g} ms one way; the same "
        f"in the other direction."
    )
    lines += ['need_device "$1"', f'root_of "${{3:-}}" {rate}']
    begin = 'tc qdisc replace dev "$DEVICE" $PARENT'
    if isinstance(link.aqm, StepMarking):
        reject_step_in_linux(name)
    law = require_discipline(name, link, "linux", QUEUES)
    if isinstance(law, DropTail):
        return [*lines, f"{begin} pfifo limit {int(link.buffer)}"], []
    if isinstance(law, CoDel):
        return [*lines, f"{begin} {codel_in_tc(law, link.buffer)}"], codel_notes()
    if isinstance(law, Fq | FqCoDel):
        words = flow_queues_in_tc(law, link.buffer, packet_bytes)
        return [*lines, f"{begin} {words}"], flow_queue_notes()
    if isinstance(law, Pie):
        lines += [line for text in tc_rounding(law) for line in comment(text)]
        return [*lines, f"{begin} {tc_words(law, link.buffer)}"], pie_notes(law)
    if isinstance(law, Pi2):
        lines += [line for text in pi2_rounding(law) for line in comment(text)]
        return [*lines, f"{begin} {pi2_words(law, link.buffer)}"], pi2_notes(law)
    red = rounded_red(law, link.buffer, packet_bytes)
    lines += [line for text in rounding_comments(law, red) for line in comment(text)]
    switches = (" adaptive" if law.adaptive else "") + (" ecn" if law.ecn else "")
    switches += " harddrop" if law.ecn and law.hard_drop else ""
    lines.append(
        f"{begin} red limit {red.limit} min {red.low} max {red.high} "
        f"avpkt {red.average_packet} burst {red.burst} probability {red.probability:.6g} "
        f"bandwidth {rate}{switches}"
    )
    return lines, red_notes(law)


def red_notes(law: Red) -> list[str]:
    """Sentences on differences between Linux's RED and that of the model."""
    differences = {WAIT_NOTE: law.waits, GENTLE_NOTE: law.gentle, BYTES_NOTE: not law.counts_bytes}
    return [note for note, applies in differences.items() if applies]


def rounding_comments(law: Red, red: TcRed) -> list[str]:
    """Sentences on how Linux rounds RED's weight and drop probability.

    Args:
        law: RED of the model.
        red: values that tc and the kernel use.
    """
    reason = ""
    if red.wlog < red.wanted_wlog:
        reason = f", because thresholds shifted by more than {red.wlog} bits exceed 32 bits"
    return [
        f"weight: {law.average_weight:g} in the model, {red.weight:.4g} in tc "
        f"(2^-{red.wlog}, from min, avpkt and burst{reason}).",
        f"probability: {law.max_drop:g} in the model, {red.kernel_probability:.4g} in Linux "
        f"({red.old_probability:.4g} before 3.3, where its step was a power of two).",
    ]


def modprobe_file(vegas: Mapping[str, VegasParameters]) -> list[str]:
    """Lines for /etc/modprobe.d that set alpha, beta and gamma of tcp_vegas (packets).

    `vegas` has at least one class; all its classes have the same parameters.
    """
    parameters = next(iter(vegas.values()))
    values = " ".join(f"{key}={value}" for key, value in parameters.values.items())
    return [
        "# Put it into /etc/modprobe.d/; it takes effect when tcp_vegas is loaded next.",
        *origin_comments(vegas, "Hosts"),
        *comment(UNITS),
        f"options tcp_vegas {values}",
    ]

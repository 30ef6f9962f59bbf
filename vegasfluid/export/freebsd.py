"""Export to FreeBSD hosts and dummynet routers: a shell script and a config file.

Vegas's parameters are sysctls in whole packets ("buffers") of cwnd (rtt - base) / rtt; the response
to a loss is NewReno's. As alpha must never exceed beta, the script first sets alpha to 1.

Sources:
    FreeBSD, sys/netinet/cc/cc_vegas.c and cc_vegas(4) (alpha, beta, their handlers; no gamma: slow
    start ends above beta); mod_cc(4) (net.inet.tcp.cc.algorithm); sbin/ipfw/dummynet.c and ipfw(8)
    (w_q and max_p as whole parts of 2^16, delays of whole milliseconds up to 10000, thresholds in
    packets where the queue is, red, gred, ecn, pipe_slot_limit of 100); sys/netpfil/ipfw/
    ip_dn_io.c (marks).
"""

from __future__ import annotations

from collections.abc import Mapping

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.congestion.dctcp import Dctcp
from vegasfluid.errors import InvalidInput
from vegasfluid.export.codel_elsewhere import codel_in_ipfw, codel_notes
from vegasfluid.export.dctcp_elsewhere import freebsd_lines
from vegasfluid.export.dialects import Points, VegasParameters, vegas_parameters
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.flow_queues_elsewhere import flow_queue_notes, flow_queues_in_ipfw
from vegasfluid.export.pie_elsewhere import ipfw_words
from vegasfluid.export.quoting import comment
from vegasfluid.export.settings import FREEBSD
from vegasfluid.export.shell_scripts import (
    case_statement,
    config_files,
    control_commands,
    origin_comments,
)
from vegasfluid.export.step_elsewhere import step_in_ipfw
from vegasfluid.export.unsupported import require_built_in_values, require_discipline
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link
from vegasfluid.quantities import bits_per_second

__all__ = ["export_freebsd"]

QUEUES = (CoDel, DropTail, FqCoDel, Pie, Red, StepMarking)
"""Queue disciplines that FreeBSD has."""
CONTROLS = {
    "reno": ("newreno", ""),
    "newreno": ("newreno", ""),
    "cubic": ("cubic", "cc_cubic"),
    "dctcp": ("dctcp", "cc_dctcp"),
    "vegas": ("vegas", "cc_vegas"),
}
"""FreeBSD's name of each congestion control, and its module; empty where it is built in."""
ONE = 2**16
"""A weight or a probability of 1 in dummynet."""
LONGEST_DELAY = 10_000
"""Largest delay of dummynet, ms."""
SLOTS = 100
"""Default limit of a queue in dummynet, packets."""
WAIT_NOTE = (
    "Let p be the drop probability at the average queue. dummynet's RED drops the next packet 1 to "
    "1/p packets after the last drop, the model's RED (with wait) 1/p to 2/p packets after it. At "
    "the same average queue dummynet drops up to three times as many packets. For the same "
    "fraction of drops, set a third of max_p."
)
GAMMA_NOTE = "FreeBSD's Vegas has no gamma: its slow start ends above beta."
ADAPTIVE_NOTE = "dummynet's RED is not adaptive: max_p stays constant."
HARD_NOTE = "dummynet marks above the upper threshold, too, where the model drops (hard_drop)."
ECN_NOTE = (
    "With ecn, dummynet marks every packet while the average is above the lower threshold; the "
    "model marks some of them, with the probability of RED's curve."
)
BYTES_NOTE = "The queue is in packets, where the model counts bytes."
HEAD = """\
#!/bin/sh
# Settings for FreeBSD, written by vegasfluid. Each host and each router needs its own part:
#   sh tune.sh PART [INTERFACE]        (as root; without PART, it lists the parts)"""
PROCEDURES = """
need_interface() {
    [ -n "$INTERFACE" ] || { echo "usage: sh tune.sh $1 INTERFACE" >&2; exit 2; }
}
at_least() {
    [ "$(sysctl -n "$1")" -ge "$2" ] || sysctl "$1=$2"
}
vegas() {
    kldload -n cc_vegas
    sysctl net.inet.tcp.cc.vegas.alpha=1
    sysctl net.inet.tcp.cc.vegas.beta="$2"
    sysctl net.inet.tcp.cc.vegas.alpha="$1"
}"""
"""Shell functions of the script."""


def export_freebsd(model: Model, points: Points, seed: int) -> Exported:
    """Export a model to FreeBSD: the script `tune.sh` and files for sysctl.conf.

    Args:
        model: the model.
        points: operating points of the Vegas classes, by class; each class needs one.
        seed: not used, as nothing is random.

    Returns:
        Texts of the files, the Vegas parameters (whole packets), and notes on differences.

    Raises:
        InvalidInput: for a congestion control or parameters that FreeBSD does not support.
    """
    network = model.network.resolved()
    vegas = vegas_parameters(FREEBSD, network, points)
    notes = [GAMMA_NOTE] if vegas else []
    parts: dict[str, list[str]] = {}
    for number, (name, flows) in enumerate(network.flows.items(), start=1):
        parts[f"host-{number}"] = host_part(name, flows, vegas)
    for number, (name, link) in enumerate(network.links.items(), start=1):
        lines, link_notes = queue_part(number, name, link, network.packet_bytes)
        parts[f"queue-{number}"] = lines
        notes += link_notes
    unique = tuple(dict.fromkeys(notes))
    head = [HEAD, *header_comments(model, unique, vegas), "set -eu", 'INTERFACE="${2:-}"']
    script = "\n".join([*head, PROCEDURES, *case_statement(parts)]) + "\n"
    files = {"tune.sh": script, **config_files(vegas, "sysctl.conf", sysctl_file)}
    return Exported("freebsd", files, vegas, unique)


def host_part(name: str, flows: Flows, vegas: Mapping[str, VegasParameters]) -> list[str]:
    """Shell commands for a FreeBSD host that sends the flows of class `name`.

    Args:
        name: name of the class.
        flows: the class.
        vegas: alpha and beta for FreeBSD (packets), by Vegas class.

    Raises:
        InvalidInput: for parameters of a congestion control that FreeBSD fixes at other values.
    """
    lines, names = control_commands(name, flows, CONTROLS, "freebsd")
    if names is None:
        return lines
    require_built_in_values(name, flows.law, "FreeBSD")
    control, module = names
    if parameters := vegas.get(name):
        lines += comment(f"Vegas {parameters.origin}.")
        lines.append(f"vegas {parameters.values['alpha']} {parameters.values['beta']}")
    elif module:
        lines.append(f"kldload -n {module}")
        if isinstance(flows.law, Dctcp):
            lines += freebsd_lines(name, flows.law)
    return [*lines, f"sysctl net.inet.tcp.cc.algorithm={control}"]


def queue_part(
    number: int, name: str, link: Link, packet_bytes: int
) -> tuple[list[str], list[str]]:
    """Shell commands for a FreeBSD router that emulates a link with dummynet.

    Args:
        number: number of the dummynet pipe.
        name: name of the link.
        link: rate, delay, buffer and queue discipline.
        packet_bytes: size of a data packet, bytes.

    Returns:
        Lines of the script, and notes on differences from the model.

    Raises:
        InvalidInput: for a delay above 10 s, or a queue discipline that FreeBSD does not support.
    """
    rate, delay = round(bits_per_second(link.capacity, packet_bytes)), round(link.delay * 1e3)
    if delay > LONGEST_DELAY:
        given = f"{delay} ms"
        raise InvalidInput(f"links.{name}", "delay", f"at most {LONGEST_DELAY} ms", given)
    slots = int(link.buffer)
    lines = comment(
        f"The interface that sends into {name}; the same in the other direction. "
        f"delay: {link.delay * 1e3:g} ms in the model, {delay} ms in dummynet (in whole ms)."
    )
    queue, notes = f"queue {slots}", []
    law = require_discipline(name, link, "freebsd", QUEUES)
    if isinstance(law, CoDel):
        queue, notes = f"{queue} {codel_in_ipfw(law)}", codel_notes()
    elif isinstance(law, Pie):
        queue += f" {ipfw_words(law)}"
    elif isinstance(law, StepMarking):
        queue += f" {step_in_ipfw(law)}"
    elif isinstance(law, Red):
        rounding, options, notes = red_options(law)
        lines += comment(rounding)
        queue += f" {options}"
    lines += [
        'need_interface "$1"',
        "# A newly loaded ipfw blocks all packets, also of this session, without this setting:",
        "kldstat -q -m ipfw || kenv net.inet.ip.fw.default_to_accept=1",
        "kldload -n ipfw dummynet",
    ]
    if slots > SLOTS:
        lines.append(f"at_least net.inet.ip.dummynet.pipe_slot_limit {slots}")
    lines.append(f"ipfw pipe {number} config bw {rate}bit/s delay {delay} {queue}")
    entry = f"pipe {number}"
    if isinstance(law, FqCoDel):
        scheduler = flow_queues_in_ipfw(name, law, link.buffer, packet_bytes)
        lines.append(f"ipfw sched {number} config pipe {number} {scheduler}")
        lines.append(f"ipfw queue {number} config sched {number}")
        entry, notes = f"queue {number}", flow_queue_notes()
    lines.append(f'ipfw add {entry} ip from any to any out via "$INTERFACE"')
    return lines, notes


def red_options(red: Red) -> tuple[str, str, list[str]]:
    """RED's parameters as options of ipfw.

    Args:
        red: thresholds in packets, weight and probability.

    Returns:
        A sentence on the rounding to parts of 2^16, the options, and notes on differences.
    """
    asked = red.average_weight, red.max_drop
    weight, probability = (max(int(value * ONE), 1) / ONE for value in asked)
    low = round(red.min_thresh)
    high = max(round(red.max_thresh), low + 1)
    rounding = (
        f"w_q: {asked[0]:g} in the model, {weight:.5g} in dummynet; max_p: {asked[1]:g} in the "
        f"model, {probability:.5g} in dummynet (multiples of 2^-16)."
    )
    kind = "gred" if red.gentle else "red"
    marks = " ecn" if red.ecn else ""
    options = f"{kind} {as_decimal(weight)}/{low}/{high}/{as_decimal(probability)}{marks}"
    differences = {
        WAIT_NOTE: red.waits,
        ADAPTIVE_NOTE: red.adaptive,
        BYTES_NOTE: red.counts_bytes,
        ECN_NOTE: red.ecn,
        HARD_NOTE: red.ecn and red.hard_drop,
    }
    return rounding, options, [note for note, applies in differences.items() if applies]


def as_decimal(value: float) -> str:
    """Text of a multiple of 2^-16 with all its digits and without exponent."""
    return f"{value:.16f}".rstrip("0").rstrip(".")


def sysctl_file(vegas: Mapping[str, VegasParameters]) -> list[str]:
    """Lines for sysctl.conf that set alpha and beta of Vegas (packets).

    `vegas` has at least one class; all its classes have the same parameters.
    """
    values = next(iter(vegas.values())).values
    return [
        *origin_comments(vegas, "For /etc/sysctl.conf of hosts"),
        '# /boot/loader.conf needs the line: cc_vegas_load="YES"',
        "# beta first: alpha may not exceed it, and is 1 at the start.",
        f"net.inet.tcp.cc.vegas.beta={values['beta']}",
        f"net.inet.tcp.cc.vegas.alpha={values['alpha']}",
        "net.inet.tcp.cc.algorithm=vegas",
    ]

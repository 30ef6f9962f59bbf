"""A model as settings for Linux hosts and routers: a shell script, and modprobe.d files.

Linux has one set of Vegas parameters for a host, so each class is a host of its own here. They are
parameters of the module tcp_vegas, whole packets of cwnd (rtt - base) / base.

Sources:
    Linux, net/ipv4/tcp_vegas.c (alpha, beta, gamma: writable, 0644), Documentation/networking/
    ip-sysctl (tcp_congestion_control); modprobe.d(5); ip-route(8), congctl, initcwnd; tc(8),
    tc-red(8), tc-pfifo(8), tc-htb(8). RED: see `vegasfluid.export.red_in_tc`.
"""

from __future__ import annotations

from collections.abc import Mapping

from vegasfluid.aqm.red import Red
from vegasfluid.export.document import Exported, about
from vegasfluid.export.hosts import cases, config_files, control_of, whose
from vegasfluid.export.quoting import comment
from vegasfluid.export.red_in_tc import TcRed, rounded_red
from vegasfluid.export.refusals import red_of
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.spoken import Points, Spoken, in_words_of
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link
from vegasfluid.quantities import bits_per_second

__all__ = ["export_linux"]

CONTROLS = {
    "reno": ("reno", ""),
    "newreno": ("reno", ""),
    "cubic": ("cubic", "tcp_cubic"),
    "highspeed": ("highspeed", "tcp_highspeed"),
    "scalable": ("scalable", "tcp_scalable"),
    "vegas": ("vegas", "tcp_vegas"),
}
"""The kernel's name of a law, and its module."""
WAIT_NOTE = (
    "Linux's RED drops at 1 to 1/p packets from the last drop, p from the curve, the model's at 1/p"
    " to 2/p (wait): at the same average it drops up to three times as many. For the same share of"
    " drops write a third of the probability."
)
GENTLE_NOTE = (
    "Linux's RED is not gentle: above the upper threshold all packets are dropped or marked."
)
BYTES_NOTE = "Linux's RED counts bytes where the model counts packets."
HEAD = """\
#!/bin/sh
# Settings for Linux, written by vegasfluid. Each host and each router needs its own part:
#   sh tune.sh PART [DEVICE [shape]]        (as root; without PART the parts are listed)"""


def export_linux(model: Model, points: Points, seed: int) -> Exported:
    """A model as settings for Linux.

    Args:
        model: what to export.
        points: where the flows of Vegas classes are that speak another dialect.
        seed: not used, for nothing is random.

    Raises:
        InvalidInput: for laws that Linux does not have, or cannot follow.
    """
    network = model.network
    spoken = in_words_of(SYSTEMS["linux"], network, points)
    parts: dict[str, list[str]] = {}
    for number, (name, flows) in enumerate(network.flows.items(), start=1):
        parts[f"host-{number}"] = host_part(name, flows, spoken, network.packet_bytes)
    notes: list[str] = []
    for number, (name, link) in enumerate(network.links.items(), start=1):
        lines, of_link = queue_part(name, link, network.packet_bytes)
        parts[f"queue-{number}"] = lines
        notes += of_link
    kept = tuple(dict.fromkeys(notes))
    head = [HEAD, *about(model, kept, spoken), "set -eu", 'DEVICE="${2:-}"']
    script = "\n".join([*head, PROCEDURES, *cases(parts)]) + "\n"
    files = {"tune.sh": script, **config_files(spoken, "tcp_vegas.conf", modprobe_file)}
    return Exported("linux", files, spoken, kept)


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


def host_part(
    name: str, flows: Flows, spoken: Mapping[str, Spoken], packet_bytes: int
) -> list[str]:
    """Commands for a host that sends the flows of a class."""
    lines, found = control_of(name, flows, CONTROLS, "linux")
    if found is None:
        return lines
    control, module = found
    if of := spoken.get(name):
        lines += comment(f"Vegas {of.told}.")
        lines.append("vegas " + " ".join(str(value) for value in of.values.values()))
    elif module:
        lines.append(f"modprobe {module}")
    lines.append(f"sysctl -w net.ipv4.tcp_congestion_control={control}")
    lines += comment(f"Or for one way only: ip route change ROUTE congctl {control}")
    window = round(flows.max_window * packet_bytes)
    lines += comment(
        f"The model's windows end at {flows.max_window:g} packets ({window} bytes: see "
        f"net.ipv4.tcp_wmem and tcp_rmem) and begin with {flows.initial_window:g} "
        f"(Linux: 10; ip route ... initcwnd)."
    )
    return lines


def queue_part(name: str, link: Link, packet_bytes: int) -> tuple[list[str], list[str]]:
    """Commands for the device before a link, and notes about what differs."""
    rate = f"{round(bits_per_second(link.capacity, packet_bytes))}bit"
    lines = comment(
        f"The device that sends into {name}: {rate}/s, {link.delay * 1e3:g} ms one way; the same "
        f"in the other direction."
    )
    lines += ['need_device "$1"', f'root_of "${{3:-}}" {rate}']
    begin = 'tc qdisc replace dev "$DEVICE" $PARENT'
    law = red_of(name, link, "linux")
    if law is None:
        return [*lines, f"{begin} pfifo limit {int(link.buffer)}"], []
    red = rounded_red(law, link.buffer, packet_bytes)
    lines += [line for text in told_rounding(law, red) for line in comment(text)]
    switches = (" adaptive" if law.adaptive else "") + (" ecn" if law.ecn else "")
    switches += " harddrop" if law.ecn and law.hard_drop else ""
    lines.append(
        f"{begin} red limit {red.limit} min {red.low} max {red.high} "
        f"avpkt {red.average_packet} burst {red.burst} probability {red.probability:.6g} "
        f"bandwidth {rate}{switches}"
    )
    kinds = {WAIT_NOTE: law.wait, GENTLE_NOTE: law.gentle, BYTES_NOTE: not law.in_bytes}
    return lines, [note for note, holds in kinds.items() if holds]


def told_rounding(law: Red, red: TcRed) -> list[str]:
    """What becomes of the weight and of the probability, in words."""
    why = ""
    if red.wlog < red.wanted_wlog:
        why = f", for thresholds shifted by more than {red.wlog} bits do not fit into 32"
    return [
        f"weight: asked {law.weight:g}, tc gives {red.weight:.4g} "
        f"(2^-{red.wlog}, from min, avpkt and burst{why}).",
        f"probability: asked {law.max_drop:g}, Linux gives {red.held_probability:.4g} "
        f"({red.old_probability:.4g} before 3.3, where its step was a power of two).",
    ]


def modprobe_file(spoken: Mapping[str, Spoken]) -> list[str]:
    """A file for /etc/modprobe.d, for classes with the same parameters."""
    of = next(iter(spoken.values()))
    values = " ".join(f"{key}={value}" for key, value in of.values.items())
    return [
        "# Put it into /etc/modprobe.d/; it counts when tcp_vegas is loaded the next time.",
        *whose(spoken, "Hosts"),
        f"options tcp_vegas {values}",
    ]

"""The shell script of a test in network namespaces, and the plan of its flows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.export.codel_elsewhere import codel_notes
from vegasfluid.export.dialects import Points, VegasParameters, vegas_parameters
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.flow_queues_elsewhere import flow_queue_notes
from vegasfluid.export.linux import red_notes
from vegasfluid.export.netns.hosts import control_of, host_notes, require_one_vegas
from vegasfluid.export.netns.layout import Layout, layout_of
from vegasfluid.export.netns.namespaces import Namespace
from vegasfluid.export.pie_elsewhere import pie_notes
from vegasfluid.export.quoting import plain_text
from vegasfluid.export.settings import SYSTEMS
from vegasfluid.export.unsupported import require_no_jitter
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.network.hosts import HEADER_BYTES

__all__ = ["export_netns"]

SMALLEST_PACKET = 576
"""Smallest packet, bytes (Linux clips the segments of smaller ones)."""
QUEUE_SAMPLES = 2000
"""Number of times at which the test counts the waiting packets (chosen: every 0.1 s in 200 s)."""
DELAY_NOTE = "All delay is at the hosts, half of each base RTT before the links and half after."

HEAD = """\
#!/bin/sh
# A test of the Linux kernel on this machine, written by vegasfluid. Run it as root:
#   sh test.sh [SEED]
# It makes network namespaces, sends flows through them in real time, prints the mean goodput of a
# flow of each class (packets/s) and of each link the mean queue (packets) and the fraction of
# packets dropped, and removes the namespaces. traffic.py and plan.json must lie beside it."""

BEGIN = r"""set -u
here=$(cd "$(dirname "$0")" && pwd)
prefix=vegasfluid-$$-
child=
parameters=/sys/module/tcp_vegas/parameters

fail() {
    echo "test.sh: $*" >&2
    exit 2
}
load() {
    modprobe -q "$1" 2> /dev/null || true
}
remove() {
    [ -z "$child" ] || kill "$child" 2> /dev/null
    for name in $namespaces; do
        ip netns delete "$prefix$name" 2> /dev/null
    done
    [ -z "$alpha" ] || set_vegas "$alpha" "$beta" "$gamma"
}
set_vegas() {
    echo "$1" > "$parameters/alpha"
    echo "$2" > "$parameters/beta"
    echo "$3" > "$parameters/gamma"
}
control() {
    load "tcp_$1"
    grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control ||
        fail "this kernel has no congestion control $1 (module tcp_$1)"
}
# A socket's buffers do not limit its window; hosts forget what earlier connections have seen.
settings() {
    ip netns exec "$prefix$1" sh -e -s "$2" << 'END' || fail "the settings of $1"
cd /proc/sys/net/ipv4
echo 1 > ip_forward
echo 1 > tcp_no_metrics_save
echo "$1" > tcp_ecn
echo 4096 16777216 134217728 > tcp_rmem
echo 4096 262144 134217728 > tcp_wmem
END
}
ip_in() {
    ip -n "$prefix$1" -batch - || fail "ip cannot set up $1"
}
tc_in() {
    tc -n "$prefix$1" -batch - ||
        fail "tc cannot set up $1; the kernel needs sch_netem, sch_tbf and the queue disciplines"
}

[ "$(id -u)" = 0 ] || fail "it must be run as root"
for program in ip tc "${PYTHON:-python3}"; do
    command -v "$program" > /dev/null || fail "$program is not installed"
done
for module in veth sch_netem sch_tbf sch_red sch_pie sch_codel sch_fq sch_fq_codel; do
    load "$module"
done
"""
"""First lines of the script after its head: functions, and checks of what it needs."""

END = r"""
"${PYTHON:-python3}" -I -S "$here/traffic.py" "$here/plan.json" "$prefix" "${1:-@SEED@}" &
child=$!
wait "$child" || exit 1
child=
"""
"""Last lines of the script, which run the test."""


def export_netns(model: Model, points: Points, seed: int) -> Exported:
    """Export a model to a test of this machine's kernel: `test.sh`, `traffic.py` and `plan.json`.

    Args:
        model: the model.
        points: operating points of the Vegas classes with another dialect, by class.
        seed: seed of random start times if the script is run without one.

    Returns:
        Texts of the files, the Vegas parameters in them (whole packets), and notes on differences.

    Raises:
        InvalidInput: for a part of the model that a Linux kernel does not support.
    """
    network = model.network.resolved()
    require_static(network)
    vegas = vegas_parameters(SYSTEMS["linux"], network, points)
    require_one_vegas(vegas)
    controls = {name: control_of(name, flows)[0] for name, flows in network.flows.items()}
    layout = layout_of(network, controls)
    notes = notes_of(network)
    lines = [HEAD, *header_comments(model, notes, vegas), BEGIN, *set_up(network, layout)]
    lines += [f"control {control}" for control in dict.fromkeys(controls.values())]
    lines += vegas_lines(vegas)
    lines += [END.replace("@SEED@", str(seed))]
    for link in layout.links:
        lines.append(f'tc -s -n "${{prefix}}{link["namespace"]}" qdisc show dev {link["device"]}')
    program = (
        resources.files("vegasfluid.export.netns")
        .joinpath("traffic.py")
        .read_text(encoding="utf-8")
    )
    files = {
        "test.sh": "\n".join(lines) + "\n",
        "traffic.py": program,
        "plan.json": plan_text(model, layout),
    }
    return Exported("netns", files, vegas, notes)


def require_static(network: Network) -> None:
    """Raise InvalidInput for events, jitter, or packets smaller than `SMALLEST_PACKET` bytes."""
    if network.events:
        raise Unsupported(
            "events", "a change of delay", "the test cannot change a delay while it runs"
        )
    for name, link in network.links.items():
        require_no_jitter(name, link, "Linux")
    if network.packet_bytes < SMALLEST_PACKET:
        allowed = f"at least {SMALLEST_PACKET} for Linux"
        raise InvalidInput("Network", "packet_bytes", allowed, network.packet_bytes)


def notes_of(network: Network) -> tuple[str, ...]:
    """Differences between Linux in namespaces and the model, one sentence each."""
    notes = [DELAY_NOTE]
    for name, flows in network.flows.items():
        notes += host_notes(name, flows)
    for link in network.links.values():
        notes += red_notes(link.aqm) if isinstance(link.aqm, Red) else []
        notes += pie_notes(link.aqm) if isinstance(link.aqm, Pie) else []
        notes += codel_notes() if isinstance(link.aqm, CoDel) else []
        notes += flow_queue_notes() if link.aqm.flow_queues else []
    return tuple(dict.fromkeys(notes))


def set_up(network: Network, layout: Layout) -> list[str]:
    """Lines that make the namespaces, devices, addresses, routes and queue disciplines."""
    ecn = any(link.aqm.marks for link in network.links.values())
    names = " ".join(namespace.name for namespace in layout.namespaces)
    lines = [
        f'namespaces="{names}"',
        "alpha='' beta='' gamma=''",
        "trap remove EXIT",
        "trap 'exit 129' HUP",
        "trap 'exit 130' INT",
        "trap 'exit 143' TERM",
        "for name in $namespaces; do",
        '    ip netns add "$prefix$name" || fail "ip cannot make network namespaces"',
        "done",
        'ip -batch - <<END || fail "ip cannot make veth devices"',
        *(veth.command("${prefix}") for veth in layout.veths),
        "END",
        "for name in $namespaces; do",
        f'    settings "$name" {int(ecn)}',
        "done",
    ]
    for namespace in layout.namespaces:
        lines += batch("ip_in", namespace, namespace.ip) + batch("tc_in", namespace, namespace.tc)
    return lines


def batch(function: str, namespace: Namespace, commands: list[str]) -> list[str]:
    """Lines that give commands to a shell function for a namespace; none without commands."""
    return [f"{function} {namespace.name} <<END", *commands, "END"] if commands else []


def vegas_lines(vegas: Mapping[str, VegasParameters]) -> list[str]:
    """Lines that set the kernel's Vegas parameters (packets) after storing the present ones.

    The script restores these when it ends. `vegas` has the parameters of each Vegas class, which
    are all equal; without such classes there are no lines.
    """
    if not vegas:
        return []
    values = " ".join(str(value) for value in next(iter(vegas.values())).values.values())
    return [
        *(f'{key}=$(cat "$parameters/{key}")' for key in ("beta", "gamma", "alpha")),
        f'set_vegas {values} || fail "the parameters of tcp_vegas"',
    ]


def plan_text(model: Model, layout: Layout) -> str:
    """The JSON document that `traffic.py` reads: times (s), classes, flows and links."""
    names = [{**link, "name": plain_text(link["name"])} for link in layout.links]
    plan = {
        "duration": float(model.duration),
        "warmup": float(model.warmup),
        "segment_bytes": model.network.packet_bytes - HEADER_BYTES,
        "queue_samples": QUEUE_SAMPLES,
        "classes": [[plain_text(name), flows.count] for name, flows in model.network.flows.items()],
        "flows": layout.flows,
        "links": names,
    }
    return json.dumps(plan, indent=1) + "\n"

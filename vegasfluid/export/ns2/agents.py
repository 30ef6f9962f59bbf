"""Which agents of ns-2.35 run a law, and with which variables.

Sources:
    ns-2.35: tcl/lib/ns-default.tcl (variables and their defaults), tcp/tcp-linux.cc and
    tcp/linux/src/tcp_cubic.c (the kernel's CUBIC of 2.6.22, whose beta is a part of 1024 and whose
    bic_scale is 1024 C / 10), tcp_highspeed.c. (Its Scalable TCP
    grows by the larger of 1 % and Reno's step and cuts by 1/8 always: shares differ by a third from
    those of the model's law, which is Reno up to 16 packets; it is refused.)
    Variables were read from and set in Debian's ns2 2.35+dfsg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.export.quoting import tcl_number
from vegasfluid.export.refusals import require_plain, require_rfc_3649, stands_for
from vegasfluid.export.spoken import Spoken
from vegasfluid.network import Flows

__all__ = ["Agent", "agent_of", "receiver_of"]

RENO = {
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink"),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink"),
    "sack": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
}
"""By how losses are repaired."""
LINUX = ("Agent/TCP/Linux", "Agent/TCPSink/Sack1")
KERNEL_ONE = 1024
"""What the kernel's CUBIC writes for 1."""


class Agent(NamedTuple):
    """What sends and what receives.

    Args:
        sender: its OTcl class.
        receiver: its OTcl class.
        variables: of the sender, with their values.
        control: the kernel's name of the law, for `Agent/TCP/Linux`.
        parameters: of that law, as the kernel writes them.
    """

    sender: str
    receiver: str
    variables: Mapping[str, str] = {}
    control: str = ""
    parameters: Mapping[str, int] = {}


def agent_of(name: str, flows: Flows, spoken: Mapping[str, Spoken]) -> Agent:
    """The agents of a class.

    Raises:
        InvalidInput: for a law, or a switch of one, that ns-2 does not have.
    """
    agent = stands_for(SENDERS, name, flows, "ns-2")(name, flows.law, spoken)
    for_all = {
        "window_": flows.max_window,
        "windowInit_": flows.initial_window,
        "minrto_": flows.min_rto,
        "overhead_": flows.send_overhead,
        "ecn_": int(flows.ecn),
    }
    if agent.sender == "Agent/UDP":
        return agent
    told = {key: tcl_number(value) for key, value in for_all.items()}
    return agent._replace(variables={**told, **agent.variables})


def receiver_of(name: str, flows: Flows, agent: Agent) -> tuple[str, dict[str, str]]:
    """The receiver's OTcl class and its variables.

    Raises:
        InvalidInput: for quick ACKs, which ns-2 does not have.
    """
    variables = {"ts_echo_rfc1323_": "true"} if agent.control else {}
    if not flows.delayed_ack or agent.sender == "Agent/UDP":
        return agent.receiver, variables
    if flows.quick_acks:
        raise InvalidInput(f"flows.{name}", "quick_acks", "0 for ns-2", flows.quick_acks)
    return f"{agent.receiver}/DelAck", variables | {"interval_": tcl_number(flows.delayed_ack)}


def reno(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Agent:
    """Reno and NewReno."""
    require_plain(name, law, "ns-2", byte_counting=False, validates=False)
    return Agent(*RENO[law.recovery])


def vegas(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Agent:
    """ns-2's own Vegas."""
    values = {f"v_{key}_": tcl_number(value) for key, value in spoken[name].values.items()}
    return Agent("Agent/TCP/Vegas", "Agent/TCPSink", values)


def cubic(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Agent:
    """The kernel's CUBIC."""
    require_plain(name, law, "ns-2", recovery="sack")
    return linux(
        "cubic",
        beta=round(KERNEL_ONE * law.beta),
        bic_scale=round(KERNEL_ONE * law.C / 10),
        fast_convergence=int(law.fast_convergence),
        tcp_friendliness=int(law.friendly),
    )


def highspeed(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Agent:
    """The kernel's HighSpeed TCP, by the table of RFC 3649."""
    require_plain(name, law, "ns-2", recovery="sack")
    require_rfc_3649(name, law, "ns-2")
    return linux("highspeed")


def udp(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Agent:
    """No congestion control."""
    return Agent("Agent/UDP", "Agent/LossMonitor")


def linux(control: str, **parameters: int) -> Agent:
    """A law of the kernel."""
    return Agent(*LINUX, {"timestamps_": "true"}, control, parameters)


SENDERS: dict[str, Callable[[str, CongestionControl, Mapping[str, Spoken]], Agent]] = {
    "reno": reno,
    "newreno": reno,
    "vegas": vegas,
    "cubic": cubic,
    "highspeed": highspeed,
    "udp": udp,
}

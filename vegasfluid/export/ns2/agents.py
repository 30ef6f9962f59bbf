"""Agents of ns-2.35 for each congestion control, and their variables.

Sources:
    ns-2.35: tcl/lib/ns-default.tcl (variables and their defaults), tcp/tcp-linux.cc and
    tcp/linux/src/tcp_cubic.c (the kernel's CUBIC of 2.6.22: beta in units of 1/1024; C is 0.4, as
    bic_scale has no effect when a script sets it), tcp_highspeed.c. Its Scalable TCP is not
    exported: it has no legacy window and always cuts by 1/8, so that goodput shares differ by a
    third from the model's.
    Variables were tested with Debian's ns2 2.35+dfsg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput
from vegasfluid.export.dialects import VegasParameters
from vegasfluid.export.quoting import tcl_number
from vegasfluid.export.unsupported import (
    equivalent,
    require_computed_increase,
    require_rfc_3649,
    require_values,
)
from vegasfluid.network import Flows

__all__ = ["Agent", "agent_of", "receiver_of"]

RENO = {
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink"),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink"),
    "sack": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
}
"""Sender and receiver of Reno by recovery scheme."""
LINUX = ("Agent/TCP/Linux", "Agent/TCPSink/Sack1")
"""Sender and receiver of the kernel's congestion controls."""
CUBIC_C = 0.4
"""C of ns-2's CUBIC, packets/s^3; scripts cannot change it."""
CUBIC_NOTE = (
    "For {}, ns-2 has the CUBIC of Linux 2.6.22 (implementation ns2), the model has {}. Where a "
    "standard TCP would have the larger window, ns-2's CUBIC grows more slowly."
)
"""Note for a class whose CUBIC has another implementation in the model."""
KERNEL_ONE = 1024
"""The number 1 in the parameters of the kernel's CUBIC."""


class Agent(NamedTuple):
    """Sender and receiver of the flows of a class.

    Args:
        sender: OTcl class of the sender.
        receiver: OTcl class of the receiver.
        variables: values of the sender's OTcl variables, by name.
        control: the kernel's name of the congestion control, for `Agent/TCP/Linux`; else empty.
        parameters: parameters of `control` in the kernel's units, by name.
        notes: differences from the model, one sentence each.
    """

    sender: str
    receiver: str
    variables: Mapping[str, str] = {}
    control: str = ""
    parameters: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


def agent_of(name: str, flows: Flows, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2's sender and receiver classes for a flow class, with the sender's variables.

    Args:
        name: name of the class.
        flows: its congestion control and host settings, complete.
        parameters: alpha, beta and gamma for ns-2 (packets), by Vegas class.

    Returns:
        The agents, with host settings among the variables; UDP has no variables.

    Raises:
        InvalidInput: for a congestion control or parameters that ns-2 does not support.
    """
    agent = equivalent(SENDERS, name, flows, "ns-2")(name, flows.law, parameters)
    host = flows.settings
    variables = {
        "window_": flows.max_window,
        "windowInit_": host.initial_window,
        "minrto_": host.min_rto,
        "overhead_": flows.send_overhead,
        "ecn_": int(flows.ecn),
    }
    if agent.sender == "Agent/UDP":
        return agent
    values = {key: tcl_number(value) for key, value in variables.items()}
    return agent._replace(variables={**values, **agent.variables})


def receiver_of(name: str, flows: Flows, agent: Agent) -> tuple[str, dict[str, str]]:
    """OTcl class of the receiver of a flow class, and values of its variables by name.

    Args:
        name: name of the class, for the error message.
        flows: the class, complete.
        agent: its sender and receiver without delayed ACKs.

    Raises:
        InvalidInput: for quick ACKs, which ns-2 does not support.
    """
    variables, host = {"ts_echo_rfc1323_": "true"} if agent.control else {}, flows.settings
    if not host.delayed_ack or agent.sender == "Agent/UDP":
        return agent.receiver, variables
    if host.quick_acks:
        raise InvalidInput(f"flows.{name}", "quick_acks", "0 for ns-2", host.quick_acks)
    return f"{agent.receiver}/DelAck", variables | {"interval_": tcl_number(host.delayed_ack)}


def reno(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2 agents for Reno or NewReno (`law`) of class `name`, by its recovery scheme.

    Raises InvalidInput for byte counting or window validation.
    """
    require_values(name, law, "ns-2", byte_counting=False, validates=False)
    return Agent(*RENO[law.recovery])


def vegas(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2 agents for Vegas with alpha, beta and gamma (packets) of class `name` as variables."""
    values = {f"v_{key}_": tcl_number(value) for key, value in parameters[name].values.items()}
    return Agent("Agent/TCP/Vegas", "Agent/TCPSink", values)


def cubic(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2 agents for the Linux kernel's CUBIC with the parameters of `law` in the kernel's units.

    They have a note if the model has another implementation of CUBIC.

    Raises:
        InvalidInput: unless recovery is by SACK and C is 0.4, and for a `friendly_increase`.
    """
    require_values(name, law, "ns-2", recovery="sack", C=CUBIC_C)
    require_computed_increase(name, law, "ns-2")
    notes = (CUBIC_NOTE.format(name, law.implementation),) if law.implementation != "ns2" else ()
    agent = linux(
        "cubic",
        beta=round(KERNEL_ONE * law.beta),
        fast_convergence=int(law.fast_convergence),
        tcp_friendliness=int(law.friendly),
    )
    return agent._replace(notes=notes)


def highspeed(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2 agents for the Linux kernel's HighSpeed TCP, with the table of RFC 3649.

    Raises InvalidInput if `law` has other parameters, or recovers without SACK.
    """
    require_values(name, law, "ns-2", recovery="sack")
    require_rfc_3649(name, law, "ns-2")
    return linux("highspeed")


def udp(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Agent:
    """ns-2 agents for flows without congestion control; arguments are not used."""
    return Agent("Agent/UDP", "Agent/LossMonitor")


def linux(control: str, **parameters: int) -> Agent:
    """ns-2 agents that run the Linux kernel's congestion control `control`.

    `parameters` are its parameters, in the kernel's units.
    """
    return Agent(*LINUX, {"timestamps_": "true"}, control, parameters)


SENDERS: dict[str, Callable[[str, CongestionControl, Mapping[str, VegasParameters]], Agent]] = {
    "reno": reno,
    "newreno": reno,
    "vegas": vegas,
    "cubic": cubic,
    "highspeed": highspeed,
    "udp": udp,
}
"""Functions that return the agents, by the name of the congestion control."""

"""Congestion controls and traffic sources of ns-3, and their attributes.

Sources:
    ns-3.44, src/internet/model: tcp-vegas.cc, tcp-cubic.cc, tcp-scalable.cc (AIFactor is one over
    the increase, MDFactor the decrease), tcp-highspeed.cc (the table of RFC 3649, no attributes),
    tcp-linux-reno.cc; src/applications. Names as `ns3::TypeId` of the PyPI package lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vegasfluid.errors import InvalidInput
from vegasfluid.export.dctcp_elsewhere import ns3_attributes
from vegasfluid.export.dialects import VegasParameters
from vegasfluid.export.unsupported import equivalent, require_computed_increase, require_rfc_3649
from vegasfluid.network import Flows
from vegasfluid.quantities import bits_per_second
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff

__all__ = ["Sender", "application", "boolean", "sender_of"]

CUBIC_NOTE = (
    "For {}, ns-3 has its implementation of CUBIC (ns3), here without HyStart; the model has {}."
)
SACK_NOTE = "ns-3 recovers from losses with SACK; in the model, {} has the recovery {}."


class Sender(NamedTuple):
    """A congestion control of ns-3.

    Args:
        control: its ns-3 type; empty without congestion control.
        attributes: values of the type's attributes, by name.
        notes: differences from the model, one sentence each.
    """

    control: str
    attributes: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()


def boolean(value: bool) -> str:
    """The text of an ns-3 attribute for a truth value: `true` or `false`."""
    return "true" if value else "false"


def sender_of(name: str, flows: Flows, parameters: Mapping[str, VegasParameters]) -> Sender:
    """ns-3's congestion control of a class, its attributes, and notes on differences.

    Args:
        name: name of the class.
        flows: the class.
        parameters: alpha, beta and gamma for ns-3 (packets), by Vegas class.

    Raises:
        InvalidInput: for a congestion control or parameters that ns-3 does not support.
    """
    sender = equivalent(SENDERS, name, flows, "ns-3")(name, flows.law, parameters)
    recovery = getattr(flows.law, "recovery", "sack")
    notes = (SACK_NOTE.format(name, recovery),) if recovery != "sack" else ()
    return sender._replace(notes=(*sender.notes, *notes))


def reno(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """ns-3's type of Reno and NewReno, ns3::TcpLinuxReno, which has no attributes.

    None of the arguments is used.
    """
    return Sender("ns3::TcpLinuxReno")


def vegas(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """The type ns3::TcpVegas with alpha, beta and gamma (packets) of class `name`."""
    values = {key.capitalize(): str(value) for key, value in parameters[name].values.items()}
    return Sender("ns3::TcpVegas", values)


def cubic(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """The type ns3::TcpCubic with the parameters of `law`.

    It has HyStart only if the model's implementation is ns-3's; for another one it has a note.
    Raises Unsupported for a `friendly_increase`.
    """
    require_computed_increase(name, law, "ns-3")
    own = law.implementation == "ns3"
    values = {
        "C": repr(law.C),
        "Beta": repr(law.beta),
        "FastConvergence": boolean(law.fast_convergence),
        "TcpFriendliness": boolean(law.friendly),
        "HyStart": boolean(own),
    }
    notes = () if own else (CUBIC_NOTE.format(name, law.implementation),)
    return Sender("ns3::TcpCubic", values, notes)


def highspeed(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """The type ns3::TcpHighSpeed, which has the table of RFC 3649.

    Raises InvalidInput if `law` of class `name` has other parameters.
    """
    require_rfc_3649(name, law, "ns-3")
    return Sender("ns3::TcpHighSpeed")


def scalable(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """The type ns3::TcpScalable with increase and decrease of `law`.

    It has a note if the model has a legacy window, which ns-3 does not have.
    """
    values = {"AIFactor": str(max(round(1 / law.increase), 1)), "MDFactor": repr(law.decrease)}
    notes = ()
    if law.legacy_window:
        notes = (
            "Scalable TCP of ns-3 has no legacy window: it grows by the larger of its increase and "
            "Reno's, and every loss takes the same fraction of the window.",
        )
    return Sender("ns3::TcpScalable", values, notes)


def dctcp(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """ns-3's type of DCTCP, ns3::TcpDctcp, with the gain and initial alpha of `law`.

    `name` and `parameters` are not used.
    """
    return Sender("ns3::TcpDctcp", ns3_attributes(law))


def udp(name: str, law: Any, parameters: Mapping[str, VegasParameters]) -> Sender:
    """Sender with an empty type, as UDP has no congestion control.

    None of the arguments is used.
    """
    return Sender("")


SENDERS: dict[str, Callable[[str, Any, Mapping[str, VegasParameters]], Sender]] = {
    "reno": reno,
    "newreno": reno,
    "vegas": vegas,
    "cubic": cubic,
    "highspeed": highspeed,
    "scalable": scalable,
    "dctcp": dctcp,
    "udp": udp,
}
"""Functions that return the congestion control, by its name in the model."""


def application(name: str, flows: Flows, segment: int) -> tuple[str, dict[str, str]]:
    """Helper class of an ns-3 application for the traffic of a class, and its attributes.

    Rates are texts in bit/s, sizes in bytes.

    Args:
        name: name of the class.
        flows: the class.
        segment: packet size without headers, bytes; rates are those of such segments.

    Raises:
        InvalidInput: for a traffic source that ns-3 does not support.
    """
    kind, always = flows.traffic, "ns3::ConstantRandomVariable[Constant={}]"
    if isinstance(kind, Bulk):
        return "BulkSendHelper", {"MaxBytes": "0", "SendSize": str(segment)}
    if isinstance(kind, Cbr):
        on, off = always.format("1000000"), always.format("0")
    elif isinstance(kind, OnOff) and kind.mean_size is None:
        on, off = duration_variable(kind, kind.on), duration_variable(kind, kind.off)
    else:
        known = "bulk, cbr, or on_off without sessions, for ns-3"
        raise InvalidInput(f"flows.{name}", "traffic", known, kind.name)
    rate = f"{round(bits_per_second(kind.rate, segment))}bps"
    times = {"OnTime": on, "OffTime": off}
    return "OnOffHelper", {"DataRate": rate, "PacketSize": str(segment), **times}


def duration_variable(kind: OnOff, mean: float) -> str:
    """ns-3's random variable (text) for on or off times, s.

    Args:
        kind: traffic source, whose times are exponential or Pareto.
        mean: mean of the times, s.
    """
    if kind.times == "exponential":
        return f"ns3::ExponentialRandomVariable[Mean={mean!r}]"
    scale = mean * (kind.shape - 1) / kind.shape
    return f"ns3::ParetoRandomVariable[Scale={scale!r}|Shape={kind.shape!r}]"

"""Which attributes of ns-3 stand for a class's law and traffic.

Sources:
    ns-3.44, src/internet/model: tcp-vegas.cc, tcp-cubic.cc, tcp-scalable.cc (AIFactor is one over
    the step, MDFactor the cut), tcp-highspeed.cc (the table of RFC 3649, no attributes),
    tcp-linux-reno.cc; src/applications. Names as `ns3::TypeId` of the PyPI package lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vegasfluid.errors import InvalidInput
from vegasfluid.export.refusals import require_rfc_3649, stands_for
from vegasfluid.export.spoken import Spoken
from vegasfluid.network import Flows
from vegasfluid.quantities import bits_per_second
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff

__all__ = ["Sender", "application", "boolean", "sender_of"]

SACK_NOTE = "ns-3 repairs losses by selective reports, the model's {} otherwise ({})."


class Sender(NamedTuple):
    """A law in ns-3.

    Args:
        control: its type; empty without congestion control.
        attributes: of that type.
        notes: what differs.
    """

    control: str
    attributes: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()


def boolean(value: bool) -> str:
    """As ns-3 reads it."""
    return "true" if value else "false"


def sender_of(name: str, flows: Flows, spoken: Mapping[str, Spoken]) -> Sender:
    """The law of a class.

    Raises:
        InvalidInput: for a law, or a parameter of one, that ns-3 does not have.
    """
    sender = stands_for(SENDERS, name, flows, "ns-3")(name, flows.law, spoken)
    recovery = getattr(flows.law, "recovery", "sack")
    notes = (SACK_NOTE.format(name, recovery),) if recovery != "sack" else ()
    return sender._replace(notes=(*sender.notes, *notes))


def reno(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """Reno and NewReno."""
    return Sender("ns3::TcpLinuxReno")


def vegas(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """ns-3's own Vegas."""
    values = {key.capitalize(): str(value) for key, value in spoken[name].values.items()}
    return Sender("ns3::TcpVegas", values)


def cubic(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """CUBIC without HyStart, which the model has not."""
    values = {
        "C": repr(law.C),
        "Beta": repr(law.beta),
        "FastConvergence": boolean(law.fast_convergence),
        "TcpFriendliness": boolean(law.friendly),
        "HyStart": "false",
    }
    return Sender("ns3::TcpCubic", values)


def highspeed(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """HighSpeed TCP by the table of its RFC."""
    require_rfc_3649(name, law, "ns-3")
    return Sender("ns3::TcpHighSpeed")


def scalable(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """Scalable TCP."""
    values = {"AIFactor": str(max(round(1 / law.increase), 1)), "MDFactor": repr(law.decrease)}
    notes = ()
    if law.legacy_window:
        notes = (
            "Scalable TCP of ns-3 has no legacy window: it grows by the larger of its step and "
            "Reno's, and every loss takes the same share.",
        )
    return Sender("ns3::TcpScalable", values, notes)


def udp(name: str, law: Any, spoken: Mapping[str, Spoken]) -> Sender:
    """No congestion control."""
    return Sender("")


SENDERS: dict[str, Callable[[str, Any, Mapping[str, Spoken]], Sender]] = {
    "reno": reno,
    "newreno": reno,
    "vegas": vegas,
    "cubic": cubic,
    "highspeed": highspeed,
    "scalable": scalable,
    "udp": udp,
}


def application(name: str, flows: Flows, segment: int) -> tuple[str, dict[str, str]]:
    """The helper of an application and the attributes that it sets.

    Args:
        name: the class.
        flows: what it is.
        segment: bytes of a packet without headers; rates are those of such segments.

    Raises:
        InvalidInput: for traffic that ns-3 has no application for.
    """
    kind, always = flows.traffic, "ns3::ConstantRandomVariable[Constant={}]"
    if isinstance(kind, Bulk):
        return "BulkSendHelper", {"MaxBytes": "0", "SendSize": str(segment)}
    if isinstance(kind, Cbr):
        on, off = always.format("1000000"), always.format("0")
    elif isinstance(kind, OnOff) and kind.mean_size is None:
        on, off = lasting(kind, kind.on), lasting(kind, kind.off)
    else:
        known = "bulk, cbr, or on_off without sessions, for ns-3"
        raise InvalidInput(f"flows.{name}", "traffic", known, kind.name)
    rate = f"{round(bits_per_second(kind.rate, segment))}bps"
    times = {"OnTime": on, "OffTime": off}
    return "OnOffHelper", {"DataRate": rate, "PacketSize": str(segment), **times}


def lasting(kind: OnOff, mean: float) -> str:
    """The distribution of on or off times by its mean; of a Pareto one ns-3 takes the smallest."""
    if kind.times == "exponential":
        return f"ns3::ExponentialRandomVariable[Mean={mean!r}]"
    scale = mean * (kind.shape - 1) / kind.shape
    return f"ns3::ParetoRandomVariable[Scale={scale!r}|Shape={kind.shape!r}]"

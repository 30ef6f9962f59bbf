"""One number of a network, named as a model file names it: `vegas.alpha_packets`.

A name is an owner (a class of flows, or a link) and a key of it, or of its law, its queue or its
traffic: `bottleneck.capacity_mbps`, `bottleneck.max_drop`, `reno.base_rtt_ms`. The number may be
traced, so that what follows from it can be batched and differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.modelfile.edge import key_of
from vegasfluid.network import Network
from vegasfluid.quantities import BITS_PER_BYTE, BITS_PER_MEGABIT, Value, unit_of

__all__ = ["Parameter", "parameter_of"]

PARTS = {"flows": ("law", "traffic"), "links": ("aqm",)}
"""Which parts of an owner have keys of their own."""


@dataclass(frozen=True)
class Parameter:
    """A number of a network.

    Args:
        name: as it was given, such as `vegas.alpha_packets`.
        group: flows or links.
        owner: the class of flows, or the link.
        part: of the owner that has the number; None: the owner itself.
        field: the name inside.
        scale: how many inside units one unit of the name is.
    """

    name: str
    group: str
    owner: str
    part: str | None
    field: str
    scale: float

    def value(self, network: Network) -> Any:
        """The number in the unit of its name."""
        owner = getattr(network, self.group)[self.owner]
        holder = owner if self.part is None else getattr(owner, self.part)
        return getattr(holder, self.field) / self.scale

    def put(self, network: Network, value: Any) -> Network:
        """The network with another number, given in the unit of its name.

        Raises:
            InvalidInput: for a number that makes no sense there.
        """
        owners = dict(getattr(network, self.group))
        owner = owners[self.owner]
        inside = value * self.scale
        if self.part is None:
            owners[self.owner] = replace(owner, **{self.field: inside})
        else:
            part = replace(getattr(owner, self.part), **{self.field: inside})
            owners[self.owner] = replace(owner, **{self.part: part})
        return replace(network, **{self.group: owners})


def parameter_of(network: Network, name: str) -> Parameter:
    """The number that a name stands for.

    Raises:
        InvalidInput: for a name that no number has; with the nearest that one has.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> alpha = parameter_of(network, "vegas.alpha_packets")
    >>> alpha.value(network), alpha.value(alpha.put(network, 3.0))
    (2.0, 3.0)
    """
    known = parameters(network)
    short = name.removeprefix("flows.").removeprefix("links.")
    for middle in (".law.", ".aqm.", ".traffic."):
        short = short.replace(middle, ".")
    if short not in known:
        near = get_close_matches(short, known, n=1, cutoff=0.0)
        raise InvalidInput("parameter", "name", f"one of a number, such as {near[0]}", name)
    return replace(known[short], name=name)


def parameters(network: Network) -> dict[str, Parameter]:
    """All numbers of a network by name."""
    found: dict[str, Parameter] = {}
    for group, parts in PARTS.items():
        for owner, of in getattr(network, group).items():
            for part in (None, *parts):
                holder = of if part is None else getattr(of, part)
                for field, key, scale in numbers_of(holder, network.packet_bytes):
                    name = f"{owner}.{key}"
                    found.setdefault(name, Parameter(name, group, owner, part, field, scale))
    return found


def numbers_of(holder: Value, packet_bytes: int) -> list[tuple[str, str, float]]:
    """The numbers of a value: name inside, key at the edge, and inside units in one of the edge."""
    found = []
    for field in fields(holder):
        unit, value = unit_of(type(holder), field.name), getattr(holder, field.name)
        if unit is None or value is None or isinstance(value, tuple | Value):
            continue
        rate = BITS_PER_MEGABIT / (BITS_PER_BYTE * packet_bytes)
        scale = rate if unit.edge == "mbps" else unit.scale
        found.append((field.name, key_of(type(holder), field.name), scale))
    return found

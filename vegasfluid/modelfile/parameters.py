"""One number of a network, named as a model file names it: `vegas.alpha_packets`.

A name is an owner (a class of flows, or a link) and a key of it, or of its law, its queue or its
traffic: `bottleneck.capacity_mbps`, `bottleneck.max_drop`, `reno.base_rtt_ms`. The number may be
traced, so that what follows from it can be batched and differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.modelfile.units import key_of
from vegasfluid.network import Flows, Link, Network
from vegasfluid.quantities import BITS_PER_BYTE, BITS_PER_MEGABIT, Value, unit_of

__all__ = ["Parameter", "parameter_of", "with_values"]

OWNERS = {"flows": Flows, "links": Link}
PARTS = {"flows": ("law", "traffic"), "links": ("aqm",)}
"""Which parts of an owner have keys of their own."""
NEAR = 3
"""So many known names are shown beside an unknown one."""


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
        whole: whether only whole numbers make sense: then the nearest is put.
    """

    name: str
    group: str
    owner: str
    part: str | None
    field: str
    scale: float
    whole: bool = False

    @property
    def key(self) -> str:
        """The key of its owner's table that has it, or has the part that it is of."""
        if self.part is not None:
            return self.part
        return key_of(OWNERS[self.group], self.field)

    def value(self, network: Network) -> Any:
        """The number in the unit of its name."""
        owner = getattr(network, self.group)[self.owner]
        holder = owner if self.part is None else getattr(owner, self.part)
        return getattr(holder, self.field) / self.scale

    def with_value(self, network: Network, value: Any) -> Network:
        """The network with another number, given in the unit of its name.

        Raises:
            InvalidInput: for a number that makes no sense there.
        """
        return _placed(network, {self: value})

    def inside(self, value: Any) -> Any:
        """A number in the unit of its name as the network has it."""
        return round(value) if self.whole else value * self.scale


def with_values(network: Network, values: Mapping[str, Any]) -> Network:
    """The network with other numbers, which are checked together and not one after another.

    Args:
        network: of which some numbers are to change.
        values: the numbers by name, in the units of the names.

    Raises:
        InvalidInput: for a name that no number has, or numbers that make no sense.

    >>> from vegasfluid import Flows, Link, Network, Reno
    >>> network = Network(Link(1000.0, 100), {"reno": Flows(2, Reno(), base_rtt=0.04)})
    >>> with_values(network, {"reno.count": 3, "bottleneck.buffer_packets": 50}).flows["reno"].count
    3
    """
    return _placed(network, {parameter_of(network, name): of for name, of in values.items()})


def _placed(network: Network, values: Mapping[Parameter, Any]) -> Network:
    """All numbers of a part are put at once: alpha may pass the old beta where beta moves, too."""
    changes: dict[tuple[str, str], dict[str | None, dict[str, Any]]] = {}
    for of, value in values.items():
        parts = changes.setdefault((of.group, of.owner), {})
        parts.setdefault(of.part, {})[of.field] = of.inside(value)
    owners = {group: dict(getattr(network, group)) for group in PARTS}
    for (group, name), parts in changes.items():
        owner = owners[group][name]
        own = parts.pop(None, {})
        new = {part: replace(getattr(owner, part), **of) for part, of in parts.items() if part}
        owners[group][name] = replace(owner, **own, **new)
    return replace(network, **owners)


def parameter_of(network: Network, name: str) -> Parameter:
    """The number that a name stands for.

    Raises:
        InvalidInput: for a name that no number has; with the nearest that one has.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> alpha = parameter_of(network, "vegas.alpha_packets")
    >>> alpha.value(network), alpha.value(alpha.with_value(network, 3.0))
    (2.0, 3.0)
    """
    known = parameters(network)
    short = name if name in known else _short(name)
    if short not in known:
        near = ", ".join(get_close_matches(short, known, n=NEAR, cutoff=0.0))
        raise InvalidInput("parameter", "name", f"one of a number, such as {near}", name)
    return replace(known[short], name=name)


def _short(name: str) -> str:
    """The name without what a model file has around it."""
    short = name.removeprefix("flows.").removeprefix("links.")
    for middle in (".law.", ".aqm.", ".traffic."):
        short = short.replace(middle, ".")
    return short


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
    for owner in network.flows:
        name = f"{owner}.count"
        found[name] = Parameter(name, "flows", owner, None, "count", 1, whole=True)
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

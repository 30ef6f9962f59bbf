"""Numeric parameters of a network by the names of model files, such as `vegas.alpha_packets`.

A name is the owner (a flow class or a link) and a key of the owner, its congestion control, queue
discipline or traffic source: `bottleneck.capacity_mbps`, `bottleneck.max_drop`, `reno.base_rtt_ms`.
Values may be JAX tracers, so that results can be batched and differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.modelfile.units import key_of
from vegasfluid.network import Flows, Link, Network
from vegasfluid.quantities import BITS_PER_BYTE, BITS_PER_MEGABIT, Unit, Value, unit_of

__all__ = ["Parameter", "named", "parameter_of", "parameters", "with_parameters", "with_values"]

OWNERS = {"flows": Flows, "links": Link}
"""Value class of each kind of owner."""
PARTS = {"flows": ("law", "traffic"), "links": ("aqm",)}
"""Parts of an owner that have their own keys."""
SUGGESTIONS = 3
"""Number of similar names suggested for an unknown one."""


@dataclass(frozen=True)
class Parameter:
    """A numeric parameter of a network, under the name and in the unit of model files.

    Args:
        name: name as given, such as `vegas.alpha_packets`.
        group: `flows` or `links`.
        owner: name of the flow class or link.
        part: part of the owner that has the parameter, such as `law`; None: the owner itself.
        field: name of the field in the value class.
        scale: internal units per unit of the name, such as 0.001 (s per ms).
        whole: whether only whole numbers are valid; other values are rounded.
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
        """Key in the owner's table of a model file.

        It is the key of the parameter (`capacity_mbps`), or of the part that has it (`law`).
        """
        if self.part is not None:
            return self.part
        return key_of(OWNERS[self.group], self.field)

    def value(self, network: Network) -> Any:
        """Value of the parameter in `network`, in the unit that ends its name.

        Where the network leaves a value to a host, it is the host's value; a value that follows
        from other parameters (CUBIC's `friendly_increase`) is computed from them.
        """
        owner = getattr(network.resolved(), self.group)[self.owner]
        holder = owner if self.part is None else getattr(owner, self.part)
        return holder.value_in_use(self.field) / self.scale

    def with_value(self, network: Network, value: Any) -> Network:
        """A network in which the parameter has another value, in the unit that ends its name.

        Raises:
            InvalidInput: if the value is out of range.
        """
        return with_parameters(network, {self: value})

    def to_internal(self, value: Any) -> Any:
        """Convert a value from the unit of the name to internal units (s, packets/s).

        Whole-number parameters are rounded.
        """
        return round(value) if self.whole else value * self.scale


def with_values(network: Network, values: Mapping[str, Any]) -> Network:
    """A network with other values of parameters, which are validated together.

    Args:
        network: network to change.
        values: values by parameter name, in the units of the names.

    Raises:
        InvalidInput: for an unknown name, or values out of range.

    >>> from vegasfluid import Flows, Link, Network, Reno
    >>> network = Network(Link(1000.0, 100), {"reno": Flows(2, Reno(), base_rtt=0.04)})
    >>> with_values(network, {"reno.count": 3, "bottleneck.buffer_packets": 50}).flows["reno"].count
    3
    """
    known = parameters(network)
    return with_parameters(network, {named(known, name): value for name, value in values.items()})


def with_parameters(network: Network, values: Mapping[Parameter, Any]) -> Network:
    """A network with all values (in the units of their names) set at once.

    So alpha may exceed the old beta if beta changes, too.
    """
    changes: dict[tuple[str, str], dict[str | None, dict[str, Any]]] = {}
    for parameter, value in values.items():
        parts = changes.setdefault((parameter.group, parameter.owner), {})
        parts.setdefault(parameter.part, {})[parameter.field] = parameter.to_internal(value)
    owners = {group: dict(getattr(network, group)) for group in PARTS}
    for (group, name), parts in changes.items():
        owner = owners[group][name]
        owner_fields = parts.pop(None, {})
        new = {
            part: replace(getattr(owner, part), **values) for part, values in parts.items() if part
        }
        owners[group][name] = replace(owner, **owner_fields, **new)
    return replace(network, **owners)


def parameter_of(network: Network, name: str) -> Parameter:
    """The numeric parameter of a network that has a name such as `vegas.alpha_packets`.

    Raises:
        InvalidInput: for an unknown name; the message suggests similar ones.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> alpha = parameter_of(network, "vegas.alpha_packets")
    >>> alpha.value(network), alpha.value(alpha.with_value(network, 3.0))
    (2.0, 3.0)
    """
    return named(parameters(network), name)


def named(known: Mapping[str, Parameter], name: str) -> Parameter:
    """The parameter of a name among the `known` ones of a network (`parameters`).

    Raises:
        InvalidInput: for an unknown name; the message suggests similar ones.
    """
    short = name if name in known else _short(name)
    if short not in known:
        similar = ", ".join(get_close_matches(short, known, n=SUGGESTIONS, cutoff=0.0))
        raise InvalidInput("model", "parameter", f"a known one, such as {similar}", name)
    return replace(known[short], name=name)


def _short(name: str) -> str:
    """A parameter's name without the table names that a model file has around it.

    `flows.vegas.law.alpha_packets` becomes `vegas.alpha_packets`.
    """
    short = name.removeprefix("flows.").removeprefix("links.")
    for middle in (".law.", ".aqm.", ".traffic."):
        short = short.replace(middle, ".")
    return short


def parameters(network: Network) -> dict[str, Parameter]:
    """All numeric parameters of a network by name, such as `bottleneck.buffer_packets`.

    Fields without a unit, with a list, or None where also no host sets them, are not included, but
    the number of flows (`reno.count`) is.
    """
    known: dict[str, Parameter] = {}
    for group, parts in PARTS.items():
        for owner, owner_value in getattr(network.resolved(), group).items():
            for part in (None, *parts):
                holder = owner_value if part is None else getattr(owner_value, part)
                for field, key, scale in numbers_of(holder, network.packet_bytes):
                    name = f"{owner}.{key}"
                    known.setdefault(name, Parameter(name, group, owner, part, field, scale))
    for owner in network.flows:
        name = f"{owner}.count"
        known[name] = Parameter(name, "flows", owner, None, "count", 1, whole=True)
    return known


def numbers_of(holder: Value, packet_bytes: int) -> list[tuple[str, str, float]]:
    """Numeric fields of a link, class, congestion control, queue discipline or source.

    Args:
        holder: the object with the fields.
        packet_bytes: packet size that converts rates, bytes.

    Returns:
        For each field its name, its key in a model file, and internal units per unit of the key
        (0.001 for `_ms`). Fields without a unit, or whose value in use is None or a list, are left
        out.
    """
    rate, numbers = BITS_PER_MEGABIT / (BITS_PER_BYTE * packet_bytes), []
    for name, unit in fields_with_units(type(holder)):
        value = holder.value_in_use(name)
        if value is not None and not isinstance(value, tuple | Value):
            scale = rate if unit.edge == "mbps" else unit.scale
            numbers.append((name, key_of(type(holder), name), scale))
    return numbers


@cache
def fields_with_units(kind: type) -> tuple[tuple[str, Unit], ...]:
    """Names of the fields of a value class that have a unit, with their units."""
    units = ((field.name, unit_of(kind, field.name)) for field in fields(kind))
    return tuple((name, unit) for name, unit in units if unit is not None)

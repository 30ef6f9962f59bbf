"""Hosts of a model in a system that does not have all of their features.

A value that the model gives itself must be supported; one that it leaves to the host becomes the
system's, with a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from vegasfluid.network import Flows, Network

__all__ = ["Substitute", "fit_hosts"]


class Substitute(NamedTuple):
    """The only value of a host's setting that a system has.

    Args:
        value: the value, in internal units.
        note: what differs from a host with another value, a sentence with `{}` for the class.
        replaces: values of a host that it replaces; None: all other values.
    """

    value: Any
    note: str
    replaces: tuple[Any, ...] | None = None

    def stands_for(self, wanted: Any) -> bool:
        """Whether it replaces `wanted`, the value that a host has; False if that is the same."""
        return wanted != self.value and (self.replaces is None or wanted in self.replaces)


def fit_hosts(
    network: Network, substitutes: Mapping[str, Substitute]
) -> tuple[Network, tuple[str, ...]]:
    """Replace values of hosts that a system does not have by the system's own.

    Only values that a class leaves to its host are replaced, not those that it has itself.

    Args:
        network: the model's network.
        substitutes: the system's values, by fields of `vegasfluid.network.Host`.

    Returns:
        The network, in which every class has a host and all of its values, and notes on
        differences, one sentence each; none on classes without congestion control.
    """
    fitted, notes, complete = {}, [], network.resolved()
    for name, flows in complete.flows.items():
        given = network.flows[name].own_settings
        wanted = flows.settings
        changes = {
            key: substitute
            for key, substitute in substitutes.items()
            if key not in given and substitute.stands_for(getattr(wanted, key))
        }
        fitted[name] = with_settings(flows, {key: one.value for key, one in changes.items()})
        if flows.law.rules.reliable:
            notes += [one.note.format(name) for one in changes.values() if one.note]
    return replace(complete, flows=fitted), tuple(notes)


def with_settings(flows: Flows, values: Mapping[str, Any]) -> Flows:
    """Copy of a class with given values of its fields or its congestion control's parameters.

    Args:
        flows: the class.
        values: values by field of the class or its congestion control; other names are ignored.
    """
    law, own = (
        {entry.name: values[entry.name] for entry in fields(owner) if entry.name in values}
        for owner in (flows.law, flows)
    )
    return replace(flows, law=replace(flows.law, **law), **own)

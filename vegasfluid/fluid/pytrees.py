"""Registration of value classes as JAX pytrees: quantities are leaves, other fields are static.

Congestion controls, queue disciplines and traffic sources are frozen dataclasses without JAX. Once
registered, they can be passed to compiled functions, batched and differentiated.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import jax

from vegasfluid.aqm import queue_disciplines
from vegasfluid.congestion import congestion_controls
from vegasfluid.network import Network
from vegasfluid.quantities import Value, unit_of
from vegasfluid.traffic import traffic_sources

__all__ = ["register_values"]


@cache
def _register(value_class: type[Value]) -> None:
    """Register a value class as a JAX pytree: fields with a unit are leaves, others static."""
    names = [field.name for field in fields(value_class)]
    leaves = [name for name in names if unit_of(value_class, name)]
    static = [name for name in names if name not in leaves]
    jax.tree_util.register_dataclass(value_class, data_fields=leaves, meta_fields=static)


def register_values(network: Network | None = None) -> None:
    """Register all congestion controls, queue disciplines and traffic sources as JAX pytrees.

    Their quantities become leaves, other fields static. Repeated calls have no effect.

    Args:
        network: its classes are registered too, also those from outside this package.
    """
    registries = (congestion_controls(), queue_disciplines(), traffic_sources())
    classes: list[type[Value]] = [each for registry in registries for each in registry.values()]
    if network is not None:
        classes += [type(link.aqm) for link in network.links.values()]
        for flows in network.flows.values():
            classes += [type(flows.law), type(flows.traffic)]
    for value_class in classes:
        _register(value_class)

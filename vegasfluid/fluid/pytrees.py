"""Values as JAX sees them: quantities are leaves, everything else is structure.

Laws and queues are plain frozen dataclasses that know nothing of JAX. Registered here, they can be
handed to compiled functions, batched over their parameters and differentiated in them.
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
def _register(kind: type[Value]) -> None:
    names = [field.name for field in fields(kind)]
    leaves = [name for name in names if unit_of(kind, name)]
    structure = [name for name in names if name not in leaves]
    jax.tree_util.register_dataclass(kind, data_fields=leaves, meta_fields=structure)


def register_values(network: Network | None = None) -> None:
    """Make every law and every kind of traffic a JAX pytree; more than once does no harm.

    Args:
        network: may have laws and traffic of kinds that are not part of this package.
    """
    registries = (congestion_controls(), queue_disciplines(), traffic_sources())
    kinds: list[type[Value]] = [kind for registry in registries for kind in registry.values()]
    if network is not None:
        kinds += [type(link.aqm) for link in network.links.values()]
        for flows in network.flows.values():
            kinds += [type(flows.law), type(flows.traffic)]
    for kind in kinds:
        _register(kind)

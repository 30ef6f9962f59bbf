"""vegasfluid: fair TCP Vegas, by fluid models that a packet simulator judges.

The public names, loaded on first use, so that `import vegasfluid` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vegasfluid import metrics, modelfile, plot
    from vegasfluid.aqm.droptail import DropTail
    from vegasfluid.aqm.red import Red
    from vegasfluid.congestion.reno import Reno
    from vegasfluid.congestion.vegas import Vegas
    from vegasfluid.errors import InvalidInput, NotServed, SolveFailed, VegasfluidError
    from vegasfluid.fluid import simulate_fluid
    from vegasfluid.model import Model
    from vegasfluid.network import Event, Flows, Link, Network, Spread
    from vegasfluid.packet import simulate_packets
    from vegasfluid.quantities import mbps, ms
    from vegasfluid.tuning import recommend

_HOMES = {
    "DropTail": "aqm.droptail",
    "Event": "network",
    "Flows": "network",
    "InvalidInput": "errors",
    "Link": "network",
    "Model": "model",
    "Network": "network",
    "NotServed": "errors",
    "Red": "aqm.red",
    "Reno": "congestion.reno",
    "SolveFailed": "errors",
    "Spread": "network",
    "Vegas": "congestion.vegas",
    "VegasfluidError": "errors",
    "mbps": "quantities",
    "ms": "quantities",
    "recommend": "tuning",
    "simulate_fluid": "fluid",
    "simulate_packets": "packet",
}
_MODULES = ("metrics", "modelfile", "plot")

__all__ = [
    "DropTail",
    "Event",
    "Flows",
    "InvalidInput",
    "Link",
    "Model",
    "Network",
    "NotServed",
    "Red",
    "Reno",
    "SolveFailed",
    "Spread",
    "Vegas",
    "VegasfluidError",
    "mbps",
    "metrics",
    "modelfile",
    "ms",
    "plot",
    "recommend",
    "simulate_fluid",
    "simulate_packets",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"vegasfluid.{name}")
    if name in _HOMES:
        return getattr(import_module(f"vegasfluid.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vegasfluid' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""vegasfluid: fair TCP Vegas, by fluid models that a packet simulator judges.

The public names, loaded on first use, so that `import vegasfluid` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vegasfluid import analysis, export, metrics, modelfile, plot
    from vegasfluid.analysis import analyse, equilibrium, stability
    from vegasfluid.aqm.droptail import DropTail
    from vegasfluid.aqm.red import Red
    from vegasfluid.congestion.cubic import Cubic
    from vegasfluid.congestion.highspeed import HighSpeed
    from vegasfluid.congestion.newreno import NewReno
    from vegasfluid.congestion.reno import Reno
    from vegasfluid.congestion.scalable import Scalable
    from vegasfluid.congestion.unresponsive import Unresponsive
    from vegasfluid.congestion.vegas import Vegas
    from vegasfluid.congestion.vegas_rerouting import VegasRerouting
    from vegasfluid.disagreement import disagreements
    from vegasfluid.errors import InvalidInput, SolveFailed, VegasfluidError
    from vegasfluid.fluid import FluidOptions, simulate_density, simulate_fluid
    from vegasfluid.model import Model
    from vegasfluid.modelfile import read_model
    from vegasfluid.network import Event, Flows, Link, Network, UniformStart
    from vegasfluid.packet import simulate_packets, simulate_seeds
    from vegasfluid.quantities import mbps, ms
    from vegasfluid.traffic.bulk import Bulk
    from vegasfluid.traffic.cbr import Cbr
    from vegasfluid.traffic.on_off import OnOff
    from vegasfluid.traffic.poisson import Poisson
    from vegasfluid.traffic.sessions import Sessions
    from vegasfluid.tuning import recommend

_HOMES = {
    "Bulk": "traffic.bulk",
    "Cbr": "traffic.cbr",
    "Cubic": "congestion.cubic",
    "DropTail": "aqm.droptail",
    "Event": "network",
    "Flows": "network",
    "FluidOptions": "fluid",
    "HighSpeed": "congestion.highspeed",
    "InvalidInput": "errors",
    "Link": "network",
    "Model": "model",
    "Network": "network",
    "NewReno": "congestion.newreno",
    "OnOff": "traffic.on_off",
    "Poisson": "traffic.poisson",
    "Red": "aqm.red",
    "Reno": "congestion.reno",
    "Scalable": "congestion.scalable",
    "Sessions": "traffic.sessions",
    "SolveFailed": "errors",
    "UniformStart": "network",
    "Unresponsive": "congestion.unresponsive",
    "Vegas": "congestion.vegas",
    "VegasRerouting": "congestion.vegas_rerouting",
    "VegasfluidError": "errors",
    "analyse": "analysis",
    "disagreements": "disagreement",
    "equilibrium": "analysis",
    "mbps": "quantities",
    "ms": "quantities",
    "read_model": "modelfile",
    "recommend": "tuning",
    "simulate_density": "fluid",
    "simulate_fluid": "fluid",
    "simulate_packets": "packet",
    "simulate_seeds": "packet",
    "stability": "analysis",
}
_MODULES = ("analysis", "export", "metrics", "modelfile", "plot")

__all__ = [
    "Bulk",
    "Cbr",
    "Cubic",
    "DropTail",
    "Event",
    "Flows",
    "FluidOptions",
    "HighSpeed",
    "InvalidInput",
    "Link",
    "Model",
    "Network",
    "NewReno",
    "OnOff",
    "Poisson",
    "Red",
    "Reno",
    "Scalable",
    "Sessions",
    "SolveFailed",
    "UniformStart",
    "Unresponsive",
    "Vegas",
    "VegasRerouting",
    "VegasfluidError",
    "analyse",
    "analysis",
    "disagreements",
    "equilibrium",
    "export",
    "mbps",
    "metrics",
    "modelfile",
    "ms",
    "plot",
    "read_model",
    "recommend",
    "simulate_density",
    "simulate_fluid",
    "simulate_packets",
    "simulate_seeds",
    "stability",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("vegasfluid.version").package_version()
    if name in _MODULES:
        return import_module(f"vegasfluid.{name}")
    if name in _HOMES:
        return getattr(import_module(f"vegasfluid.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vegasfluid' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

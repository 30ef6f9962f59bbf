"""What theory says of a network: rest, closed forms, stability, proofs; and runs beside it.

Loaded on first use: closed forms, certificates and the literature's laws do without JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vegasfluid.analysis import charts, closed_forms, literature, proofs
    from vegasfluid.analysis.equilibria.all_equilibria import Equilibria, all_equilibria
    from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
    from vegasfluid.analysis.equilibria.fair_alpha import fair_alpha
    from vegasfluid.analysis.linear_stability.linearisation import linearise
    from vegasfluid.analysis.linear_stability.stability import Stability, critical_value, stability
    from vegasfluid.analysis.linear_stability.stability_map import StabilityMap, stability_map
    from vegasfluid.analysis.proofs import certify_alpha, verify
    from vegasfluid.analysis.report import Analysis, analyse

_HOMES = {
    "THEORY": "equilibria.equilibrium",
    "Analysis": "report",
    "Equilibria": "equilibria.all_equilibria",
    "Equilibrium": "equilibria.equilibrium",
    "Stability": "linear_stability.stability",
    "StabilityMap": "linear_stability.stability_map",
    "all_equilibria": "equilibria.all_equilibria",
    "analyse": "report",
    "certify_alpha": "proofs",
    "critical_value": "linear_stability.stability",
    "equilibrium": "equilibria.equilibrium",
    "fair_alpha": "equilibria.fair_alpha",
    "linearise": "linear_stability.linearisation",
    "stability": "linear_stability.stability",
    "stability_map": "linear_stability.stability_map",
    "verify": "proofs",
}
_MODULES = ("charts", "closed_forms", "literature", "proofs")

__all__ = [
    "THEORY",
    "Analysis",
    "Equilibria",
    "Equilibrium",
    "Stability",
    "StabilityMap",
    "all_equilibria",
    "analyse",
    "certify_alpha",
    "charts",
    "closed_forms",
    "critical_value",
    "equilibrium",
    "fair_alpha",
    "linearise",
    "literature",
    "proofs",
    "stability",
    "stability_map",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"vegasfluid.analysis.{name}")
    if name in _HOMES:
        return getattr(import_module(f"vegasfluid.analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vegasfluid.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""What can be said of a network without running it: rest, closed forms, stability, proofs.

Loaded on first use: closed forms, certificates and the literature's laws do without JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vegasfluid.analysis import closed_forms
    from vegasfluid.analysis.equilibria import THEORY, Equilibrium, equilibrium
    from vegasfluid.analysis.linearisation import linearise
    from vegasfluid.analysis.verdicts import Stability, critical_value, stability

_HOMES = {
    "THEORY": "equilibria",
    "Equilibrium": "equilibria",
    "Stability": "verdicts",
    "critical_value": "verdicts",
    "equilibrium": "equilibria",
    "linearise": "linearisation",
    "stability": "verdicts",
}
_MODULES = ("closed_forms",)

__all__ = [
    "THEORY",
    "Equilibrium",
    "Stability",
    "closed_forms",
    "critical_value",
    "equilibrium",
    "linearise",
    "stability",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"vegasfluid.analysis.{name}")
    if name in _HOMES:
        return getattr(import_module(f"vegasfluid.analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vegasfluid.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

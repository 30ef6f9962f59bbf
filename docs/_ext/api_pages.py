"""A page for every public module, with every name of its `__all__`, from docstrings and types.

A name that several modules offer is told once, in the first of `MODULES` that has it; the others
point there.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from plain_types import NAMES
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

__all__ = ["MODULES", "page_of", "pages", "setup"]

MODULES = (
    "vegasfluid",
    "vegasfluid.fluid",
    "vegasfluid.packet",
    "vegasfluid.tuning",
    "vegasfluid.analysis",
    "vegasfluid.analysis.closed_forms",
    "vegasfluid.analysis.charts",
    "vegasfluid.analysis.literature",
    "vegasfluid.analysis.proofs",
    "vegasfluid.plot",
    "vegasfluid.sweep",
    "vegasfluid.export",
    "vegasfluid.metrics",
    "vegasfluid.burstiness",
    "vegasfluid.dde",
    "vegasfluid.lanes",
    "vegasfluid.modelfile",
    "vegasfluid.model",
    "vegasfluid.network",
    "vegasfluid.congestion",
    "vegasfluid.congestion.base",
    "vegasfluid.congestion.packet_rules",
    "vegasfluid.congestion.vegas",
    "vegasfluid.aqm",
    "vegasfluid.aqm.base",
    "vegasfluid.traffic",
    "vegasfluid.traffic.base",
    "vegasfluid.smooth",
    "vegasfluid.quantities",
    "vegasfluid.discovery",
    "vegasfluid.errors",
)
"""In the order of the pages."""

FURTHER = (
    "vegasfluid.analysis.applicable_formulas.Applied",
    "vegasfluid.analysis.proofs.problem.FlowGroup",
    "vegasfluid.analysis.proofs.theorem.Proof",
    "vegasfluid.analysis.equilibria.corners.Solved",
    "vegasfluid.analysis.equilibria.equilibrium.Quantities",
    "vegasfluid.analysis.proofs.branch_and_prune.IsolatedZeros",
    "vegasfluid.analysis.equilibria.fair_alpha.Fair",
    "vegasfluid.analysis.linear_stability.linearisation.FeedbackLoop",
    "vegasfluid.analysis.report.Nearest",
    "vegasfluid.analysis.report.Place",
    "vegasfluid.analysis.simulation_checks.LimitCycle",
    "vegasfluid.analysis.simulation_checks.PacketRatio",
    "vegasfluid.aqm.red.AdaptedAverage",
    "vegasfluid.congestion.cubic.CubicWindow",
    "vegasfluid.congestion.epochs.EpochCongestionControl",
    "vegasfluid.congestion.vegas.implementation.VegasImplementation",
    "vegasfluid.congestion.vegas_rerouting.ReroutingWindow",
    "vegasfluid.dde.adaptive.options.Options",
    "vegasfluid.export.spoken.Spoken",
    "vegasfluid.ranges.Range",
    "vegasfluid.sweep.plan.Point",
    "vegasfluid.trajectory.Recording",
    "vegasfluid.tuning.scalar_root.FluidOptimum",
    "vegasfluid.tuning.objectives.Rates",
    "vegasfluid.tuning.constraints.Constraint",
    "vegasfluid.tuning.measurement.Measurement",
    "vegasfluid.tuning.theory.EquilibriumTheory",
    "vegasfluid.tuning.result.Evaluation",
    "vegasfluid.tuning.slow_start.SlowStart",
    "vegasfluid.tuning.explanation.MeasuredSetting",
)
"""What public signatures name without being public themselves: results, states, parts of them."""


def pages() -> dict[str, str]:
    """Every page by the module's name."""
    told: dict[int, str] = {}
    found = {name: page_of(importlib.import_module(name), told) for name in MODULES}
    return found | {"further": further()}


def further() -> str:
    """The page of what is not public, but named by what is."""
    parts = ["# Further types", "What public names take or return without being public themselves."]
    for name in FURTHER:
        module, _, own = name.rpartition(".")
        kind = "class" if inspect.isclass(getattr(importlib.import_module(module), own)) else "data"
        if kind == "class":
            parts.append(block(name, getattr(importlib.import_module(module), own)))
        else:
            parts.append(
                type_block(name, told_at_home(own, getattr(importlib.import_module(module), own)))
            )
    return "\n\n".join(parts) + "\n"


def page_of(module: ModuleType, told: dict[int, str]) -> str:
    """The page of a module; names that have been told go into `told`, by identity."""
    name = module.__name__
    here, elsewhere, data = [], [], []
    for public in module.__all__:
        found = getattr(module, public)
        if public in NAMES and name == "vegasfluid.quantities":
            here.append(public)
        elif isinstance(found, ModuleType):
            elsewhere.append(f"- {public}: {{py:mod}}`{found.__name__}`")
        elif not documents_itself(found):
            data.append(public)
        elif id(found) in told:
            elsewhere.append(f"- {public}: {{py:obj}}`{told[id(found)]}`")
        else:
            told[id(found)] = f"{name}.{public}"
            here.append(public)
    parts = [f"# `{name}`", f"```{{py:module}} {name}\n```", inspect.getdoc(module) or ""]
    for public in here:
        if public in NAMES:
            parts.append(
                type_block(f"{name}.{public}", told_at_home(public, getattr(module, public)))
            )
        else:
            parts.append(block(f"{name}.{public}", getattr(module, public)))
    parts += [data_block(f"{name}.{public}", getattr(module, public)) for public in data]
    if elsewhere:
        parts += ["## Told elsewhere", "\n".join(elsewhere)]
    return "\n\n".join(parts) + "\n"


def documents_itself(found: Any) -> bool:
    """Whether a name has a docstring of its own, and not only a comment where it is set."""
    return inspect.isclass(found) or inspect.isroutine(found)


def told_at_home(public: str, found: Any) -> str:
    """The comment on a constant, in the module that sets it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("vegasfluid") and getattr(module, public, None) is found:
            comments = ModuleAnalyzer.for_module(name).find_attr_docs()
            if ("", public) in comments:
                return "\n   ".join(comments["", public])
    return ""


def data_block(name: str, found: Any) -> str:
    """The directive of a constant."""
    text = told_at_home(name.rpartition(".")[2], found)
    return (
        f"```{{eval-rst}}\n.. py:data:: {name}\n   :type: {type(found).__name__}\n\n   {text}\n```"
    )


def type_block(name: str, text: str) -> str:
    """The directive of a type alias."""
    return f"```{{eval-rst}}\n.. py:type:: {name}\n\n   {text}\n```"


def block(name: str, found: Any) -> str:
    """The directive of a class or a function."""
    if not inspect.isclass(found):
        return f"```{{eval-rst}}\n.. autofunction:: {name}\n```"
    kind = "autoexception" if issubclass(found, BaseException) else "autoclass"
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n   :members:\n   :show-inheritance:\n```"


def write(app: Sphinx) -> None:
    """Write the pages that have changed."""
    folder = Path(app.srcdir) / "api" / "reference"
    folder.mkdir(exist_ok=True, parents=True)
    wanted = {folder / f"{name}.md": text for name, text in pages().items()}
    for old in set(folder.glob("*.md")) - set(wanted):
        old.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

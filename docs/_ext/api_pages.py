"""A page for every public module, with every name of its `__all__`, from docstrings and types.

A name in several modules is documented in the first one of `MODULES`; the other pages link to it.
"""

from __future__ import annotations

import importlib
import inspect
import re
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
    "vegasfluid.crosscheck",
    "vegasfluid.observe",
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
    "vegasfluid.clock",
    "vegasfluid.smooth",
    "vegasfluid.quantities",
    "vegasfluid.discovery",
    "vegasfluid.errors",
)
"""Public modules, in the order of their pages."""

FURTHER = (
    "vegasfluid.analysis.applicable_formulas.ApplicableFormula",
    "vegasfluid.analysis.proofs.problem.FlowGroup",
    "vegasfluid.analysis.proofs.proof.Proof",
    "vegasfluid.analysis.equilibria.corners.Solution",
    "vegasfluid.analysis.equilibria.equilibrium.Quantities",
    "vegasfluid.analysis.proofs.branch_and_prune.IsolatedZeros",
    "vegasfluid.analysis.equilibria.fair_alpha.FairAlpha",
    "vegasfluid.analysis.linear_stability.linearisation.FeedbackLoop",
    "vegasfluid.analysis.report.NearestAlpha",
    "vegasfluid.analysis.report.AnalysedEquilibrium",
    "vegasfluid.analysis.simulation_checks.LimitCycle",
    "vegasfluid.analysis.simulation_checks.PacketRatio",
    "vegasfluid.aqm.codel.CoDelState",
    "vegasfluid.aqm.codel.ControlledDelay",
    "vegasfluid.aqm.delay_control.DelayControl",
    "vegasfluid.aqm.delay_control.DelayControlState",
    "vegasfluid.aqm.delay_control.TargetDelay",
    "vegasfluid.aqm.pi.PiState",
    "vegasfluid.aqm.queue_control.QueueControl",
    "vegasfluid.aqm.red.red.AdaptedAverage",
    "vegasfluid.aqm.red.red.Gap",
    "vegasfluid.congestion.cubic.CubicWindow",
    "vegasfluid.congestion.dctcp.DctcpWindow",
    "vegasfluid.congestion.epochs.EpochCongestionControl",
    "vegasfluid.congestion.vegas.implementation.VegasImplementation",
    "vegasfluid.congestion.vegas_rerouting.ReroutingWindow",
    "vegasfluid.dde.adaptive.options.Options",
    "vegasfluid.export.dialects.VegasParameters",
    "vegasfluid.observe.before_after.ObservedChange",
    "vegasfluid.observe.before_after.ObservedMeans",
    "vegasfluid.observe.bottleneck_queue.Discipline",
    "vegasfluid.observe.competitors.Competitors",
    "vegasfluid.observe.flow_classes.MeasuredClass",
    "vegasfluid.observe.time_grid.TimeGrid",
    "vegasfluid.observe.vegas_backlog.DeadBandEstimate",
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
"""Types in public signatures that are not public themselves."""


def pages() -> dict[str, str]:
    """All pages of the API as Markdown, by the module's name; "further" has further types."""
    documented: dict[int, str] = {}
    texts = {name: page_of(importlib.import_module(name), documented) for name in MODULES}
    return texts | {"further": further()}


def further() -> str:
    """Page, as Markdown, of the types in `FURTHER`."""
    parts = ["# Further types", "Types in public signatures that are not public themselves."]
    for path in FURTHER:
        module, _, name = path.rpartition(".")
        item = getattr(importlib.import_module(module), name)
        if inspect.isclass(item):
            parts.append(block(path, item))
        else:
            parts.append(type_block(path, constant_text(name, item)))
    return "\n\n".join(parts) + "\n"


def page_of(module: ModuleType, documented: dict[int, str]) -> str:
    """Page of a module as Markdown, with every name of its `__all__`.

    Args:
        module: the module.
        documented: full name of each object on an earlier page, by its `id`; the module's are
            added.
    """
    name = module.__name__
    own, others, data = [], [], []
    for public in module.__all__:
        item = getattr(module, public)
        if public in NAMES and name == "vegasfluid.quantities":
            own.append(public)
        elif isinstance(item, ModuleType):
            others.append(f"- {public}: {{py:mod}}`{item.__name__}`")
        elif not has_docstring(item):
            data.append(public)
        elif id(item) in documented:
            others.append(f"- {public}: {{py:obj}}`{documented[id(item)]}`")
        else:
            documented[id(item)] = f"{name}.{public}"
            own.append(public)
    parts = [
        f"# `{breakable(name)}`",
        f"```{{py:module}} {name}\n```",
        inspect.getdoc(module) or "",
    ]
    for public in own:
        item = getattr(module, public)
        if public in NAMES:
            parts.append(type_block(f"{name}.{public}", constant_text(public, item)))
        else:
            parts.append(block(f"{name}.{public}", item))
    parts += [data_block(f"{name}.{public}", getattr(module, public)) for public in data]
    if others:
        parts += ["## Documented on other pages", "\n".join(others)]
    return "\n\n".join(parts) + "\n"


def breakable(name: str) -> str:
    """A dotted name with places at which a narrow page breaks it: after its dots and underscores.

    These are Unicode's zero-width spaces, which take no room.
    """
    return re.sub(r"([._])", "\\1\u200b", name)


def has_docstring(item: Any) -> bool:
    """Whether an object can have a docstring: a class or a function, but not a constant."""
    return inspect.isclass(item) or inspect.isroutine(item)


def constant_text(public: str, item: Any) -> str:
    """Docstring of the constant `item`, named `public`, from the module that defines it.

    Empty if no module of vegasfluid has one for it.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("vegasfluid") and getattr(module, public, None) is item:
            comments = ModuleAnalyzer.for_module(name).find_attr_docs()
            if ("", public) in comments:
                return "\n   ".join(comments["", public])
    return ""


def data_block(name: str, item: Any) -> str:
    """Markdown that documents a constant: its full name, its type and its docstring."""
    text = constant_text(name.rpartition(".")[2], item)
    return (
        f"```{{eval-rst}}\n.. py:data:: {name}\n   :type: {type(item).__name__}\n\n   {text}\n```"
    )


def type_block(name: str, text: str) -> str:
    """Markdown that documents a type alias: its full name and `text`."""
    return f"```{{eval-rst}}\n.. py:type:: {name}\n\n   {text}\n```"


def block(name: str, item: Any) -> str:
    """Markdown in which autodoc documents the class or function with this full name."""
    if not inspect.isclass(item):
        return f"```{{eval-rst}}\n.. autofunction:: {name}\n```"
    kind = "autoexception" if issubclass(item, BaseException) else "autoclass"
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n   :members:\n   :show-inheritance:\n```"


def write(app: Sphinx) -> None:
    """Write the pages of the API that have changed, and remove those that no longer exist."""
    folder = Path(app.srcdir) / "api" / "reference"
    folder.mkdir(exist_ok=True, parents=True)
    wanted = {folder / f"{name}.md": text for name, text in pages().items()}
    for old in set(folder.glob("*.md")) - set(wanted):
        old.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def without_text(app: Sphinx, kind: str, name: str, item: Any, skip: bool, options: Any) -> bool:
    """Whether a member is left out: fields of named tuples, which the parameters describe."""
    return skip or (inspect.getdoc(item) or "").startswith("Alias for field number")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writing of the pages with Sphinx; pages may be read in parallel."""
    app.connect("builder-inited", write)
    app.connect("autodoc-skip-member", without_text)
    return {"parallel_read_safe": True}

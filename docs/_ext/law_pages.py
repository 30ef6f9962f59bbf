"""A page for every law that `vegasfluid laws` lists, written from the code when the site is built.

A law is a congestion control, a queue discipline or a traffic source. Its page is made from the
docstring of its module and from its class, so a new law needs no separate page. The validation is
read from `tests/validation.toml`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import equations
import sympy as sp
import window_pictures
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from up_to_date import is_up_to_date

from vegasfluid.analysis.closed_forms import equilibrium_window
from vegasfluid.aqm import queue_disciplines
from vegasfluid.cli.laws import law_entry
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.congestion.vegas.implementation import VegasImplementation
from vegasfluid.errors import InvalidInput
from vegasfluid.limits import Largest, Smallest
from vegasfluid.quantities import limits_of
from vegasfluid.traffic import traffic_sources

__all__ = ["page_of", "pages", "setup"]

GROUPS = {
    "congestion": congestion_controls,
    "queues": queue_disciplines,
    "traffic": traffic_sources,
}
"""Folders of pages, and the registries whose laws they describe."""
ALLOWED = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
"""Words for the limits of a parameter."""
CHECKS = Path(__file__).parents[2] / "tests" / "validation.toml"
VALIDATION: dict[str, dict[str, str]] = tomllib.loads(CHECKS.read_text())
"""What each class is compared with: a text by the path of the test, by the name of the class."""
NOT_SHOWN = {"name", "rules", "sources", "alpha", "beta", "gamma"}
"""Fields of a dialect that the table of dialects omits or shows first."""


def pages() -> dict[str, str]:
    """Pages of all congestion controls, queue disciplines and traffic sources as Markdown.

    Keys are their paths below `laws/` without ending, such as `congestion/vegas`.
    """
    return {
        f"{group}/{name}": page_of(group, kind)
        for group, laws in GROUPS.items()
        for name, kind in laws().items()
    }


def page_of(group: str, kind: type[Any]) -> str:
    """Page, as Markdown, of a congestion control, queue discipline or traffic source.

    `group` is its folder (a key of `GROUPS`) and `kind` its class.
    """
    description, sources = module_text(kind)
    parts = [f"# `{kind.name}`", description]
    if group == "congestion" and window_pictures.has_picture(kind):
        parts.append(window_pictures.picture(kind))
    parts += ["## Parameters", *parameters(group, kind)]
    sections = {
        "congestion": control_sections,
        "queues": queue_sections,
        "traffic": source_sections,
    }
    parts += sections[group](kind)
    if kind.name == "vegas":
        parts += ["## Dialects", *dialects()]
    parts += ["## Sources", bullets(kind.sources), sources]
    parts += ["## Validation", validation(VALIDATION.get(kind.name, {}))]
    where = str(inspect.getsourcefile(kind)).split("vegasfluid/")[-1]
    parts.append(
        f"Source code: `vegasfluid/{where}`. Python: {{py:class}}`vegasfluid.{kind.__name__}`."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def module_text(kind: type[Any]) -> tuple[str, str]:
    """Description and sources from the docstring of the module that defines a class."""
    text = inspect.getdoc(sys.modules[kind.__module__]) or ""
    description, _, sources = text.partition("\nSources:\n")
    return description.strip(), inspect.cleandoc(sources)


def bullets(lines: Iterable[str]) -> str:
    """Lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def display(lines: Iterable[tuple[str, Any]], names: Mapping[Any, str] | None = None) -> str:
    """Equations below each other, as Markdown's display maths.

    Args:
        lines: left side as LaTeX and right side as a SymPy expression, for each equation.
        names: LaTeX of symbols that are to be shown differently.
    """
    rows = [rf"{left} &= {sp.latex(right, symbol_names=names or {})}" for left, right in lines]
    return "$$\n\\begin{aligned}\n" + " \\\\[0.6em]\n".join(rows) + "\n\\end{aligned}\n$$"


def control_sections(kind: type[Any]) -> list[str]:
    """Sections on the equations and the equilibrium of a congestion control, as Markdown."""
    parts = ["## Equations", CONTROL_SYMBOLS, *state_symbols(kind)]
    last = list(equations.branches(kind).values())[-1]
    if (backlog := equations.estimate(kind, last)) is not None:
        parts += ["The default dialect estimates the backlog as", display([("d", backlog)])]
    for words, regime in equations.branches(kind).items():
        single, mean = equations.growth(kind, regime)
        parts.append(f"**{words[0].upper()}{words[1:]}:**")
        parts.append(display(single) if single else "The state does not change.")
        if mean:
            parts += [IN_THE_MEAN, display(mean)]
    if state := equations.after_a_loss(kind, last):
        parts += ["**After a loss:**", display([(rf"{name}'", value) for name, value in state])]
    if factors := equations.loss_factors(kind, last):
        parts += [
            "**Correction factor for losses**, for a class whose windows differ:",
            display((rf"\phi_\text{{{name}}}", value) for name, value in factors.items()),
        ]
    return parts + equilibrium_section(kind)


CONTROL_SYMBOLS = (
    "Rates of change between losses, from the method `growth` of the class: $W$ is the congestion "
    "window (packets), $R$ the round-trip time and $T$ the base RTT (s). ACKs arrive at the rate "
    "$W/R$. The fluid model adds losses at the rate at which they occurred one round trip ago. "
    "The table above has the symbols of the parameters."
)
"""Introduction to the equations of a congestion control."""


def state_symbols(kind: type[Any]) -> list[str]:
    """List, as Markdown, of the symbols of a congestion control's state, except for its window.

    Their meanings are from the docstring of the state's class.
    """
    state = type(kind().init(1.0, 1.0))
    meanings = argument_texts(inspect.getdoc(state) or "")
    rows = [
        f"${sp.latex(equations.notation(name))}$: {meanings[name].rstrip('.')}."
        for name in state._fields
        if name != "cwnd" and name in meanings
    ]
    return ["Other symbols of the state:", bullets(rows)] if rows else []


def argument_texts(docstring: str) -> dict[str, str]:
    """Meanings of the arguments of a class, by name, from the section `Args` of its docstring."""
    found = re.findall(r"^ {4,8}(\w+): (.*(?:\n {8,}.*)*)", docstring, re.M)
    return {name: " ".join(text.split()) for name, text in found}


IN_THE_MEAN = "Mean over the flows of a class, which had their last losses at different times:"
"""Introduction to equations for the mean of a class."""


def equilibrium_section(kind: type[Any]) -> list[str]:
    """Section on the closed forms of the equilibrium window, as Markdown; empty if there are none.

    A congestion control with a different formula for each loss process has several.
    """
    formulas = {}
    for process in ("meanfield", "periodic", "iid"):
        try:
            formulas[process] = equilibrium_window(kind(), process)
        except InvalidInput:
            continue
    different = {str(form.expression): (name, form) for name, form in reversed(formulas.items())}
    if not different:
        return []
    parts = [
        "## Equilibrium",
        "With the default parameters (`vegasfluid.analysis.closed_forms.equilibrium_window`):",
    ]
    for process, form in reversed(different.values()):
        name = f", {LOSS_PROCESSES[process]}" if len(different) > 1 else ""
        description = f"{form.description[0].upper()}{form.description[1:]}{name}"
        parts.append(f"{description} ({form.validity}):")
        exact = form.latex()
        if (rounded := equations.with_numbers(form.expression)) is None:
            parts.append(f"$$\n{exact}\n$$")
            continue
        parts.append(f"$$\n{sp.latex(form.lhs)} \\approx {sp.latex(rounded)}\n$$")
        parts.append(f"::::{{dropdown}} Exactly\n$$\n{exact}\n$$\n::::")
    return parts


LOSS_PROCESSES = {
    "meanfield": "losses only by their mean",
    "periodic": "periodic losses",
    "iid": "independent losses",
}
"""Words for the loss processes of the fluid model."""


def queue_sections(kind: type[Any]) -> list[str]:
    """Section on the equations of a queue discipline, as Markdown."""
    parts = ["## Equations", QUEUE_SYMBOLS]
    shown: list[Any] = []
    for words, regime in equations.branches(kind).items():
        lines = equations.queue_equations(kind, regime)
        new = [line for line in lines if line[0] == "p" or line not in shown]
        shown += lines
        parts.append(f"**{words[0].upper()}{words[1:]}:**")
        parts.append(display(new))
    parts.append("With any queue discipline, **a full buffer** drops the fraction")
    parts.append(display([(r"p_\text{overflow}", equations.full_buffer())]))
    return parts


QUEUE_SYMBOLS = (
    "From the methods `drop_prob` and `derivative` of the class: $p$ is the probability that an "
    "arriving packet is dropped or marked before the buffer is full, $q$ the queue, $B$ the buffer "
    "(packets), $C$ the capacity, $y$ the arrival rate (packets/s), $v$ the average queue "
    "(packets), $P$ a probability that a discipline adjusts, $r_C$ CoDel's rate of drops "
    "relative to the capacity and $T$ its timer (intervals). Where each flow has a queue, these "
    "are of a flow: $C$ its share of the capacity. Equations that do not change from one "
    "regime to the next are not repeated."
)
"""Introduction to the equations of a queue discipline."""


def source_sections(kind: type[Any]) -> list[str]:
    """Section on the quantities of a traffic source that the fluid model uses, as Markdown."""
    head = "| quantity | with $n$ transfers active or waiting, packets of $S$ bytes |\n"
    head += "|---|---|\n"
    rows = [f"| {words} | ${sp.latex(sp.sympify(value))}$ |" for words, value in quantities(kind)]
    return ["## Equations", head + "\n".join(rows)]


def quantities(kind: type[Any]) -> Iterable[tuple[str, Any]]:
    """Names, with units, and expressions of a traffic source's quantities in the fluid model.

    A rate without limit is a symbol that reads "no limit".
    """
    for words, value in equations.traffic(kind):
        unlimited = "rate" in words.split() and not isinstance(value, sp.Basic)
        yield words, sp.Symbol(r"\text{no limit}") if unlimited else value


def parameters(group: str, kind: type[Any]) -> list[str]:
    """Table, as Markdown, of the parameters of a class, or the word "None.".

    Its columns: key in a model file, name in Python, symbol, default, allowed values, unit,
    meaning.
    """
    entries = law_entry(kind)["parameters"]
    if not entries:
        return ["None."]
    meanings = field_texts(kind)
    names = ("in a model file", "in Python", "symbol", "default in a file", "allowed")
    head = "| " + " | ".join([*names, "unit in Python", "meaning"]) + " |\n"
    rows = [head + "|---|---|---|---|---|---|---|"]
    for entry in entries:
        name = entry["name"]
        symbol = f"${sp.latex(equations.notation(name))}$" if entry["units"] is not None else ""
        default = "required" if entry["required"] else file_default(kind, entry["default_in_file"])
        cells = [f"`{entry['key']}`", f"`{name}`", symbol, default]
        cells += [allowed(kind, name), entry["units"] or "", meanings.get(name, "")]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return ["\n".join(rows)]


def file_default(kind: type[Any], default: Any) -> str:
    """A default in the unit of a model file, as TOML writes it."""
    if default is None:
        return "by dialect" if kind.name == "vegas" else "none"
    return as_toml(default)


def as_toml(value: Any) -> str:
    """Number, boolean or string as TOML writes it, formatted as code."""
    return f"`{json.dumps(value)}`"


def field_texts(kind: type[Any]) -> dict[str, str]:
    """Text of the docstring of each field of a class and its bases, by the field's name."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        comments = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        for (owner, name), lines in comments.items():
            if owner == base.__name__:
                texts[name] = " ".join(line.strip() for line in lines if line.strip())
    return texts


def allowed(kind: type[Any], name: str) -> str:
    """Allowed values of the parameter `name` of a class, in words such as "at least 0"."""
    limits = {}
    for limit in limits_of(kind, name):  # the narrowest limit is the last one
        if isinstance(limit, Largest | Smallest):  # docs/use/model-files.md lists these
            continue
        ((how, bound),) = asdict(limit).items()
        limits[how[0]] = f"{ALLOWED[how]} {bound:g}"
    if limits:
        return ", ".join(limits[side] for side in "gl" if side in limits)
    default = {field.name: field.default for field in fields(kind)}[name]
    return "true, false" if isinstance(default, bool) else "see meaning"


def dialects() -> list[str]:
    """Table of the parameters of all Vegas dialects and list of their sources, as Markdown."""
    meanings = argument_texts(inspect.getdoc(VegasImplementation) or "")
    names = [field.name for field in fields(VegasImplementation) if field.name not in NOT_SHOWN]
    head = ["alpha", "beta", "gamma", *names]
    rows = ["| | " + " | ".join(f"`{name}`" for name in DIALECTS) + " | meaning |"]
    rows.append("|---|" + "---|" * len(DIALECTS) + "---|")
    for name in head:
        values = [as_toml(getattr(dialect, name)).strip("`") for dialect in DIALECTS.values()]
        rows.append(f"| `{name}` | " + " | ".join(values) + f" | {meanings.get(name, '')} |")
    sources = [f"`{name}`: " + "; ".join(dialect.sources) for name, dialect in DIALECTS.items()]
    return ["\n".join(rows), "Sources of the dialects:", bullets(sources)]


def validation(checks: Mapping[str, str]) -> str:
    """Table, as Markdown, of the tests that compare a class with other data.

    `checks` states what is compared, by the path of the test; "Nothing yet." without any.
    """
    if not checks:
        return "Nothing yet."
    rows = ["| what is compared | where |", "|---|---|"]
    return "\n".join(rows + [f"| {what} | `{where}` |" for where, what in checks.items()])


def write(app: Sphinx) -> None:
    """Write the pages below `laws` if they are older than the code, and remove outdated ones."""
    folder = Path(app.srcdir) / "laws"
    paths = [folder / group / f"{name}.md" for group, laws in GROUPS.items() for name in laws()]
    # SymPy takes half a minute
    scripts = [Path(module.__file__) for module in (equations, window_pictures)]
    if is_up_to_date(paths, Path(__file__), *scripts, equations.BRANCHES, CHECKS):
        return
    wanted = {folder / f"{path}.md": text for path, text in pages().items()}
    for group in GROUPS:
        (folder / group).mkdir(exist_ok=True)
        for old in set((folder / group).glob("*.md")) - set(wanted):
            old.unlink()
    for path, text in wanted.items():
        path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writing of the pages with Sphinx; pages may be read in parallel."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

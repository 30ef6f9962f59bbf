"""A page for every law that `vegasfluid laws` lists, written from the law itself at build time.

Description, equations, parameters and sources are read from the modules and classes
(`vegasfluid.discovery` finds them), so that a law has its page as soon as it has its file. The
validation is read from `tests/validation.toml`.
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
from vegasfluid.quantities import limits_of, unit_of
from vegasfluid.traffic import traffic_sources

__all__ = ["page_of", "pages", "setup"]

GROUPS = {
    "congestion": congestion_controls,
    "queues": queue_disciplines,
    "traffic": traffic_sources,
}
"""Folders of pages, and the registries they show."""
ALLOWED = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
CHECKS = Path(__file__).parents[2] / "tests" / "validation.toml"
VALIDATION: dict[str, dict[str, str]] = tomllib.loads(CHECKS.read_text())
"""What each class is compared with: a text by the path of the test, by the name of the class."""
NOT_SHOWN = {"name", "rules", "sources", "alpha", "beta", "gamma"}
"""Fields of a dialect that have a place of their own."""


def pages() -> dict[str, str]:
    """Every page by its path below `laws/`, without ending."""
    return {
        f"{group}/{name}": page_of(group, kind)
        for group, laws in GROUPS.items()
        for name, kind in laws().items()
    }


def page_of(group: str, kind: type[Any]) -> str:
    """The page of a law as Markdown."""
    description, sources = told(kind)
    parts = [f"# `{kind.name}`", description]
    parts += {"congestion": of_window_law, "queues": of_queue_law, "traffic": of_traffic}[group](
        kind
    )
    parts += ["## Parameters", *parameters(group, kind)]
    if kind.name == "vegas":
        parts += ["## Dialects", *dialects()]
    parts += ["## Sources", bullets(kind.sources), sources]
    parts += ["## Validation", validation(VALIDATION.get(kind.name, {}))]
    where = str(inspect.getsourcefile(kind)).split("vegasfluid/")[-1]
    parts.append(
        f"Told in `vegasfluid/{where}`; in Python {{py:class}}`vegasfluid.{kind.__name__}`."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def told(kind: type[Any]) -> tuple[str, str]:
    """What the law's module says of it, and of its sources."""
    text = inspect.getdoc(sys.modules[kind.__module__]) or ""
    description, _, sources = text.partition("\nSources:\n")
    return description.strip(), inspect.cleandoc(sources)


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def display(lines: Iterable[tuple[str, Any]], names: Mapping[Any, str] | None = None) -> str:
    """Equations, one below the other."""
    rows = [rf"{left} &= {sp.latex(right, symbol_names=names or {})}" for left, right in lines]
    return "$$\n\\begin{aligned}\n" + " \\\\[0.6em]\n".join(rows) + "\n\\end{aligned}\n$$"


def of_window_law(kind: type[Any]) -> list[str]:
    """Equations of a congestion-control law."""
    parts = ["## Equations", SYMBOLS_TOLD]
    last = list(equations.branches(kind).values())[-1]
    if (backlog := equations.estimate(kind, last)) is not None:
        parts += ["The backlog, as the default dialect estimates it:", display([("d", backlog)])]
    for words, regime in equations.branches(kind).items():
        single, mean = equations.growth(kind, regime)
        parts.append(f"**{words[0].upper()}{words[1:]}:**")
        parts.append(display(single) if single else "Nothing moves.")
        if mean:
            parts += [IN_THE_MEAN, display(mean)]
    if left := equations.after_a_loss(kind, last):
        parts += ["**A loss leaves:**", display([(rf"{name}'", value) for name, value in left])]
    if factors := equations.loss_factors(kind, last):
        parts += [
            "**Losses weigh more than in the mean of windows**, by the factor",
            display((rf"\phi_\text{{{name}}}", value) for name, value in factors.items()),
        ]
    return parts + at_rest(kind)


SYMBOLS_TOLD = (
    "Between losses, by the law's own `growth` on symbols: $W$ is the congestion window (packets), "
    "$R$ the round-trip time, $T$ the base RTT (s); ACKs come at the rate $W/R$. The fluid adds "
    "losses at the rate at which they were a round trip ago. Parameters have the symbols of the "
    "table below."
)


IN_THE_MEAN = "In the mean over a class, whose flows had their last losses at different times:"


def at_rest(kind: type[Any]) -> list[str]:
    """The window at rest, where there is a closed form."""
    found = {}
    for process in ("meanfield", "periodic", "iid"):
        try:
            found[process] = equilibrium_window(kind(), process)
        except InvalidInput:
            continue
    different = {str(of.expression): (process, of) for process, of in reversed(found.items())}
    if not different:
        return []
    parts = [
        "## At rest",
        "With the default parameters (`vegasfluid.analysis.closed_forms.equilibrium_window`):",
    ]
    for process, of in reversed(different.values()):
        name = f", losses {WORDS[process]}" if len(different) > 1 else ""
        parts.append(f"{of.says[0].upper()}{of.says[1:]}{name} ({of.holds}):")
        parts.append(f"$$\n{of.latex()}\n$$")
    return parts


WORDS = {
    "meanfield": "as in the one-point closure",
    "periodic": "periodic",
    "iid": "independent",
}


def of_queue_law(kind: type[Any]) -> list[str]:
    """Equations of a queue law."""
    parts = ["## Equations", QUEUE_TOLD]
    seen: list[Any] = []
    for words, regime in equations.branches(kind).items():
        found = equations.queue_equations(kind, regime)
        new = [line for line in found if line[0] == "p" or line not in seen]
        seen += found
        parts.append(f"**{words[0].upper()}{words[1:]}:**")
        parts.append(display(new))
    parts.append("**A full buffer**, with any queue law, loses of what arrives above capacity")
    parts.append(display([(r"p_\text{overflow}", equations.full_buffer())]))
    return parts


QUEUE_TOLD = (
    "By the law's own `drop_prob` and `averaging` on symbols: $p$ is the probability that an "
    "arriving packet is dropped (or marked) before the buffer is full, $q$ the queue, $B$ the "
    "buffer (packets), $C$ the capacity, $y$ what arrives (packets/s), $v$ the law's average of "
    "the queue (packets). What is as in the regime before is not repeated."
)


def of_traffic(kind: type[Any]) -> list[str]:
    """What the fluid takes of a kind of traffic."""
    head = "| to the fluid | with $n$ transfers under way or waiting, packets of $S$ bytes |\n"
    head += "|---|---|\n"
    rows = [f"| {words} | ${sp.latex(sp.sympify(value))}$ |" for words, value in told_of(kind)]
    return ["## Equations", head + "\n".join(rows)]


def told_of(kind: type[Any]) -> Iterable[tuple[str, Any]]:
    """The rows that say something."""
    for words, value in equations.traffic(kind):
        limitless = words.startswith("rate") and not isinstance(value, sp.Basic)
        yield words, sp.Symbol(r"\text{no limit}") if limitless else value


def parameters(group: str, kind: type[Any]) -> list[str]:
    """The table of parameters, as `vegasfluid laws` has them, with what they mean and may be."""
    entries = law_entry(kind)["parameters"]
    if not entries:
        return ["None."]
    meanings = documented(kind)
    names = ("in a model file", "in Python", "symbol", "default in a file", "allowed")
    head = "| " + " | ".join([*names, "unit in Python", "meaning"]) + " |\n"
    rows = [head + "|---|---|---|---|---|---|---|"]
    for entry in entries:
        name = entry["name"]
        symbol = f"${sp.latex(equations.notation(name))}$" if entry["units"] is not None else ""
        default = "required" if entry["required"] else at_the_edge(kind, name, entry["default"])
        cells = [f"`{entry['key']}`", f"`{name}`", symbol, default]
        cells += [allowed(kind, name), entry["units"] or "", meanings.get(name, "")]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return ["\n".join(rows)]


def at_the_edge(kind: type[Any], name: str, default: Any) -> str:
    """A default as a model file has it."""
    unit = unit_of(kind, name)
    if default is None:
        return "by dialect" if kind.name == "vegas" else "none"
    if unit is None or unit.scale == 1:
        return shown(default)
    return shown(round(default / unit.scale, 9))


def shown(value: Any) -> str:
    """A number, a switch or a word as TOML writes it."""
    return f"`{json.dumps(value)}`"


def documented(kind: type[Any]) -> dict[str, str]:
    """What the fields of a class and of its bases mean, by name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        comments = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        for (owner, name), lines in comments.items():
            if owner == base.__name__:
                found[name] = " ".join(line.strip() for line in lines if line.strip())
    return found


def allowed(kind: type[Any], name: str) -> str:
    """The range of a parameter, from its annotation."""
    narrow = {}
    for limit in limits_of(kind, name):  # the narrowest was given last
        ((how, bound),) = asdict(limit).items()
        narrow[how[0]] = f"{ALLOWED[how]} {bound:g}"
    if narrow:
        return ", ".join(narrow[side] for side in "gl" if side in narrow)
    default = {field.name: field.default for field in fields(kind)}[name]
    return "true, false" if isinstance(default, bool) else "as told"


def dialects() -> list[str]:
    """What implementations of Vegas do differently, from their constants."""
    meanings = dict(
        re.findall(r"^ {4,8}(\w+): (.*(?:\n {12,}.*)*)", VegasImplementation.__doc__ or "", re.M)
    )
    names = [field.name for field in fields(VegasImplementation) if field.name not in NOT_SHOWN]
    head = ["alpha", "beta", "gamma", *names]
    rows = ["| | " + " | ".join(f"`{name}`" for name in DIALECTS) + " | meaning |"]
    rows.append("|---|" + "---|" * len(DIALECTS) + "---|")
    for name in head:
        values = [shown(getattr(of, name)).strip("`") for of in DIALECTS.values()]
        meaning = " ".join(meanings.get(name, "").split())
        rows.append(f"| `{name}` | " + " | ".join(values) + f" | {meaning} |")
    read = [f"`{name}`: " + "; ".join(of.sources) for name, of in DIALECTS.items()]
    return ["\n".join(rows), "Read in:", bullets(read)]


def validation(checks: Mapping[str, str]) -> str:
    """What a law is held to."""
    if not checks:
        return "Nothing yet."
    rows = ["| what is compared | where |", "|---|---|"]
    return "\n".join(rows + [f"| {what} | `{where}` |" for where, what in checks.items()])


def write(app: Sphinx) -> None:
    """Write the pages anew where they are not fresh, and remove those of laws that are gone."""
    folder = Path(app.srcdir) / "laws"
    made = [folder / group / f"{name}.md" for group, laws in GROUPS.items() for name in laws()]
    # SymPy takes half a minute
    if is_up_to_date(made, Path(__file__), Path(equations.__file__), equations.BRANCHES, CHECKS):
        return
    wanted = {folder / f"{path}.md": text for path, text in pages().items()}
    for group in GROUPS:
        (folder / group).mkdir(exist_ok=True)
        for old in set((folder / group).glob("*.md")) - set(wanted):
            old.unlink()
    for path, text in wanted.items():
        path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

"""What the site reads from the code: every law, every public name; and that it builds."""

from __future__ import annotations

import base64
import importlib
import json
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from typing import Any

import psutil
import pytest
import sympy as sp
from sphinx.errors import ExtensionError

from tests.paths import ROOT
from vegasfluid import Cubic, Reno
from vegasfluid.analysis.closed_forms import equilibrium_window
from vegasfluid.aqm import queue_disciplines
from vegasfluid.cli.examples import EXAMPLES
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.base import Signals
from vegasfluid.traffic import traffic_sources

sys.path.append(str(ROOT / "docs" / "_ext"))

import agreement_plots
import api_pages
import benchmark_tables
import command_options
import equations
import law_pages
import notebook_pages
import paper_pages
import work_precision_plots

LONGEST_BUILD = 900.0
"""Longest time for which another build of the site is waited for, s."""
LAWS = [*congestion_controls().values(), *queue_disciplines().values(), *traffic_sources().values()]
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
"""What a browser fetches by itself."""


PAGES_OF_LAWS = [
    (group, kind) for group, kinds in law_pages.GROUPS.items() for kind in kinds().values()
]
SLOW_TO_DERIVE = {"cubic", "vegas_rerouting", "vegas"}


def test_every_law_has_its_page() -> None:
    assert {kind for _, kind in PAGES_OF_LAWS} == set(LAWS)


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        pytest.param(*page, marks=[pytest.mark.slow] * (page[1].name in SLOW_TO_DERIVE))
        for page in PAGES_OF_LAWS
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_page_of_a_law_has_all_its_parts(group: str, kind: Any) -> None:
    text = law_pages.page_of(group, kind)
    for part in ("## Equations", "## Parameters", "## Sources", "## Validation"):
        assert part in text, part
    assert "Nothing yet." not in text
    assert text.index("## Parameters") < text.index("## Equations"), "symbols first"
    pictured = f"_pictures/window_{kind.name}-light.svg" in text
    assert pictured == (group == "congestion" and kind().rules.reliable)


@pytest.mark.parametrize("kind", congestion_controls().values(), ids=lambda kind: kind.name)
def test_symbols_of_a_state_are_explained(kind: Any) -> None:
    """Each field of the state except the window has a line with its symbol and meaning."""
    names = [name for name in type(kind().init(1.0, 1.0))._fields if name != "cwnd"]
    listed = re.findall(r"^- \$.+\$: \w.+\.$", "\n".join(law_pages.state_symbols(kind)), re.M)
    assert len(listed) == len(names)


def test_coefficients_with_several_roots_are_shown_as_numbers() -> None:
    """Those of the description, which are tested elsewhere: 1.0538 and 1.2247 (periodic losses)."""
    form = equilibrium_window(Cubic(), "periodic")
    shown = str(equations.with_numbers(form.expression))
    assert "1.0538" in shown
    assert "1.2247" in shown
    assert equations.with_numbers(equilibrium_window(Reno(), "iid").expression) is None


def test_headline_figures_are_those_of_the_results() -> None:
    rows = benchmark_tables.headlines().splitlines()[2:]
    assert len(rows) == len(benchmark_tables.HEADLINES)
    results = benchmark_tables.document("explore")
    assert results is not None
    [row] = [row for row in rows if "(#benchmark-explore)" in row]
    assert f"| {benchmark_tables.shown(results['figures']['move_ms'])} | at most 150 |" in row


@pytest.mark.parametrize("name", agreement_plots.PLOTS)
def test_every_line_of_a_plot_of_agreement_has_points(name: str) -> None:
    figures = benchmark_tables.document(name)["figures"]  # type: ignore[index]
    agreement_plots.plot(name, figures)
    renamed = {key.replace(".", "_"): value for key, value in figures.items()}
    with pytest.raises((ExtensionError, KeyError, ValueError)):
        agreement_plots.plot(name, renamed)


def test_a_work_precision_plot_has_all_curves_and_its_table_all_comparisons() -> None:
    figures = benchmark_tables.document("work_precision")["figures"]  # type: ignore[index]
    panels = work_precision_plots.plot(figures).axes
    assert [len(axes.lines) for axes in panels] == [6, 6, 4, 4, 4, 8]
    table = work_precision_plots.table(figures)
    ratio = work_precision_plots.rounded(figures["Reno_over_RED.error_1e-03.times_jitcdde"])
    assert f"| Reno over RED | JiTCDDE | {ratio} |" in table
    assert "|  |" not in table
    without = {name: value for name, value in figures.items() if ".JiTCDDE." not in name}
    with pytest.raises(ExtensionError, match="no points of JiTCDDE"):
        work_precision_plots.plot(without)


@pytest.mark.parametrize("kind", congestion_controls().values(), ids=lambda kind: kind.name)
def test_equations_are_the_growth_that_is_integrated(kind: Any) -> None:
    """At the point of each regime, in numbers."""
    for words, regime in equations.branches(kind).items():
        law, state, seen, witness = equations.symbolic(kind, regime)
        single, _ = equations.growth(kind, regime)
        shown = {left: float(sp.sympify(right).subs(witness)) for left, right in single}
        numbers = {name: value for name, value in regime.items() if name in law.parameters()}
        found = kind(**numbers).growth(
            type(state)(*(float(sp.sympify(part).subs(witness)) for part in state)),
            Signals(*(float(sp.sympify(part).subs(witness)) for part in seen[:-1]), seen[-1]),
        )
        for name, rate in found._asdict().items():
            left = rf"\frac{{d{sp.latex(equations.notation(name))}}}{{dt}}"
            assert shown.get(left, 0.0) == pytest.approx(float(rate), rel=1e-4), (words, name)


def test_every_public_name_is_documented_once() -> None:
    pages = api_pages.pages()
    whole = "\n".join(pages.values())
    for name in api_pages.MODULES:
        for public in importlib.import_module(name).__all__:
            shown = re.search(rf":: {re.escape(name)}\.{public}$", pages[name], re.M)
            assert shown or f"- {public}: " in pages[name], (name, public)
    described = re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)$", whole, re.M)
    assert len(described) == len(set(described))


@pytest.mark.parametrize("name", ["recommend", "simulate", "sweep", "export", "analyse", "check"])
def test_options_are_those_of_the_command(name: str) -> None:
    table = command_options.options_of(name)
    assert table is not None
    assert "`--json`" in table
    assert command_options.options_of("no_such_command") is None


def test_every_command_has_a_page_with_its_options() -> None:
    for command in EXAMPLES:
        pages = (ROOT / "docs" / "use").glob(f"{command}*.md")
        text = "".join(page.read_text() for page in pages)
        assert f"```{{command-options}} {command}\n" in text, command


def test_a_missed_target_is_shown_as_missed() -> None:
    machine = {"processor": "P", "cores": 2, "system": "S", "python": "3.11"}
    found = {"figures": {"speed": 1.0, "size": 2.0}, "targets": {"speed": {"at_least": 3.0}}}
    found |= {"missed": ["speed"], "machine": machine, "seconds": 1.0, "date": "2026-01-01"}
    text = benchmark_tables.whole_table("one", found)
    assert "| `speed` | 1 | at least 3 | **missed** |" in text
    assert "| `size` | 2 |\n" in text
    assert "2026-01-01" in text


def test_kept_results_are_documents_of_benchmarks() -> None:
    kept = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert kept
    for path in kept:
        found = json.loads(path.read_text())
        assert path.stem in benchmark_tables.benchmarks()
        assert {"figures", "targets", "missed", "machine", "date", "seconds"} <= set(found)
        assert set(found["missed"]) <= set(found["targets"]) <= set(found["figures"])


def test_the_five_papers_are_cited() -> None:
    text = paper_pages.bibtex()
    for folder in (path.parent for path in (ROOT / "paper_repro").glob("*/claims.toml")):
        title = re.search(r'^title = "(.*)"', (folder / "claims.toml").read_text(), re.M)
        assert title
        assert f"{{{title[1]}}}" in text


def test_widgets_are_static() -> None:
    """Controls as label and value, outputs with their content, nothing that needs a script."""
    picture = {"output_type": "display_data", "data": {"image/png": "x"}, "metadata": {}}
    inside = ("slider", "choice", "image", "out")
    models = {
        "box": {"state": {"children": [f"IPY_MODEL_{name}" for name in inside]}},
        "slider": {"state": {"value": 3, "description": "alpha <"}},
        "choice": {"state": {"index": 1, "_options_labels": ["reno", "vegas"], "description": ""}},
        "out": {"state": {"outputs": [picture]}},
        "image": {
            "state": {"_model_name": "ImageModel", "format": "png"},
            "buffers": [{"path": ["value"], "encoding": "base64", "data": "x"}],
        },
    }
    view = {"data": {notebook_pages.VIEW: {"model_id": "box"}, "text/plain": ""}}
    notebook = {
        "metadata": {"widgets": {notebook_pages.STATES: {"state": models}}},
        "cells": [{"outputs": [view | {"output_type": "display_data"}, picture]}, {}],
    }
    still = notebook_pages.still(notebook)
    line, image, drawn, plain = still["cells"][0]["outputs"]
    assert image["data"]["image/png"] == "x"
    (text,) = line["data"]["text/html"]
    assert "<b>alpha &lt;</b> 3" in text
    assert "vegas" in text
    assert drawn == plain == picture
    assert "widgets" not in still["metadata"]


PRINTED = "At 10 Mbit/s,\n  alpha is 3.\nAt 20 it is 6.\nAt 40 it is 9.\n"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (PRINTED, "At 10 Mbit/s, alpha is 3.\\\nAt 20 it is 6."),
        ("Mbit/s    alpha\n    10        3\n", "It is proportional."),
        ("", "It is proportional."),
    ],
)
def test_the_card_of_a_notebook_has_its_last_picture_and_its_answer(printed, shown, tmp_path):
    """Two printed lines, or else the paragraph: a table does not fit on a card."""
    pictures = [b"first", b"last"]
    drawn = [
        {"data": {"image/png": base64.b64encode(picture).decode()}, "output_type": "display_data"}
        for picture in pictures
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Which alpha?\n", "\n", "Let us see."]},
        {"cell_type": "code", "source": "draw()", "outputs": drawn},
        {"cell_type": "markdown", "source": "## The answer"},
        {"cell_type": "code", "source": "", "outputs": [{"text": printed}]},
        {"cell_type": "markdown", "source": "It is proportional.\n\nNext: more."},
    ]
    path = tmp_path / "03_alpha.ipynb"
    path.write_text(json.dumps({"metadata": {}, "cells": cells}))
    text = notebook_pages.card(path, tmp_path)
    assert (tmp_path / "03_alpha.png").read_bytes() == b"last"
    assert "[Which alpha?](notebooks/03_alpha.ipynb)" in text
    assert f"\n\n{shown}\n\n" in text
    assert "{download}`03_alpha.ipynb <notebooks/03_alpha.ipynb>`" in text


class Fetched(HTMLParser):
    """The addresses that a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev", "search", "index"):
            return
        self.found += [value or "" for name, value in attrs if (tag, name) in LOADS]


def wait_for_other_build() -> None:
    """Wait while `make docs` runs here: two builds at once would damage the site."""
    begin = time.monotonic()
    while time.monotonic() < begin + LONGEST_BUILD:
        running = [each.info for each in psutil.process_iter(["cmdline", "cwd"])]
        if not any(
            each["cwd"] == str(ROOT) and (each["cmdline"] or [])[-2:] == ["make", "docs"]
            for each in running
        ):
            return
        time.sleep(1)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_fetches_nothing() -> None:
    """Warnings are broken links, too; scripts, pictures, styles and fonts are all local.

    Where `make docs` was run before, its site is brought up to date, which takes seconds.
    """
    wait_for_other_build()
    run = {path.name for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    if absent := sorted({path.name for path in (ROOT / "notebooks").glob("*.ipynb")} - run):
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say(f"the site needs executed notebooks (`make notebooks`): {absent[0]} is not there")
    site = ROOT / "build" / "docs"
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--nitpicky"]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text())
        assert parser.found
        far = [address for address in parser.found if re.match(r"(https?:)?//", address)]
        assert not far, (page.name, far)
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", style.read_text()), style

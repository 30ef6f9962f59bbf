"""Pages of the five papers from paper_repro, and how to cite, from CITATION.cff.

Each paper has a page with its README and its part of `paper_repro/report.md`, written at build
time; figures are copied beside it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["bibtex", "pages", "setup"]

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ROOT / "paper_repro"
KINDS = {"article": "article", "report": "techreport", "conference-paper": "inproceedings"}
PLACES = {
    "journal": "journal",
    "volume": "volume",
    "issue": "number",
    "number": "number",
    "url": "howpublished",
}


def report_parts() -> dict[str, str]:
    """The report's part of each paper, by its folder."""
    pieces = re.split(r'^<a id="(\w+)"></a>\n', (PAPERS / "report.md").read_text(), flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def pages() -> dict[str, str]:
    """The page of each paper by its folder's name."""
    return {name: page_of(name, part) for name, part in report_parts().items()}


def page_of(name: str, part: str) -> str:
    """README, and then the report, with figures beside the page."""
    readme = (PAPERS / name / "README.md").read_text()
    _, _, rest = part.strip().partition("\n")  # its heading is the page's
    report = f"## Claim by claim\n\n{rest.strip()}"
    return readme.rstrip() + "\n\n" + report.replace(f"]({name}/figures/", f"]({name}/") + "\n"


def write(app: Sphinx) -> None:
    """Write the pages that have changed, and copy the figures."""
    folder = Path(app.srcdir) / "papers" / "claims"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
        shutil.copytree(PAPERS / name / "figures", folder / name, dirs_exist_ok=True)


def summary() -> str:
    """The table of verdicts from paper_repro's README, with links to the pages here."""
    rows = [line for line in (PAPERS / "README.md").read_text().splitlines() if line[:1] == "|"]
    return re.sub(r"\]\((\w+)/README\.md\)", r"](claims/\1.md)", "\n".join(rows))


class PaperTable(SphinxDirective):
    """`paper-table`: verdicts by paper."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        self.env.note_dependency(str(PAPERS / "README.md"))
        return self.parse_text_to_nodes(summary())


def citation() -> dict[str, Any]:
    """CITATION.cff."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def names(authors: list[dict[str, str]]) -> str:
    """Authors as BibTeX has them; a group keeps its braces."""
    return " and ".join(
        f"{{{of['name']}}}" if "name" in of else f"{of['family-names']}, {of['given-names']}"
        for of in authors
    )


def entry(kind: str, key: str, given: dict[str, Any]) -> str:
    """A BibTeX entry."""
    lines = "".join(f"  {name:<12} = {{{value}}},\n" for name, value in given.items())
    return f"@{kind}{{{key},\n{lines}}}"


def bibtex() -> str:
    """Vegasfluid itself, and what it comes from."""
    cff = citation()
    own = {"title": cff["title"], "author": names(cff["authors"])}
    own |= {"version": cff["version"], "note": cff["license"]}
    return "\n\n".join([entry("software", "vegasfluid", own), *map(reference, cff["references"])])


def reference(given: dict[str, Any]) -> str:
    """One of the papers."""
    first = given["authors"][0]
    key = f"{first.get('family-names', 'net').lower()}{given['year']}"
    known = {"title": given["title"], "author": names(given["authors"]), "year": given["year"]}
    for name, value in given.items():
        if name in PLACES:
            known[PLACES[name]] = value
    if "institution" in given:
        known["institution"] = given["institution"]["name"]
    if "conference" in given:
        known["booktitle"] = given["conference"]["name"]
    return entry(KINDS.get(given["type"], "misc"), key, known)


class Citation(SphinxDirective):
    """`citation`: how to cite, from CITATION.cff."""

    def run(self) -> list[nodes.Node]:
        """The message and the entries."""
        self.env.note_dependency(str(ROOT / "CITATION.cff"))
        text = f"{citation()['message']}\n\n```bibtex\n{bibtex()}\n```"
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("paper-table", PaperTable)
    app.add_directive("citation", Citation)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

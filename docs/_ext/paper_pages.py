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
from references import bibtex_entry, references
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["bibtex", "pages", "setup"]

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ROOT / "paper_repro"


def report_parts() -> dict[str, str]:
    """The part of `paper_repro/report.md` on each paper, by the name of the paper's folder."""
    pieces = re.split(r'^<a id="(\w+)"></a>\n', (PAPERS / "report.md").read_text(), flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def pages() -> dict[str, str]:
    """The page of each paper as Markdown, by the name of its folder."""
    return {name: page_of(name, part) for name, part in report_parts().items()}


def page_of(name: str, part: str) -> str:
    """The page of a paper as Markdown: its README, then its part of the report.

    Links to figures point to the folder `name` beside the page.
    """
    readme = (PAPERS / name / "README.md").read_text()
    _, _, rest = part.strip().partition("\n")  # its heading is the page's
    report = f"## Claim by claim\n\n{rest.strip()}"
    return readme.rstrip() + "\n\n" + report.replace(f"]({name}/figures/", f"]({name}/") + "\n"


def write(app: Sphinx) -> None:
    """Write the papers' pages that have changed, and copy their figures."""
    folder = Path(app.srcdir) / "papers" / "claims"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
        shutil.copytree(PAPERS / name / "figures", folder / name, dirs_exist_ok=True)


def summary() -> str:
    """The table of verdicts from paper_repro's README, with links to the pages of the site."""
    rows = [line for line in (PAPERS / "README.md").read_text().splitlines() if line[:1] == "|"]
    return re.sub(r"\]\((\w+)/README\.md\)", r"](claims/\1.md)", "\n".join(rows))


class PaperTable(SphinxDirective):
    """Directive `paper-table`: the table of verdicts by paper."""

    def run(self) -> list[nodes.Node]:
        """Return the table of the papers and their verdicts."""
        self.env.note_dependency(str(PAPERS / "README.md"))
        return self.parse_text_to_nodes(summary())


def citation() -> dict[str, Any]:
    """The contents of CITATION.cff: authors, title, version, license and message by name."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def bibtex() -> str:
    """BibTeX entries of vegasfluid and of the papers that it reproduces, as text."""
    cff = citation()
    authors = " and ".join(f"{{{author['name']}}}" for author in cff["authors"])
    fields = {"title": cff["title"], "author": authors}
    fields |= {"version": cff["version"], "note": cff["license"]}
    papers = [source for source in references().values() if "claims" in source.fields]
    entries = [bibtex_entry(*source) for source in papers]
    return "\n\n".join([bibtex_entry("software", "vegasfluid", fields), *entries])


class Citation(SphinxDirective):
    """Directive `citation`: how to cite, from CITATION.cff."""

    def run(self) -> list[nodes.Node]:
        """Return the message of CITATION.cff and the BibTeX entries."""
        self.env.note_dependency(str(ROOT / "CITATION.cff"))
        text = f"{citation()['message']}\n\n```bibtex\n{bibtex()}\n```"
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the writing of the pages; pages may be read in parallel."""
    app.add_directive("paper-table", PaperTable)
    app.add_directive("citation", Citation)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

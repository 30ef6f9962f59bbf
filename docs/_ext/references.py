"""The literature of `docs/references.bib`: the role `cite` and the directive `references`.

{cite}`low2001`     links "Low, Peterson and Wang 2001" to its entry on the page of references
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

__all__ = ["Reference", "bibtex_entry", "references", "setup"]

BIBLIOGRAPHY = Path(__file__).resolve().parents[1] / "references.bib"
"""File of the bibliography."""
LOCAL_FIELDS = ("checked", "claims", "label")
"""Fields of our own, which no BibTeX style knows."""
VENUE_FIELDS = ("journal", "booktitle", "institution", "howpublished", "number")
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^  (\w+) *= \{(.*)\},$", re.M)


class Reference(NamedTuple):
    """An entry of the bibliography."""

    kind: str
    """BibTeX's type of entry, such as `article`."""
    key: str
    fields: dict[str, str]

    @property
    def label(self) -> str:
        """Short name without year, such as "Low, Peterson and Wang", or the field `label`."""
        if "label" in self.fields:
            return self.fields["label"]
        authors = [name.split(",")[0] for name in self.fields["author"].split(" and ")]
        if len(authors) > 3:
            authors = [f"{authors[0]} et al."]
        *others, last = authors
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def name(self) -> str:
        """The short name with the year; without it where the entry has a field `label` (RFCs)."""
        return self.label if "label" in self.fields else f"{self.label} {self.fields['year']}"

    @property
    def markdown(self) -> str:
        """The full entry as Markdown: authors, title, venue, year, and what was checked."""
        authors = self.fields["author"].replace(" and ", "; ")
        venue = [self.fields[name] for name in VENUE_FIELDS if name in self.fields]
        text = f"**{self.name}.** {authors}: *{self.fields['title']}*. "
        text += f"{', '.join([*venue, self.fields['year']])}. Checked: {self.fields['checked']}"
        if "claims" in self.fields:
            text += f" ([claims](papers/claims/{self.fields['claims']}.md))"
        return f"{text}."


@cache
def references() -> dict[str, Reference]:
    """All entries of `docs/references.bib` by key, in the order of the file.

    Raises:
        ValueError: if an entry lacks a field that every entry needs, or a key occurs twice.
    """
    found: dict[str, Reference] = {}
    for kind, key, body in ENTRY.findall(BIBLIOGRAPHY.read_text()):
        fields = dict(FIELD.findall(body))
        missing = {"author", "title", "year", "checked"} - set(fields)
        if missing or key in found or len(fields) != body.count("\n"):
            raise ValueError(f"{BIBLIOGRAPHY.name}: entry {key!r} is not valid ({sorted(missing)})")
        found[key] = Reference(kind, key, fields)
    return found


def bibtex_entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """A BibTeX entry as text, without the fields that only this site uses.

    Args:
        kind: BibTeX's type of entry, such as `article`.
        key: its key.
        fields: values of its fields by name.
    """
    lines = "".join(
        f"  {name:<12} = {{{value}}},\n"
        for name, value in fields.items()
        if name not in LOCAL_FIELDS
    )
    return f"@{kind}{{{key},\n{lines}}}"


class Cite(SphinxRole):
    """Role `cite`: the short name of a source, linked to its entry."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link to a source, and errors: one for an unknown key."""
        source = references().get(self.text)
        if source is None:
            message = self.inliner.reporter.error(f"no key {self.text!r} in {BIBLIOGRAPHY.name}")
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        target = {"refdomain": "std", "reftype": "ref", "reftarget": f"ref-{source.key}"}
        link = pending_xref("", refdoc=self.env.docname, refexplicit=True, refwarn=True, **target)
        link += nodes.inline("", source.name, classes=["std", "std-ref"])
        return [link], []


class References(SphinxDirective):
    """Directive `references`: all entries, each with an anchor for `cite`."""

    def run(self) -> list[nodes.Node]:
        """Return the list of all sources, each with an anchor to which `cite` links."""
        self.env.note_dependency(str(BIBLIOGRAPHY))
        labels = self.env.domains.standard_domain.anonlabels
        items = nodes.bullet_list()
        for source in references().values():
            anchor = f"ref-{source.key}"
            item = nodes.list_item("", *self.parse_text_to_nodes(source.markdown), ids=[anchor])
            labels[anchor] = (self.env.docname, anchor)
            items += item
        return [items]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and the directive with Sphinx; pages may be read in parallel."""
    app.add_role("cite", Cite())
    app.add_directive("references", References)
    return {"parallel_read_safe": True}

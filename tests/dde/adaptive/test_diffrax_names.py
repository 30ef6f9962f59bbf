"""The page's table of diffrax's arguments and fields states what `dde.solve` does with it."""

from __future__ import annotations

import inspect
import re

import diffrax

from tests.paths import ROOT
from vegasfluid import dde
from vegasfluid.dde.adaptive.options import Options

PAGE = (ROOT / "docs/dde/guide.md").read_text().split("## Coming from diffrax")[1].split("\n## ")[0]
ROWS = re.findall(r"^\| `(\w+)(?:\(\))?` \| (\w+) \|(.*)\|$", PAGE, re.MULTILINE)
METHODS = ["evaluate", "derivative"]


def test_the_table_is_complete_and_says_what_the_code_has():
    """A name is in the code just where the table states that it is served under this name."""
    arguments = list(inspect.signature(diffrax.diffeqsolve).parameters)
    arguments.remove("discrete_terminating_event")  # deprecated
    fields = [*inspect.get_annotations(diffrax.Solution), *METHODS]
    assert [name for name, _, _ in ROWS] == arguments + fields
    ours = {*inspect.signature(dde.solve).parameters, *Options.__annotations__}
    attributes = {*dde.Solution._fields, *METHODS}
    for number, (name, served, instead) in enumerate(ROWS):
        names = ours if number < len(arguments) else attributes
        assert (served in {"yes", "partly"}) == (name in names), name
        assert served in {"yes", "partly", "otherwise", "no"}
        assert instead.strip() or served == "yes", name

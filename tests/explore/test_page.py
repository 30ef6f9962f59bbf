"""Files of the page: colours are those of the plots, and scripts find what they use."""

from __future__ import annotations

import re

from vegasfluid.explore.schema import form_schema
from vegasfluid.explore.server import PAGE, TYPES
from vegasfluid.explore.single_file import page_with_runs
from vegasfluid.plot.style import CONTROLS, CYCLES

STYLE = (PAGE / "style.css").read_text()
SCRIPTS = {file.name: file.read_text() for file in PAGE.glob("*.js")}
HTML = (PAGE / "index.html").read_text()


def test_colours_are_those_of_the_plots():
    light, dark = STYLE.split(':root[data-theme="dark"]')[:2]
    for theme, text in (("light", light), ("dark", dark)):
        found = dict(re.findall(r"--c(\d): (#[0-9A-Fa-f]{6})", text))
        assert [found[str(number)] for number in range(7)] == list(CYCLES[theme])
    order = re.search(r"const ORDER = (\[.*\]);", SCRIPTS["colours.js"])
    assert order is not None
    assert order[1] == str(list(CONTROLS)).replace("'", '"')


def test_every_element_that_a_script_names_is_on_the_page():
    ids = set(re.findall(r'\bid="([^"]+)"', HTML + page_with_runs({})))
    used = set().union(
        *(re.findall(r'(?:page|getElementById)\("([^"$`]+)"\)', text) for text in SCRIPTS.values())
    )
    assert used
    assert used <= ids
    for button in re.findall(r'<button[^>]*id="([^"]+)"', HTML):
        assert f'"{button}"' in "".join(SCRIPTS.values())  # no button without a function


def test_modules_import_each_other_by_names_that_exist():
    for text in SCRIPTS.values():
        for names, file in re.findall(r'import \{ ([^}]+) \} from "\./([^"]+)"', text):
            for name in names.split(", "):
                assert re.search(rf"export (?:async )?(?:function\*?|const|class) {name}\b",
                                 SCRIPTS[file]), name  # fmt: skip


def test_all_files_have_a_known_type_and_lines_are_not_too_long():
    for file in PAGE.iterdir():
        assert file.suffix in TYPES
        assert len(file.read_text().splitlines()) <= 400


def test_the_form_knows_every_law_with_its_required_numbers():
    schema = form_schema()
    assert {"vegas", "reno", "cubic"} <= set(schema["law"])
    fields = {field["key"]: field for field in schema["aqm"]["red"]}
    assert fields["min_thresh_packets"]["required"]
    assert fields["max_drop"]["default"] == 0.1
    assert fields["ecn"]["type"] == "boolean"
    dialect = next(field for field in schema["law"]["vegas"] if field["key"] == "dialect")
    assert dialect["type"] == "choice"
    assert {"brakmo", "ns2", "ns3", "linux"} <= set(dialect["options"])
    host = next(field for field in schema["flows"] if field["key"] == "host")
    assert "linux" in host["options"]
    capacity = next(field for field in schema["link"] if field["key"] == "capacity_mbps")
    assert capacity["required"]
    assert capacity["default"] is None

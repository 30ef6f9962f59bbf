"""The commands of Start and the page of `explore`, as a new user meets them after installing."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest

from benchmarks import newcomer
from benchmarks.first_use import done
from tests.explore.conftest import missing_browser
from tests.paths import ROOT
from vegasfluid.modelfile import loads

RESULTS = ROOT / "benchmarks" / "results" / "newcomer.json"


def test_the_commands_and_the_file_of_start_are_found():
    commands = newcomer.commands()
    assert [arguments[0] for arguments in commands] == [
        "check", "check", "recommend", "recommend", "export",
    ]  # fmt: skip
    assert set(loads(newcomer.written_model()).network.flows) == {"reno", "vegas"}


def test_the_seconds_on_the_page_are_those_of_the_benchmark():
    figures = json.loads(RESULTS.read_text())["figures"]
    table = newcomer.START.split("## How long it takes")[1].split("## ")[0]
    found = re.findall(
        r"[\d.]+", "".join(row.split("|")[2] for row in table.splitlines() if "|" in row)
    )
    checks = figures["start.1.check_s"] + figures["start.2.check_s"]
    steps = ["install", "start.3.recommend", "start.4.recommend", "start.5.export"]
    steps += [
        f"explore.{name}"
        for name in ("first_picture", "plane", "buffer", "drag", "confirm", "recommend", "why")
    ]
    seconds = [figures[f"{step}_s"] for step in steps]
    assert [float(text) for text in found] == [
        float(f"{value:.2g}") for value in (seconds[0], checks, *seconds[1:])
    ]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_ten_minutes_are_enough_from_the_installation_to_an_export():
    """Each step checks its own effect, such as the moved point or the goal of a recommendation."""
    if missing := missing_browser():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    try:
        document = done(sys.executable, "-m", "benchmarks.newcomer", "--json")
    except RuntimeError as failed:
        if re.search("hatchling|uv is not here|network", str(failed)):
            pytest.skip(f"the wheel cannot be installed: {failed}")
        raise
    figures = json.loads(document)["figures"]
    steps = [name for name in figures if name != "all_s"]
    assert steps[0] == "install_s"
    assert steps[-1] == "explore.export_s"
    assert len(steps) == 14

"""The model file that the tests of commands share, and what they look at."""

from __future__ import annotations

import json
from pathlib import Path

SMALL = """
title = "Two against two"
duration_s = 20
warmup_s = 5

[bottleneck]
capacity_mbps = 10
buffer_packets = 100
aqm = { name = "red", min_thresh_packets = 20, max_thresh_packets = 80, max_drop = 0.1 }

[flows.reno]
count = 2
base_rtt_ms = 20
law = { name = "reno" }

[flows.vegas]
count = 2
base_rtt_ms = 20
start_s = { spread_s = 0.1 }
law = { name = "vegas", alpha_packets = 2, beta_packets = 4, dialect = "ns2" }
"""


WITHOUT_VEGAS = SMALL[: SMALL.index("[flows.vegas]")]


TWO_LINKS = """
duration_s = 20
[links.up]
capacity_mbps = 10
buffer_packets = 100
[links.down]
capacity_mbps = 10
buffer_packets = 100
[flows.reno]
count = 2
base_rtt_ms = 20
path = ["up", "down"]
law = { name = "reno" }
[flows.vegas]
count = 2
base_rtt_ms = 20
path = ["up"]
law = { name = "vegas" }
"""


OPTIONS = {"check": (), "simulate": (), "recommend": (), "export": ("--format", "ns2")}
"""What commands that read a model file need besides it."""


def edited(old: str, new: str) -> str:
    """The small model with one change."""
    assert old in SMALL
    return SMALL.replace(old, new, 1)


def written(folder: Path, text: str) -> str:
    path = folder / "model.toml"
    path.write_text(text)
    return str(path)


def refuse_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def document(text: str) -> dict:
    """The one JSON document that a text is; NaN and infinities are no JSON."""
    return json.loads(text, parse_constant=refuse_constant)


def assert_invalid_input(outcome: tuple[int, str, str], *parts: str) -> None:
    """One line on standard error, nothing on standard output, status 2."""
    status, out, err = outcome
    assert status == 2
    assert out == ""
    assert err.startswith("vegasfluid: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    for part in parts:
        assert part in err

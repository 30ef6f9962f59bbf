"""Examples of every command: shown by `--help`, and read by the pages about the commands.

Each can be typed as it stands, in the order of this file, in an empty folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["EXAMPLES", "Example", "epilog"]


class Example(NamedTuple):
    """A command line and what it is for."""

    line: str
    purpose: str


def _example(line: str, purpose: str) -> Example:
    return Example(f"vegasfluid {line}", purpose)


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "models": (
        _example("models", "What comes along."),
        _example("models weigle_feng_network2 --out mine.toml", "Begin a model of your own."),
    ),
    "check": (_example("check mine.toml", "Is it well formed, and does it say what was meant?"),),
    "recommend": (
        _example("recommend mine.toml", "Find alpha and beta that are fair."),
        _example("recommend mine.toml --explain", "And why, beside rules of thumb."),
        _example("recommend mine.toml --out tuned.toml", "Keep the model with these numbers."),
        _example(
            "recommend mine.toml --tune-queue --max-drop-share 0.01",
            "Tune RED, too, within a limit.",
        ),
    ),
    "export": (
        _example("export tuned.toml --format linux", "Settings for hosts and routers."),
        _example("export tuned.toml --format ns2 --out scenario.tcl", "A scenario that runs."),
    ),
    "simulate": (
        _example("simulate mine.toml", "One run of the fluid model."),
        _example("simulate mine.toml --engine packets --plot run.png", "Packets, and a picture."),
        _example(
            "simulate mine.toml --against packets --plot both.png", "Two engines in one picture."
        ),
    ),
    "sweep": (
        _example(
            "sweep mine.toml --over vegas.alpha_packets=1:200:9 --dry-run", "What it would take."
        ),
        _example(
            "sweep mine.toml --over vegas.alpha_packets=1:200:9 --out map.zarr",
            "Do it, or go on with it.",
        ),
    ),
    "analyse": (
        _example("analyse mine.toml", "Rest, stability and the fair alpha by theory."),
        _example("analyse mine.toml --certificate alpha.json", "Keep the proof of the fair alpha."),
    ),
    "certify": (
        _example("certify alpha.json --model mine.toml", "Prove it anew, and of which model."),
    ),
    "laws": (_example("laws", "What a model file may hold."),),
    "doctor": (
        _example("doctor", "Versions, devices, caches, and short runs that really run."),
        _example("doctor --clear-caches", "Let compiled code be compiled anew."),
    ),
}
"""By command, in the order in which they can be typed."""


def epilog(command: str, *, plain: bool = False) -> str:
    """The examples of a command as the end of its help.

    Args:
        command: its name.
        plain: for help without colours and boxes, whose lines would be joined otherwise.
    """
    keep = "\b\n" if plain else ""
    shown = [f"{keep}  {line}\n      {purpose}" for line, purpose in EXAMPLES[command]]
    return "\n\n".join(["Examples:", *shown])

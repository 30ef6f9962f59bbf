"""Examples of every command, shown by `--help` and in the documentation.

Each can be typed as it is, in the order of this file, in an empty folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["EXAMPLES", "Example", "epilog"]


class Example(NamedTuple):
    """A command line and its purpose."""

    line: str
    purpose: str


def _example(line: str, purpose: str) -> Example:
    """An example of the command line `vegasfluid LINE` with its purpose."""
    return Example(f"vegasfluid {line}", purpose)


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "init": (_example("init --out office.toml", "Answer six questions about your network."),),
    "models": (
        _example("models", "List the built-in models."),
        _example("models weigle_feng_network2 --out mine.toml", "Start a model of your own."),
    ),
    "observe": (
        _example("observe ss.txt", "Estimate the network from ss, with intervals."),
        _example("observe ss.txt --out network.toml", "Also write a model file with ranges."),
        _example("observe --before before.txt --after after.txt", "Did a change reach its goal?"),
    ),
    "check": (_example("check mine.toml", "Validate the file and show what it means."),),
    "recommend": (
        _example("recommend mine.toml", "Find fair values of alpha and beta."),
        _example("recommend mine.toml --explain", "Explain the result and compare rules of thumb."),
        _example(
            "recommend mine.toml --out tuned.toml", "Save the model with the recommended values."
        ),
        _example("recommend --last --out tuned.toml", "Save them after a search without --out."),
        _example(
            "recommend mine.toml --tune-queue --max-drop-share 0.01",
            "Tune RED as well, with a limit on drops.",
        ),
    ),
    "explore": (
        _example("explore mine.toml", "Open a page to change the network and its parameters."),
        _example("explore --no-browser", "Print the address only; a built-in model."),
        _example("explore mine.toml --out page.html", "Save the page, to show it to others."),
    ),
    "export": (
        _example("export tuned.toml --format linux", "Settings for hosts and routers."),
        _example("export tuned.toml --format ns2 --out scenario.tcl", "A runnable scenario."),
    ),
    "crosscheck": (
        _example("crosscheck tuned.toml --with ns2", "The recommended setting in ns-2."),
        _example("crosscheck tuned.toml --with ns2 --runs 6", "With more runs."),
    ),
    "simulate": (
        _example("simulate mine.toml", "One run of the fluid model."),
        _example(
            "simulate mine.toml --engine packets --plot run.png --out run.nc",
            "One packet run, with a plot and the data.",
        ),
        _example(
            "simulate mine.toml --against packets --plot both.png", "Two engines in one plot."
        ),
    ),
    "sweep": (
        _example(
            "sweep mine.toml --over vegas.alpha_packets=1:200:9 --dry-run",
            "Estimate time, memory and disk.",
        ),
        _example(
            "sweep mine.toml --over vegas.alpha_packets=1:200:9 --out map.zarr",
            "Run the sweep, or resume it.",
        ),
    ),
    "plot": (
        _example("plot map.zarr", "The sweep as a picture, map.png."),
        _example("plot map.zarr --metric utilisation --out use.png", "Another metric."),
        _example("plot run.nc --metric delay_distribution", "Distribution of round-trip times."),
    ),
    "analyse": (
        _example("analyse mine.toml", "Equilibrium, stability and the fair alpha."),
        _example("analyse mine.toml --certificate alpha.json", "Save the proof of the fair alpha."),
    ),
    "certify": (
        _example("certify alpha.json --model mine.toml", "Verify the proof for this model."),
    ),
    "notebooks": (
        _example("notebooks", "List the notebooks and the questions that they answer."),
        _example("notebooks --out notebooks", "Copy them, to run them in JupyterLab."),
    ),
    "laws": (_example("laws", "What a model file can contain."),),
    "doctor": (
        _example("doctor", "Check versions, devices, caches and engines."),
        _example("doctor --clear-caches", "Delete compiled code first."),
    ),
}
"""Examples by command, in the order in which they can be typed."""


def epilog(command: str, *, plain: bool = False) -> str:
    """Text with the examples of a command, for the end of its help page.

    Args:
        command: name of the command.
        plain: whether help is plain text, in which Click would join the lines otherwise.
    """
    keep = "\b\n" if plain else ""
    shown = [f"{keep}  {line}\n      {purpose}" for line, purpose in EXAMPLES[command]]
    return "\n\n".join(["Examples:", *shown])

"""What to do next: the last lines of a command's text, for people; never part of JSON."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from vegasfluid.cli.output import console
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network

__all__ = ["after_check", "after_export", "after_recommend", "show_next", "show_tries"]

RUNNERS = {
    "linux": "sh {} lists the parts, for each host and each router.",
    "freebsd": "sh {} lists the parts, for each host and each router.",
    "ns2": "ns {}",
    "ns3": "pip install ns3; python {}",
}
"""What is done with an exported file, by its system; first the one that most people have."""


def show_next(*steps: str) -> None:
    """Print what most people do now, a step a line; a command is never broken."""
    if not steps:
        return
    label = "Next: "
    lines = f"\n{' ' * len(label)}".join(steps)
    console().print(f"{label}{lines}", soft_wrap=True)


def show_tries(tries: Sequence[str]) -> None:
    """Print what could be tried where a goal was not reached."""
    out = console()
    out.print("What could be tried:")
    for line in tries:
        out.print(f"- {line}", soft_wrap=True)


def after_check(name: str, network: Network) -> str:
    """What a model that is well formed is good for: alpha is tuned where another class competes."""
    vegas = [isinstance(flows.law, Vegas) for flows in network.flows.values()]
    command = "recommend" if any(vegas) and len(vegas) > 1 else "simulate"
    return f"vegasfluid {command} {shlex.quote(name)}"


def after_recommend(name: str, out: Path | None, systems: Collection[str]) -> list[str]:
    """How what was found gets to where flows run: it is kept, and then exported.

    Args:
        name: the model.
        out: where it was kept; None: nowhere yet.
        systems: those that have settings for it.
    """
    kept = "tuned.toml" if out is None else shlex.quote(str(out))
    keep = [f"vegasfluid recommend {shlex.quote(name)} --out {kept}"] if out is None else []
    for system in RUNNERS:
        if system in systems:
            return [*keep, f"vegasfluid export {kept} --format {system}"]
    return keep


def after_export(system: str, first: Path) -> str:
    """How the first of the written files is used."""
    return RUNNERS[system].format(shlex.quote(str(first)))

"""Suggested next commands, printed at the end of text output; never part of JSON."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import typer

from vegasfluid.cli.output import console, is_quiet
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network

__all__ = ["after_check", "after_export", "after_recommend", "repeated", "show_next", "show_tries"]
__all__ += ["show_notes", "show_written"]

RUNNERS = {
    "linux": "sh {} lists its parts, one for each host and router.",
    "freebsd": "sh {} lists its parts, one for each host and router.",
    "openwrt": "Replace DEVICE_1 in {} by an interface, and copy it to /etc/config/sqm.",
    "sonic": "Replace PORT_1 and QUEUE_1 in {}, and load it with: sudo config load",
    "netns": "sudo sh {}",
    "ns2": "ns {}",
    "ns3": "pip install ns3; python {}",
}
"""How an exported file is used, by system; the most common system first."""


def show_next(*steps: str) -> None:
    """Print `Next:` and commands to continue with, one per line, never broken over lines.

    With --quiet, or without steps, nothing is printed.
    """
    if is_quiet() or not steps:
        return
    label = "Next: "
    lines = f"\n{' ' * len(label)}".join(steps)
    console().print(f"{label}{lines}", soft_wrap=True)


def show_notes(notes: Sequence[str]) -> None:
    """Print notes on the measurements that were read, each in one unbroken line."""
    for note in notes:
        console().print(f"Note: {note}", soft_wrap=True)


def show_tries(tries: Sequence[str]) -> None:
    """Print suggestions for a goal that was not reached."""
    out = console()
    out.print("Suggestions:")
    for line in tries:
        out.print(f"- {line}", soft_wrap=True)


def after_check(name: str, network: Network) -> str:
    """Command to continue with for valid model `name`.

    `recommend` if there are at least two classes, one of them of Vegas flows, else `simulate`.
    """
    vegas = [isinstance(flows.law, Vegas) for flows in network.flows.values()]
    command = "recommend" if any(vegas) and len(vegas) > 1 else "simulate"
    return f"vegasfluid {command} {shlex.quote(name)}"


def repeated(context: typer.Context, leave_out: Collection[str] = ()) -> str:
    """The command line of a command, with the options that the user gave, quoted for a shell.

    Args:
        context: Click context of the command.
        leave_out: names of parameters that are left out, such as `out` for `--out`.
    """
    words = ["vegasfluid", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in leave_out or source is None or source.name != "COMMANDLINE":
            continue
        words += words_of(parameter, context.params[name])
    return shlex.join(words)


def words_of(parameter: Any, value: Any) -> list[str]:
    """Words of a command line that give a Click parameter this value."""
    if parameter.param_type_name == "argument":
        return [str(value)]
    option = max(parameter.opts, key=len)
    if parameter.is_flag:
        return [option]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (option, str(one))]


def show_written(*files: Path | None) -> None:
    """Print the name of each file that was written; None: no such file was asked for."""
    for file in files:
        if file is not None:
            console().print(f"Written: {file}", soft_wrap=True)


def after_recommend(command: str, out: Path | None, systems: Collection[str]) -> list[str]:
    """Commands that save a recommendation, if it is not saved, and export it to one system.

    The system is the most common one in `systems`; there is no export command if it is empty.

    Args:
        command: the command line that computed it, without output files.
        out: file to which the result was saved; None: not saved.
        systems: systems that have equivalent settings.
    """
    file = "tuned.toml" if out is None else shlex.quote(str(out))
    keep = [f"{command} --out {file}"] if out is None else []
    for system in RUNNERS:
        if system in systems:
            return [*keep, f"vegasfluid export {file} --format {system}"]
    return keep


def after_export(system: str, first: Path) -> str:
    """Command or hint that uses the exported file `first` on a system."""
    return RUNNERS[system].format(shlex.quote(str(first)))

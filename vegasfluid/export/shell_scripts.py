"""Settings for hosts and routers: a shell script with a part for each, and config files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vegasfluid.export.dialects import VegasParameters, all_equal
from vegasfluid.export.quoting import comment
from vegasfluid.export.unsupported import equivalent
from vegasfluid.network import Flows

__all__ = ["case_statement", "config_files", "control_commands", "origin_comments"]


def case_statement(parts: Mapping[str, list[str]]) -> list[str]:
    """Lines of a shell `case` statement that runs the part named by the first argument.

    Args:
        parts: lines of each part, by its name.
    """
    lines = ["", 'case "${1:-}" in']
    for part, body in parts.items():
        lines += [f"{part})", *(f"    {line}" for line in body), "    ;;"]
    known = " ".join(parts)
    return [*lines, "*)", f'    echo "parts: {known}" >&2', "    exit 2", "    ;;", "esac"]


def control_commands(
    name: str, flows: Flows, controls: Mapping[str, tuple[str, str]], system: str
) -> tuple[list[str], tuple[str, str] | None]:
    """First lines of a host's part of the script, and what sets its congestion control.

    Args:
        name: name of the class that the host sends.
        flows: the class.
        controls: the system's name of each congestion control and of its kernel module.
        system: name of the system, for the error message.

    Returns:
        The lines, and the two names. Without congestion control, None instead of the names: the
        lines are then the whole part.

    Raises:
        InvalidInput: for a congestion control that the system does not have.
    """
    lines = comment(f"A host that sends {name} (flows in the model: {flows.count}).")
    if not flows.law.rules.reliable:
        lines += comment("It sends without congestion control: nothing to set.")
        return [*lines, ":"], None
    return lines, equivalent(controls, name, flows, system)


def origin_comments(vegas: Mapping[str, VegasParameters], begin: str) -> list[str]:
    """Comment lines: for which hosts Vegas parameters are, and how they were obtained.

    Args:
        vegas: parameters by class.
        begin: start of each comment, such as `Hosts`.
    """
    return [
        line
        for name, parameters in vegas.items()
        for line in comment(f"{begin} that send {name}: Vegas {parameters.origin}.")
    ]


def config_files(
    vegas: Mapping[str, VegasParameters],
    file: str,
    lines_of: Callable[[Mapping[str, VegasParameters]], list[str]],
) -> dict[str, str]:
    """Texts of config files by name: one, or one for each class if parameters differ.

    Args:
        vegas: Vegas parameters of each class; empty: no files.
        file: name of the file, with one dot; of several files, `NAME-1.ENDING` and so on.
        lines_of: function that returns the lines for classes with the same parameters.
    """
    if all_equal(vegas):
        hosts = {file: vegas} if vegas else {}
    else:
        stem, ending = file.split(".")
        numbered = enumerate(vegas.items(), start=1)
        hosts = {f"{stem}-{number}.{ending}": {name: one} for number, (name, one) in numbered}
    head = "# Written by vegasfluid."
    return {name: "\n".join([head, *lines_of(host)]) + "\n" for name, host in hosts.items()}

"""Settings for hosts and routers as shell scripts have them: a part for each, and config files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vegasfluid.export.quoting import comment
from vegasfluid.export.refusals import stands_for
from vegasfluid.export.spoken import Spoken, one_setting
from vegasfluid.network import Flows

__all__ = ["cases", "config_files", "control_of", "whose"]


def cases(parts: Mapping[str, list[str]]) -> list[str]:
    """The parts of a script, one chosen by the first argument."""
    lines = ["", 'case "${1:-}" in']
    for part, body in parts.items():
        lines += [f"{part})", *(f"    {line}" for line in body), "    ;;"]
    known = " ".join(parts)
    return [*lines, "*)", f'    echo "parts: {known}" >&2', "    exit 2", "    ;;", "esac"]


def control_of(
    name: str, flows: Flows, controls: Mapping[str, tuple[str, str]], system: str
) -> tuple[list[str], tuple[str, str] | None]:
    """The beginning of a host's part, and the system's name of its law and module.

    Returns:
        Lines, and None where the host sends without congestion control; then they are all.

    Raises:
        InvalidInput: for a law that the system does not have.
    """
    lines = comment(f"A host that sends {name} (flows in the model: {flows.count}).")
    if not flows.law.rules.reliable:
        lines += comment("It sends without congestion control: nothing to set.")
        return [*lines, ":"], None
    return lines, stands_for(controls, name, flows, system)


def whose(spoken: Mapping[str, Spoken], begin: str) -> list[str]:
    """Comments: which hosts parameters are for, and where these are from."""
    return [
        line
        for name, of in spoken.items()
        for line in comment(f"{begin} that send {name}: Vegas {of.told}.")
    ]


def config_files(
    spoken: Mapping[str, Spoken],
    file: str,
    lines_of: Callable[[Mapping[str, Spoken]], list[str]],
) -> dict[str, str]:
    """A config file for all hosts, or one for each class where their parameters differ.

    Args:
        spoken: the parameters of each class.
        file: its name; several are numbered.
        lines_of: writes it for classes with the same parameters.
    """
    if one_setting(spoken):
        hosts = {file: spoken} if spoken else {}
    else:
        stem, ending = file.split(".")
        numbered = enumerate(spoken.items(), start=1)
        hosts = {f"{stem}-{number}.{ending}": {name: of} for number, (name, of) in numbered}
    return {name: "\n".join(lines_of(own)) + "\n" for name, own in hosts.items()}

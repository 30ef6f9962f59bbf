"""What a command may answer, whatever the model file: rules that a fuzzer can check."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vegasfluid.cli.exit_status import BAD_INPUT, DONE, FAILED, OUT_OF_REACH

__all__ = ["Answer", "fault"]

STATUSES = (DONE, FAILED, BAD_INPUT, OUT_OF_REACH)
"""Exit statuses that a command may have on any model file."""
LONGEST_LINE = 1000
"""Characters of the longest message."""
ROUNDING = 1e-9
"""Part by which a share may exceed 1."""


@dataclass(frozen=True)
class Answer:
    """The answer of a command.

    Args:
        command: the arguments, without the program's name.
        status: exit status; None: an exception escaped, whose traceback is in `errors`.
        output: standard output.
        errors: standard error.
        seconds: CPU time, s; infinite: it was ended.
        peak: largest resident memory of the process so far, bytes.
    """

    command: tuple[str, ...]
    status: int | None
    output: str
    errors: str
    seconds: float
    peak: float = 0.0


def fault(answer: Answer) -> str:
    """What is wrong with an answer, in a few words; empty if nothing is."""
    if math.isinf(answer.seconds):
        return "hang"
    if answer.status is None or "Traceback" in answer.errors + answer.output:
        return "traceback"
    if answer.status not in STATUSES:
        return f"exit status {answer.status}"
    if not all(c.isprintable() or c in "\n\t" for c in answer.output + answer.errors):
        return "control character"
    if answer.status in (FAILED, BAD_INPUT):
        return message_fault(answer)
    return values_fault(answer)


def message_fault(answer: Answer) -> str:
    """What is wrong with an error message: its last line gives the reason, others are warnings."""
    if answer.command[0] == "check" and "--json" in answer.command:
        return check_fault(answer.output)
    lines = answer.errors.splitlines()
    if answer.output:
        return "output of a failed command"
    if not lines or not all(line.startswith("vegasfluid: ") for line in lines):
        return "error message without a line that begins with vegasfluid:"
    if any(not line.startswith("vegasfluid: Warning: ") for line in lines[:-1]):
        return "error message of several lines"
    return "long line" if len(lines[-1]) > LONGEST_LINE else ""


def check_fault(output: str) -> str:
    """What is wrong with the JSON of `check` for an invalid model file: it lists the errors."""
    document = json.loads(output)
    errors = document["errors"]
    if document["ok"] or not errors:
        return "invalid without an error"
    if any("\n" in error for error in errors):
        return "error of several lines"
    return "long line" if max(map(len, errors)) > LONGEST_LINE else ""


def values_fault(answer: Answer) -> str:
    """What is wrong with the JSON of a finished command."""
    if "--json" not in answer.command:
        return "" if answer.output else "no output"
    try:
        document = json.loads(answer.output, parse_constant=refuse)
    except ValueError as error:
        return f"not JSON: {error}"[:60]
    if answer.command[0] != "simulate":
        return ""
    return run_fault(document)


def refuse(name: str) -> None:
    """Refuse `NaN` and `Infinity`, which JSON does not have."""
    raise ValueError(f"{name} in JSON")


def run_fault(document: dict[str, Any]) -> str:
    """What is wrong with the values of a run: not finite, negative, or a share above 1."""
    for path, value in numbers([document["classes"], document["links"]]):
        name = path[-1]
        if value is None:
            return f"{name} is null"
        if value < 0:
            return f"{name} is negative"
        if name in ("utilisation", "drop_share", "retransmit_share") and value > 1 + ROUNDING:
            return f"{name} above 1"
    return ""


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All numbers and nulls in a JSON value, with the keys that lead to them."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from numbers(part, (*path, str(key)))
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value

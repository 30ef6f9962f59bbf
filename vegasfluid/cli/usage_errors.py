"""Typer's errors about a command line, in the form of all other error messages.

Typer's own texts often leave out what was given ("Input should be a valid integer") or the command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

try:
    from typer._click.exceptions import ClickException
except ImportError:  # Typer before it had its own copy of Click
    from click.exceptions import ClickException

from vegasfluid.errors import InvalidInput, Words

__all__ = ["ClickException", "usage_message"]

CHOICES = re.compile(r"(?P<given>'.*'|None) is not one of (?P<allowed>'.*')\.?$", re.DOTALL)
EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((?P<given>.*)\)", re.DOTALL)
NO_COMMAND = re.compile(r"No such command '(?P<given>.*?)'\.(?: Did you mean (?P<near>.*)\?)?$")
"""Texts of Typer that hold what its errors have no attribute for."""


def usage_message(error: ClickException, arguments: Sequence[str], name: str) -> str:
    """One line that says which command and option, what is allowed, and what was given.

    Args:
        error: the error of a command line that Typer could not read.
        arguments: the command-line arguments after the program name.
        name: the program's name, which is printed in front of the line.
    """
    command = getattr(getattr(error, "ctx", None), "info_name", None) or next(iter(arguments), name)
    text = error.message.removeprefix("Value error, ")
    if (param := getattr(error, "param", None)) is not None:
        message = of_parameter(error, param, command, text)
    elif option := getattr(error, "option_name", None):
        message = of_option(error, option, command, text)
    elif extra := EXTRA.match(text):
        message = f"{command}: unexpected argument {extra['given']}; --help shows the usage."
    elif unknown := NO_COMMAND.match(text):
        near = (unknown["near"] or "").replace("'", "")
        hint = f"did you mean {near}?" if near else "--help lists all."
        message = f"unknown command {unknown['given']}; {hint}"
    else:
        message = error.format_message()
    return message.removeprefix(f"{name}: ")


def of_parameter(error: Any, param: Any, command: str, text: str) -> str:
    """The message about the value of an option or argument, or that it is missing.

    Args:
        error: the error, whose cause may be pydantic's.
        param: the option or argument.
        command: the command's name.
        text: the error's own text.
    """
    label = option_or_argument(param)
    if type(error).__name__ == "MissingParameter":
        choices = (param.get_missing_message(ctx=error.ctx) or "").partition("Choose from:")[2]
        allowed = f"one of {' '.join(choices.split())}" if choices else "given"
        return str(InvalidInput(command, label, allowed, Words("missing")))
    if choice := CHOICES.match(text):
        allowed = f"one of {choice['allowed'].replace(chr(39), '')}"
        return str(InvalidInput(command, label, allowed, Words(choice["given"])))
    causes = getattr(error.__cause__ or error.__context__, "errors", list)()
    if causes and (allowed := allowed_number(causes[0]["type"], param)):
        return str(InvalidInput(command, label, allowed, Words(repr(causes[0]["input"]))))
    return f"{command}: {label} {text.rstrip('.')}."


def option_or_argument(param: Any) -> str:
    """The name by which a user knows a parameter: --seed, or MODEL."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name).upper().strip("{}[].")


def allowed_number(kind: str, param: Any) -> str:
    """The numbers that a parameter allows, in words; empty for an error that is not about a number.

    Args:
        kind: pydantic's name of the error, such as `int_parsing`.
        param: the option or argument, with `min` and `max` where it has bounds.
    """
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    limits = {
        (True, True): f"from {least} to {most}",
        (True, False): f"at least {least}",
        (False, True): f"at most {most}",
        (False, False): "",
    }[least is not None, most is not None]
    if kind.startswith(("less_than", "greater_than")):
        return limits
    number = {"int": "a whole number", "float": "a number"}.get(kind.partition("_")[0])
    return f"{number} {limits}".rstrip() if number else ""


def of_option(error: Any, option: str, command: str, text: str) -> str:
    """The message about an option that does not exist, lacks its value, or takes none.

    Args:
        error: the error, with `possibilities` for an option that does not exist.
        option: the option's name as it was given.
        command: the command's name.
        text: the error's own text.
    """
    if "requires" in text:
        return str(InvalidInput(command, option, "followed by a value", Words("last")))
    if "does not take" in text:
        return f"{command}: {option} takes no value."
    near = sorted(getattr(error, "possibilities", None) or ())
    hint = f"did you mean {' or '.join(near)}?" if near else "--help lists all."
    return f"{command}: unknown option {option}; {hint}"

"""What Typer cannot read of a command line: one line in the form of all other messages."""

from __future__ import annotations

import shutil
from types import UnionType
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import typer

from tests.paths import MODELS
from vegasfluid.cli.app import app
from vegasfluid.cli.exit_status import BAD_INPUT

MODEL = "weigle_feng_network2.toml"

COMMANDS = typer.main.get_command(app).commands
"""The commands, with their options, as Typer has them."""
FIRST: dict[str, tuple[str, ...]] = {
    "recommend": (MODEL,),
    "simulate": (MODEL,),
    "check": (MODEL,),
    "export": (MODEL,),
}
"""Arguments before an option, for commands that need them."""


def options() -> list[tuple[str, str]]:
    """All commands and options whose values are numbers or one of a few words."""
    return [
        (name, max(param.opts, key=len))
        for name, command in COMMANDS.items()
        for param in command.params
        if param.param_type_name == "option"
        and is_number_or_choice(get_type_hints(command.callback).get(param.name))
    ]


def is_number_or_choice(hint: object) -> bool:
    """Whether a type is int, float or a Literal, or one of these or None."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return any(kind in (int, float) or get_origin(kind) is Literal for kind in kinds)


@pytest.fixture
def refused(run, tmp_path, monkeypatch):
    """Run an invalid command line in a folder with a model; its only line, after the program."""
    shutil.copy(MODELS / MODEL, tmp_path)
    monkeypatch.chdir(tmp_path)

    def one(*arguments: str) -> str:
        status, out, err = run(*arguments)
        assert (status, out) == (BAD_INPUT, "")
        assert err.count("\n") == 1
        return err.removeprefix("vegasfluid: ").rstrip("\n")

    return one


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"recommend {MODEL} --seed x", "recommend: --seed must be a whole number, but is 'x'."),
        (f"recommend {MODEL} --seed=-4", "recommend: --seed must be 0 to 4294967295, but is -4."),
        (f"recommend {MODEL} --until", "recommend: --until must be followed by a value"),
        (f"recommend {MODEL} --explain=3", "recommend: --explain takes no value."),
        (f"recommend {MODEL} --seeds 3", "recommend: unknown option --seeds; did you mean --seed?"),
        (f"recommend {MODEL} -Q", "recommend: unknown option -Q; --help lists all."),
        (f"simulate {MODEL} --theme blue", "--theme must be one of light, dark, but is 'blue'."),
        (f"crosscheck {MODEL} --runs 1.5", "a whole number from 2 to 1000, but is '1.5'."),
        (f"explore {MODEL} --port 65536", "--port must be from 0 to 65535, but is '65536'."),
        (f"check {MODEL} more", "check: unexpected argument more; --help shows the usage."),
        (f"export {MODEL}", "export: --format must be one of linux, freebsd, "),
        ("simulate", "simulate: MODEL must be given, but is missing."),
        ("simulat", "unknown command simulat; did you mean simulate?"),
        ("zzz", "unknown command zzz; --help lists all."),
        ("--versio", "unknown option --versio; did you mean --version?"),
    ],
)
def test_the_line_says_whose_what_is_allowed_and_what_was_given(line, message, refused):
    assert message in refused(*line.split())


@pytest.mark.parametrize(("command", "option"), options())
def test_each_number_and_choice_of_each_command(command, option, refused):
    """A word where a number or one of a few words is wanted: each message has the same form."""
    given = refused(command, *FIRST.get(command, ()), option, "no such value")
    whose, _, rest = given.partition(": ")
    assert whose == command
    assert rest.startswith(f"{option} must be ")
    assert rest.endswith(", but is 'no such value'.")

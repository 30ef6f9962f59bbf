"""What shells complete: by the protocol of each, and in the shells that are here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.typed import command_on_path
from tests.paths import ROOT
from vegasfluid.cli.app import run_app

MINE = """
duration_s = 20
[flows.reno]
law = { name = "reno" }
[flows.fast]
law = { name = "vegas" }
"""
COMPLETED = {
    "vegasfluid rec": {"recommend"},
    "vegasfluid simulate mine.toml --engine ": {"fluid", "density", "packets"},
    "vegasfluid export mine.toml --format ": {"linux", "freebsd", "openwrt", "sonic"}
    | {"netns", "ns2", "ns3"},
    "vegasfluid crosscheck mine.toml --with n": {"ns2", "ns3"},
    "vegasfluid recommend mine.toml --tune-": {"--tune-queue", "--tune-gamma"},
    "vegasfluid recommend weigle_feng_network2_": {"weigle_feng_network2_two_way"},
    "vegasfluid recommend m": {"mine.toml", "more/other.toml"},
    "vegasfluid check more/o": {"more/other.toml"},
    "vegasfluid models three": {"three_equilibria"},
    "vegasfluid certify proof.json --model mi": {"mine.toml"},
    "vegasfluid recommend mine.toml --tune ": {"fast"},
    "vegasfluid sweep mine.toml --tune r": {"reno"},
    "vegasfluid recommend mine.toml --goal j": {"jain"},
}
IN_SHELLS = ("vegasfluid recommend m", "vegasfluid recommend mine.toml --tune ")
BASH = """
eval "$(_VEGASFLUID_COMPLETE=source_bash vegasfluid)"
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_vegasfluid_completion vegasfluid
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "_VEGASFLUID_COMPLETE=source_fish vegasfluid | source; complete -C $argv[1]"
ZSH = """
compdef() { :; }
eval "$(_VEGASFLUID_COMPLETE=source_zsh vegasfluid)"
_arguments() { print -r -- "$@"; }
_files() { print files; }
words=(${(z)1}); [[ $1 == *" " ]] && words+=("")
CURRENT=$#words
_vegasfluid_completion
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with a model, and one in a folder of it."""
    home = tmp_path_factory.mktemp("home")
    (home / "mine.toml").write_text(MINE)
    (home / "more").mkdir()
    (home / "more" / "other.toml").write_text(MINE)
    (home / "notes.txt").write_text("no model")
    return home


def ran(command: list[str], home: Path, **environment: str) -> str:
    """What a command prints in the folder; nothing goes to standard error."""
    path = f"{command_on_path(home)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=home,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def complete(home, capsys, monkeypatch):
    """What a shell receives, by its protocol."""
    monkeypatch.chdir(home)

    def one(**environment: str) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            run_app([])
        captured = capsys.readouterr()
        assert (ended.value.code, captured.err) == (0, "")
        return captured.out

    return one


def bash_asks(typed: str) -> dict[str, str]:
    """What bash completes on a line that is typed so far."""
    word = len(typed.split(" ")) - 1
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(word)}
    return {"_VEGASFLUID_COMPLETE": "complete_bash", **words}


@pytest.mark.parametrize("typed", COMPLETED)
def test_bash_gets_completions(complete, typed):
    assert set(complete(**bash_asks(typed)).split()) == COMPLETED[typed]


def test_zsh_and_fish_get_descriptions_of_completions(complete):
    typed = "vegasfluid recommend weigle_feng_network2_"
    zsh = complete(_VEGASFLUID_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=typed)
    assert '"weigle_feng_network2_two_way":"Network 2 with data in both directions' in zsh
    fish = complete(
        _VEGASFLUID_COMPLETE="complete_fish",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_ARGS=typed,
    )
    assert fish.startswith("weigle_feng_network2_two_way\tNetwork 2 with data in both directions")


@pytest.mark.parametrize("typed", IN_SHELLS)
def test_in_bash(home, typed):
    if shutil.which("bash") is None:
        pytest.skip("bash is not here")
    output = ran(["bash", "--norc", "-c", BASH, "bash", typed], home)
    assert set(output.split()) == COMPLETED[typed]


@pytest.mark.parametrize("typed", IN_SHELLS)
def test_in_fish(home, typed):
    if shutil.which("fish") is None:
        pytest.skip("fish is not here")
    output = ran(["fish", "--no-config", "-c", FISH, typed], home, HOME=str(home))
    assert {line.split("\t")[0] for line in output.splitlines()} == COMPLETED[typed]


@pytest.mark.parametrize("typed", IN_SHELLS)
def test_in_zsh(home, typed):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not here")
    output = ran(["zsh", "--no-rcs", "-c", ZSH, "zsh", typed], home)
    assert all(f'"{word}"' in output for word in COMPLETED[typed])
    assert output.startswith("*: :((")


@pytest.mark.parametrize("model", ["none.toml", "notes.txt", "more", "broken.toml"])
def test_what_cannot_be_read_completes_to_nothing(complete, tmp_path, monkeypatch, model):
    (tmp_path / "broken.toml").write_text("flows = 3 = 4")
    (tmp_path / "more").mkdir()
    (tmp_path / "notes.txt").write_text("no model")
    monkeypatch.chdir(tmp_path)
    assert complete(**bash_asks(f"vegasfluid recommend {model} --tune ")).strip() == ""


def test_a_completion_imports_nothing_heavy(home):
    code = (
        "import atexit, sys\n"
        "heavy = {'jax', 'numba', 'scipy', 'xarray', 'matplotlib', 'numpy'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "from vegasfluid.cli import main; main()"
    )
    output = ran(
        [sys.executable, "-c", code],
        home,
        **bash_asks("vegasfluid recommend mine.toml --tune "),
        PYTHONPATH=str(ROOT),
    )
    assert output.split() == ["fast", "[]"]

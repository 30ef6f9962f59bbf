"""How commands end otherwise: interrupted, failed, and with what loaded."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from tests.cli.commands import OPTIONS
from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.errors import SolveFailed


def test_interrupted(run, small, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(modelfile, "read_model", interrupt)
    for command, options in OPTIONS.items():
        status, out, err = run(command, small, *options)
        assert (status, out) == (130, "")
        assert err.strip() == "vegasfluid: interrupted."


def test_failed_computation(run, small, monkeypatch):
    def fail(*arguments):
        raise SolveFailed("the state was not finite\nat t = 3.")

    monkeypatch.setattr("vegasfluid.cli.simulate.simulate_model", fail)
    status, out, err = run("simulate", small)
    assert (status, out) == (1, "")
    assert err == "vegasfluid: the state was not finite at t = 3.\n"


def test_the_system_s_errors_name_the_file_and_the_reason(run, small, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "private")

    monkeypatch.setattr(modelfile, "read_model", refuse)
    status, out, err = run("simulate", small)
    assert (status, out) == (2, "")
    assert err == "vegasfluid: private: Permission denied.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("check", "MODEL"),
        ("laws", "--json"),
        ("models",),
        ("export", "MODEL", "--format", "ns2"),
    ],
)
def test_quick_commands_import_neither_jax_nor_numba(arguments):
    """In a separate process, by the entry point; the status is that of the command."""
    model = str(MODELS / "weigle_feng_network1.toml")
    given = [model if argument == "MODEL" else argument for argument in arguments]
    code = (
        "import atexit, sys\n"
        "heavy = {'jax', 'jaxlib', 'numba', 'scipy', 'xarray', 'matplotlib'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "from vegasfluid.cli import main\n"
        f"main({given!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr == "[]\n"


def test_exit_status_reaches_the_shell():
    code = "from vegasfluid.cli import main; main(['check', 'none.toml'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1

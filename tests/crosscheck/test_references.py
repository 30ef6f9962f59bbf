"""What is installed, what is missing and how to get it, and programs that fail or are stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.paths import ROOT
from tests.signals import end_of, start
from vegasfluid.crosscheck import references
from vegasfluid.crosscheck.linux import privileged, user_mode
from vegasfluid.crosscheck.programs import ProgramFailed, run_program, scenario_folder
from vegasfluid.errors import ComputationFailed, InvalidInput, NotInstalled


def program(folder: Path, name: str, text: str) -> Path:
    """A shell program in a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    """A path for programs on which there are none but the shell's."""
    for name in ("sh", "sleep", "cat"):
        (tmp_path / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VEGASFLUID_NS3_PYTHON", "python-of-nobody")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ns2", r"^crosscheck: --with ns2 needs the program ns \(apt-get install ns2\)\.$"),
        (
            "ns3",
            r"^crosscheck: --with ns3 needs the Python that \$VEGASFLUID_NS3_PYTHON names \(pip",
        ),
    ],
)
def test_what_is_missing_is_said_with_how_to_get_it(empty, name, message):
    with pytest.raises(NotInstalled, match=message):
        references([name])


def test_without_anything_all_is_named(empty):
    with pytest.raises(NotInstalled, match="needs ns-2, ns-3 or a Linux kernel"):
        references()


def test_what_is_installed_is_found(empty):
    program(empty, "ns", "echo ran $1 $2")
    found = references()
    assert list(found) == ["ns2"]
    assert found["ns2"].run(empty, 7) == "ran scenario.tcl 7\n"


@pytest.mark.parametrize("name", ["ns4", ""])
def test_unknown_references_are_rejected(name):
    with pytest.raises(InvalidInput, match="--with must be one of ns2, ns3, linux"):
        references([name])


def test_kernels_are_for_linux_only(empty):
    with pytest.raises(InvalidInput, match="--kernel must be left out without --with linux"):
        references(["ns2"], Path("linux"))


@pytest.mark.parametrize("text", [None, "exit 1", "echo no version", "echo", "sleep 100"])
def test_what_is_no_kernel_is_rejected(tmp_path, monkeypatch, text):
    monkeypatch.setattr(user_mode, "LONGEST_QUESTION", 0.5)
    path = program(tmp_path, "linux", text) if text else tmp_path
    with pytest.raises(InvalidInput, match="--kernel must be a User Mode Linux kernel"):
        references(["linux"], path)


def test_kernel_is_booted_on_the_same_words_in_every_folder(tmp_path, monkeypatch):
    """They are mixed into its random numbers."""
    answers = '[ "$1" = --version ] && echo 6.1.5 && exit; echo 0 > status; echo done > output'
    kernel = program(tmp_path, "linux", answers)
    monkeypatch.setattr(user_mode, "require_programs", lambda: None)
    found = references(["linux"], kernel)["linux"]
    assert (found.title, found.format) == ("Linux 6.1.5", "netns")
    assert found.run(tmp_path, 4) == "done\n"
    assert (tmp_path / "seed").read_text() == "4\n"
    command = user_mode.boot_command(kernel)
    assert {"time-travel=inf-cpu", "rootfstype=hostfs", "ro"} <= set(command)
    assert not any(str(tmp_path) in word for word in command if word != str(kernel))
    assert user_mode.environment_of(tmp_path, 4)["UML_SEED"] == "4"


def test_kernel_that_panics_is_quoted(tmp_path, monkeypatch):
    text = '[ "$1" = --version ] && echo 6.1.5 && exit; echo Kernel panic; exit 134'
    monkeypatch.setattr(user_mode, "require_programs", lambda: None)
    found = references(["linux"], program(tmp_path, "linux", text))["linux"]
    with pytest.raises(ComputationFailed, match="the kernel ended with status 134: Kernel panic"):
        found.run(tmp_path, 4)


@pytest.mark.parametrize(
    ("left", "message"),
    [
        ({}, "the kernel stopped before the test had ended"),
        ({"status": "2\n", "errors": "one\ntest.sh: no\n"}, "failed in the kernel: test.sh: no"),
        ({"status": "1\n", "errors": ""}, "failed in the kernel: it printed nothing"),
    ],
)
def test_kernels_that_do_not_finish_say_why(tmp_path, left, message):
    for name, text in left.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ComputationFailed, match=message):
        user_mode.result_of(tmp_path)


def test_this_kernel_needs_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotInstalled, match=r"needs root on a Linux machine \(or --kernel PATH"):
        references(["linux"])


def test_this_kernel_needs_iproute(empty, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NotInstalled, match=r"the program ip \(apt-get install iproute2\)"):
        references(["linux"])


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (2, NotInstalled, r"--with linux needs a machine that can run its test: no netem \(or --k"),
        (1, ComputationFailed, "sh ended with status 1: test.sh: no netem"),
    ],
)
def test_this_kernel_says_what_it_lacks(tmp_path, monkeypatch, status, kind, message):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(privileged, "require_programs", lambda: None)
    program(tmp_path, "test.sh", f"echo 'test.sh: no netem' >&2; exit {status}")
    found = references(["linux"])["linux"]
    assert (found.format, found.parallel) == ("netns", False)
    with pytest.raises(kind, match=message):
        found.run(tmp_path, 1)
    program(tmp_path, "test.sh", 'echo "$1 $PYTHON"')
    assert found.run(tmp_path, 3) == f"3 {sys.executable}\n"


def test_programs_that_fail_are_quoted(tmp_path):
    with pytest.raises(ProgramFailed, match="sh ended with status 3: last words"):
        run_program(["sh", "-c", "echo first >&2; echo last words >&2; exit 3"], tmp_path)
    with pytest.raises(ProgramFailed, match="it printed nothing"):
        run_program(["sh", "-c", "exit 1"], tmp_path)


def test_files_are_there_while_a_program_runs():
    with scenario_folder({"a.txt": "text"}) as folder:
        assert (folder / "a.txt").read_text() == "text"
    assert not folder.exists()


STOPPED = """
from vegasfluid.crosscheck.programs import run_program, scenario_folder
from vegasfluid.interruption import exit_at_signals
exit_at_signals("program")
with scenario_folder({"a.txt": "text"}) as folder:
    print(folder, flush=True)
    run_program(["sh", "-c", "sleep 1000 & sleep 1000; wait"], folder)
"""


def test_a_signal_ends_the_program_and_deletes_its_folder(tmp_path):
    process = start([sys.executable, "-c", STOPPED], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    children: list[psutil.Process] = []
    for _ in range(200):
        children = psutil.Process(process.pid).children(recursive=True)
        if len(children) == 3:
            break
        time.sleep(0.05)
    assert len(children) == 3
    process.send_signal(signal.SIGTERM)
    _, err = end_of(process)
    assert (process.returncode, err) == (128 + signal.SIGTERM, "program: terminated.\n")
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    assert not folder.exists()

"""How much memory runs may use together, and who sets it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from vegasfluid import InvalidInput, TooLarge, memory
from vegasfluid.cli.app import run_app
from vegasfluid.sweep import packet_tasks

MODEL = "weigle_feng_network2"


def test_the_variable_replaces_half_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    half = memory.allowed_memory()
    monkeypatch.setenv(memory.VARIABLE, "1.5")
    assert memory.allowed_memory() == 1.5 * 2**30
    monkeypatch.setenv(memory.VARIABLE, "")
    assert memory.allowed_memory() == half


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "inf"])
def test_another_value_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(InvalidInput, match=f"{memory.VARIABLE} must be .* but is '?{text}"):
        memory.allowed_memory()


def test_a_limit_ends_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "7"):
        if before is not None:
            monkeypatch.setenv(memory.VARIABLE, before)
        with (
            memory.memory_limited(2),
            pytest.raises(TooLarge, match="limit that was set"),
        ):
            memory.require_memory(3 * memory.GIB, "the run", "wait")
        assert os.environ.get(memory.VARIABLE) == before


@pytest.mark.parametrize("engine", ["packets", "fluid"])
def test_a_command_keeps_to_its_limit(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", MODEL, "--engine", engine, "--max-memory", "1e-6"]
    assert run_app(arguments) == 2
    assert "GiB, the limit that was set; " in capsys.readouterr().err
    assert memory.VARIABLE not in os.environ


def test_processes_of_a_sweep_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []

    def cluster(**settings: Any) -> None:
        started.append(settings)
        raise OSError("not started")

    monkeypatch.setattr(packet_tasks, "LocalCluster", cluster)
    cluster_of_four = packet_tasks.connect(workers=4, scheduler=None)
    with memory.memory_limited(6), pytest.raises(OSError, match="not started"), cluster_of_four:
        pass
    assert float(started[0]["env"][memory.VARIABLE]) == 1.5


@pytest.mark.parametrize("given", ["0", "-3", "nan", "inf", "much"])
@pytest.mark.parametrize("command", ["recommend", "simulate", "sweep", "crosscheck"])
def test_a_limit_that_is_none_is_refused(
    command: str, given: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    grid = ["--over", "vegas.alpha_packets=1,2", "--out", str(tmp_path / "s.zarr")]
    more = grid if command == "sweep" else []
    assert run_app([command, MODEL, *more, "--max-memory", given]) == 2
    error = capsys.readouterr().err
    assert "--max-memory" in error
    assert given in error or given == "much"  # which Typer does not quote
    assert error.count("\n") == 1

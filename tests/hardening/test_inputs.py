"""Every command on models that once ended in a traceback, a hang or a wrong number (inputs/)."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hardening.answers import numbers
from tests.paths import ROOT
from vegasfluid.cli.app import run_app

INPUTS = sorted((ROOT / "tests" / "hardening" / "inputs").glob("*.toml"))
RUNS = {
    "fluid_464GB",
    "hang_density_cubic_1ms",
    "fluid_buffer_1e9",
    "no_other_flow_starts",
    "nultitle",
    "queue_stands_still_full",
    "num_density_over_a4fd8765",
    "num_fluid_negative_drops",
    "num_fluid_over_0e0a5c90",
    "num_fluid_over_73f1d623",
    "recommend_20000_flows",
    "sw",
    "sweep_class_dotdot",
    "ctrl_c_ignored_packets",
}
"""Inputs that are valid models now; the others are rejected when they are read."""
LONGEST = 120
"""Seconds after which a command counts as hanging; it takes a few, and more on a busy machine."""
LONGEST_REFUSAL = 10.0
"""CPU time after which an invalid file must be rejected, s."""

COMPUTES = {"recommend_20000_flows", "hang_density_cubic_1ms"}
"""Inputs whose runs take longer than compiling them."""


def marks(path: Path) -> list[pytest.MarkDecorator]:
    """Marks of a valid input."""
    return [pytest.mark.slow] + [pytest.mark.unoptimised] * (path.stem not in COMPUTES)


VALID = [pytest.param(path, marks=marks(path)) for path in INPUTS if path.stem in RUNS]
INVALID = [path for path in INPUTS if path.stem not in RUNS]
EITHER = [*INVALID, *VALID]
SHORT = [case for case in EITHER if "ctrl_c_ignored_packets" not in str(case)]
"""Inputs without the one that may take long: its fluid run has 5e7 steps."""
OPTIONS = {"recommend_20000_flows": ("--max-memory", "1")}
"""Options of `recommend` for some inputs: without this one it computes for a minute."""
FAILS = {("num_density_over_a4fd8765", "density")}
"""Runs whose equations leave their domain, which the engine reports (status 1, in one line)."""
FORMATS = ["linux", "freebsd", "ns2", "ns3"]


def case(path: Path) -> str:
    return path.stem


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {LONGEST} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit status and standard output; an error is one printable line and status 2."""
    began = time.process_time()
    status = run_app([*arguments])
    computed = time.process_time() - began
    output, errors = capsys.readouterr()
    assert computed < LONGEST_REFUSAL or Path(arguments[1]).stem in RUNS
    failed = status == 1 and (Path(arguments[1]).stem, arguments[3]) in FAILS
    assert failed or status in (0, 2, 3), errors
    if status in (1, 2):
        assert errors.startswith("vegasfluid: ")
        assert errors.count("\n") == 1
        assert len(errors) < 500
    text = output + errors
    assert all(c.isprintable() or c in "\n\t" for c in text)
    return status, output


@pytest.mark.parametrize("path", INPUTS, ids=case)
def test_check(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = answer(capsys, "check", str(path))
    assert status == (0 if path.stem in RUNS else 2)


@pytest.mark.parametrize("engine", ["packets", "fluid", "density"])
@pytest.mark.parametrize("path", SHORT, ids=case)
def test_simulate(path: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = answer(capsys, "simulate", str(path), "--engine", engine, "--json")
    if status == 0:
        document = json.loads(output)
        for _, value in numbers([document["classes"], document["links"]]):
            assert value is not None
            assert math.isfinite(value)
        for link in document["links"].values():
            assert 0 <= link["utilisation"] <= 1 + 1e-9
            assert 0 <= link["drop_share"] <= 1


@pytest.mark.parametrize("path", SHORT, ids=case)
def test_recommend(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = OPTIONS.get(path.stem, ())
    status, output = answer(capsys, "recommend", str(path), "--runs", "2", "--json", *options)
    if status != 2:
        assert math.isfinite(json.loads(output)["recommended"]["alpha_packets"])


@pytest.mark.parametrize("path", SHORT, ids=case)
def test_analyse(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "analyse", str(path), "--json")


@pytest.mark.parametrize("system", FORMATS)
@pytest.mark.parametrize("path", EITHER, ids=case)
def test_export(path: Path, system: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "export", str(path), "--format", system)

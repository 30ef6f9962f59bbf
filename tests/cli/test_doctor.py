"""`vegasfluid doctor`: what it checks, and what it reports where something is wrong."""

from __future__ import annotations

import json
import sys

import pytest

from vegasfluid import caches
from vegasfluid.cli.app import run_app
from vegasfluid.cli.doctor import checks, environment, report, short_runs
from vegasfluid.cli.doctor.short_runs import Outcome

WELL = {
    "queue_packets": 15.0,
    "utilisation": 1.0,
    "goodput_packets_per_s": 166.0,
    "files": "",
    "devices": [{"platform": "cpu", "kind": "cpu"}],
}


@pytest.fixture
def doctor(capsys, monkeypatch):
    """Run the doctor with given outcomes of its trials; the status and what it prints."""

    def one(*options: str, fluid: Outcome, packets: Outcome) -> tuple[int, str]:
        monkeypatch.setattr(report, "run_engines", lambda: {"fluid": fluid, "packets": packets})
        monkeypatch.delenv("COLUMNS", raising=False)  # lines are not broken in a pipe
        status = run_app(["doctor", *options])
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, captured.out

    return one


def well(**other: object) -> Outcome:
    """An outcome with other numbers here and there."""
    return Outcome(WELL | other, "", 1.0)


@pytest.mark.slow
def test_both_engines_really_run():
    """In separate processes, as the doctor has them run; theory gives the expected results."""
    result = checks.run_engines()
    assert all(outcome.failed == "" for outcome in result.values())
    for outcome in result.values():
        assert (
            5 <= outcome.numbers["queue_packets"] <= 25
        )  # alpha 2, beta 4, five flows; one more or less
        assert outcome.numbers["utilisation"] == pytest.approx(1.0, abs=0.01)
        assert outcome.numbers["goodput_packets_per_s"] == pytest.approx(10e6 / 12000 / 5, rel=0.01)
    assert result["packets"].numbers["files"] == ""
    assert result["fluid"].numbers["devices"][0]["platform"] in ("cpu", "gpu")


def test_all_is_well(doctor):
    status, out = doctor(fluid=well(), packets=well())
    assert status == 0
    assert "All checks passed" in out
    status, out = doctor("--json", fluid=well(), packets=well())
    document = json.loads(out)
    assert (status, document["ok"]) == (0, True)
    assert document["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {cache["name"] for cache in document["caches"]} == {"jax", "fluid", "numba"}
    assert all(cache["writable"] for cache in document["caches"])
    assert {part["name"] for part in document["parts"]} == {
        "GPU",
        "sweeps",
        "notebooks",
        "ns-2",
        "ns-3",
    }
    assert all(check["ok"] for check in document["checks"])


BROKEN = {
    "crashed": (well(), Outcome({}, "it crashed (signal 4)", 1.0), "it crashed (signal 4)"),
    "given up": (Outcome({}, "no result after 300 s", 300.0), well(), "no result"),
    "too long a queue": (
        well(queue_packets=80.0),
        well(),
        "mean queue 80.0 packets; expected 99% and 5 to 25",
    ),
    "an idle link": (well(utilisation=0.5), well(), "utilisation 50.0%"),
    "two minds": (well(), well(goodput_packets_per_s=200.0), "166.0 and 200.0 packets/s"),
    "no files": (well(), well(files="ImportError: no h5py"), "ImportError: no h5py"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_failed_checks_are_reported_with_a_remedy(doctor, case):
    fluid, packets, part = BROKEN[case]
    status, out = doctor(fluid=fluid, packets=packets)
    assert status == 3
    assert part in out
    assert "FAILED" in out
    assert "Some checks failed" in out
    assert "pip install --upgrade vegasfluid" in out or "vegasfluid doctor --json" in out


def test_a_cache_that_cannot_be_written_is_reported(doctor, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path / "file"))
    status, out = doctor(fluid=well(), packets=well())
    assert status == 3
    assert "set VEGASFLUID_CACHE_DIR to a writable folder" in out


def test_a_cache_that_others_can_write_to_is_reported(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path / "cache"))
    assert doctor(fluid=well(), packets=well())[0] == 0
    (tmp_path / "cache" / "numba").chmod(0o777)
    status, out = doctor(fluid=well(), packets=well())
    assert status == 3
    assert "other users can write to" in out
    assert "yours alone" in out
    assert doctor("--clear-caches", fluid=well(), packets=well())[0] == 0


def test_libraries_that_are_missing_or_too_old_are_reported(monkeypatch):
    needed = ["numpy>=2", "scipy>=99", "no-such-library>=1", "jax>=9; extra == 'other'"]
    monkeypatch.setattr(environment, "requires", lambda name: needed)
    sentences = environment.missing(environment.packages())
    assert len(sentences) == 2
    assert sentences[0].startswith("scipy>=99 is required, found 1.")
    assert sentences[1] == "no-such-library>=1 is required, found none"


def test_a_gpu_that_jax_does_not_use_is_noted(doctor, monkeypatch):
    monkeypatch.setattr(report, "nvidia_gpu", lambda: True)
    status, out = doctor(fluid=well(), packets=well())
    assert status == 0
    assert "pip install 'vegasfluid[cuda13]'" in out.split("Note: ")[1]
    assert (
        "Note: "
        not in doctor(fluid=well(devices=[{"platform": "gpu", "kind": "H"}]), packets=well())[1]
    )


def test_caches_are_cleared_and_nothing_else(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path))
    (tmp_path / "mine").write_text("")
    for folder in caches.cache_folders().values():
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "code").write_bytes(b"12345")
    kept = environment.caches()
    assert [(entry["files"], entry["bytes"]) for entry in kept] == [(1, 5)] * 3
    doctor("--clear-caches", fluid=well(), packets=well())
    assert [(entry["files"], entry["bytes"]) for entry in environment.caches()] == [(0, 0)] * 3
    assert (tmp_path / "mine").exists()


def test_a_trial_that_fails_crashes_or_hangs_is_an_outcome(monkeypatch):
    monkeypatch.setattr(short_runs.sys, "executable", "/bin/false")
    assert short_runs.run_in_process("fluid").failed == "it ended with status 1"
    monkeypatch.undo()
    assert "KeyError: 'none'" in short_runs.run_in_process("none").failed
    assert "no result after 0.01 s" in short_runs.run_in_process("fluid", limit=0.01).failed

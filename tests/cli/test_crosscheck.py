"""`crosscheck`: what it prints, its verdicts and its statuses, with a reference that is made up."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import SMALL, assert_invalid_input, document, edited, written

NS = shutil.which("ns")
SHORT = ("--with", "ns2", "--runs", "5", "--until", "60", "--warmup", "20")


@pytest.fixture
def fake_ns(tmp_path, monkeypatch):
    """A program `ns` that prints what it is given here, in packets/s."""

    def install(reno: float, vegas: float, queue: float = 30.0, drops: float = 0.01) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        lines = [
            f"class reno count 2 goodput_packets_per_s {reno}",
            f"class vegas count 2 goodput_packets_per_s {vegas}",
            f"link bottleneck queue_packets {queue} drop_share {drops}",
        ]
        (folder / "ns").write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
        (folder / "ns").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return install


def test_what_agrees_ends_well_and_what_does_not_with_status_3(run, small, fake_ns):
    fake_ns(1.0, 1.0)
    status, out, err = run("crosscheck", small, *SHORT, "--json")
    result = document(out)
    assert (status, err) == (3, "")
    keys = {"model", "version", "seed", "runs", "duration_s", "warmup_s", "references"}
    assert set(result) == keys
    assert (result["runs"], result["duration_s"], result["warmup_s"]) == (5, 60, 20)
    classes, links = (result["references"]["ns2"][key] for key in ("classes", "links"))
    assert classes["reno"]["verdict"] == "outside"
    assert classes["reno"]["goodput_mbps"]["reference"] == pytest.approx(0.012)
    ours = [classes[name]["goodput_mbps"]["packets"] / 0.012 for name in ("reno", "vegas")]
    queue, drops = (links["bottleneck"][key]["packets"] for key in ("queue_packets", "drop_share"))
    fake_ns(*ours, queue, drops)
    status, out, err = run("crosscheck", small, *SHORT)
    assert (status, err) == (0, "")
    assert "5 runs each, seeds 1 to 5, averages from 20 to 60 s\n" in out
    assert out.count("inside\n") == 6
    assert "ns-2, reno: inside.\nns-2, vegas: inside.\n" in out
    fake_ns(ours[0] * 0.7, ours[1] * 1.3, queue, drops)
    status, out, err = run("crosscheck", small, *SHORT)
    assert (status, err) == (3, "")
    assert "ns-2, reno: outside (goodput 30% below ours; ratio 46% below ours).\n" in out
    assert "ns-2, vegas: outside (goodput 30% above ours; ratio 86% above ours).\n" in out


def test_bad_input_is_rejected_in_one_line(run, small, tmp_path, fake_ns):
    fake_ns(1.0, 1.0)
    assert_invalid_input(run("crosscheck", "no.toml"), "must be a model file")
    assert_invalid_input(
        run("crosscheck", small, "--with", "ns4"), "--with must be one of ns2, ns3, linux"
    )
    assert_invalid_input(run("crosscheck", small, "--runs", "1"), "--runs")
    assert_invalid_input(
        run("crosscheck", small, *SHORT[:4], "--until", "3"), "until must be above the warm-up of"
    )
    kernel = ("--with", "linux", "--kernel", str(tmp_path / "none"))
    assert_invalid_input(
        run("crosscheck", small, *kernel), "--kernel must be a User Mode Linux kernel"
    )
    assert_invalid_input(
        run("crosscheck", small, "--with", "ns2", "--kernel", "x"), "--kernel must be left out"
    )
    jitter = edited("buffer_packets = 100", "buffer_packets = 100\njitter_ms = 1")
    path = written(tmp_path, jitter)
    assert_invalid_input(
        run("crosscheck", path, *SHORT), "links.bottleneck: jitter must be 0 for ns-2"
    )


def test_a_reference_that_fails_is_a_failed_computation(run, small, tmp_path, fake_ns):
    fake_ns(1.0, 1.0)
    program = tmp_path / "bin" / "ns"
    program.write_text("#!/bin/sh\necho 'can not read scenario' >&2\nexit 4\n")
    status, out, err = run("crosscheck", small, *SHORT)
    assert (status, out) == (1, "")
    assert err == "vegasfluid: crosscheck: ns ended with status 4: can not read scenario\n"
    program.write_text("#!/bin/sh\necho nothing\n")
    status, out, err = run("crosscheck", small, *SHORT)
    assert (status, out) == (1, "")
    assert "ns-2 did not print the 2 lines of classes and 1 of links" in err


@pytest.mark.slow
@pytest.mark.skipif(NS is None, reason="ns-2 is not installed (Debian: ns2)")
def test_ns2_agrees_on_a_small_network(run, tmp_path):
    Path(tmp_path / "long.toml").write_text(SMALL)
    options = ("--with", "ns2", "--until", "120", "--warmup", "30", "--runs", "4", "--json")
    status, out, err = run("crosscheck", str(tmp_path / "long.toml"), *options)
    assert (status, err) == (0, "")
    result = document(out)["references"]["ns2"]
    assert result["verdict"] == "inside"
    assert result["classes"]["vegas"]["ratio"]["packets"] < 0.9

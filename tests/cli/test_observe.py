"""`observe`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import re

import pytest

from tests.cli.commands import assert_invalid_input, document
from tests.paths import ROOT
from vegasfluid import modelfile
from vegasfluid.cli.observe import means_table
from vegasfluid.cli.output import console

DATA = ROOT / "tests/observe/data"


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_measurement_becomes_a_model_that_recommend_can_tune(run, tmp_path):
    out, plot = tmp_path / "network.toml", tmp_path / "network.png"
    files = [str(DATA / name) for name in ("droptail_ss.txt", "droptail_tc.txt")]
    status, shown, _ = run("observe", *files, "--out", str(out), "--plot", str(plot))
    assert status == 0
    assert "capacity, Mbit/s" in shown
    assert "tc shows pfifo" in shown
    assert "modelled" in shown
    assert f"Next: vegasfluid check {out}\n      vegasfluid recommend {out}" in shown
    assert plot.read_bytes().startswith(b"\x89PNG")
    network = modelfile.load(out).network
    assert network.link.capacity == pytest.approx(15.9e6 / 12_000, rel=0.02)
    assert network.link.buffer == 19
    assert set(network.flows) == {"cubic", "vegas"}


@pytest.mark.slow
def test_json_has_intervals_and_both_means(run):
    status, shown, _ = run("observe", str(DATA / "droptail_ss.txt"), "--json")
    printed = document(shown)
    assert status == 0
    low, high = printed["capacity_mbps"]["interval90"]
    assert low < 15.9 < high
    both = printed["repeated"]["cubic"]
    for key in ("cwnd_packets", "rtt_s", "goodput_packets_per_s"):
        assert both["modelled"][key] == pytest.approx(both["measured"][key], rel=0.15)


def test_a_link_that_was_never_full_gives_no_model(run, tmp_path):
    out = tmp_path / "network.toml"
    status, shown, _ = run("observe", str(DATA / "idle_ss.txt"), "--out", str(out))
    assert status == 3
    assert "No model: the link was not full for long enough" in shown
    assert "- The link was not full, as far as this measurement shows" in shown
    assert not out.exists()


def test_a_mean_that_was_not_measured_is_named(capsys):
    """Captures and some logs have no windows."""
    modelled = {"cwnd_packets": 12.0, "rtt_s": 0.05, "goodput_packets_per_s": 240.0}
    measured = modelled | {"cwnd_packets": float("nan")}
    console().print(means_table({"reno": {"measured": measured, "modelled": modelled}}))
    shown = capsys.readouterr().out
    assert "not measured" in shown
    assert "nan" not in shown


def test_output_never_replaces_a_measurement(run, tmp_path):
    copy = tmp_path / "ss.toml"
    copy.write_bytes((DATA / "idle_ss.txt").read_bytes())
    assert_invalid_input(
        run("observe", str(copy), "--out", str(copy), "--force"), "other than the measurements"
    )
    assert_invalid_input(run("observe", str(copy), "--out", str(copy)), "a new file")
    assert_invalid_input(run("observe", str(tmp_path / "none.txt")), "none.txt")


def test_before_and_after_a_change(run):
    files = ("--before", str(DATA / "droptail_ss.txt"), "--after", str(DATA / "red_ss.txt"))
    status, shown, _ = run("observe", *files)
    assert status == 3
    assert shown.startswith("No verdict: after the change no flow runs Vegas.")
    words = re.search(r"- base RTT: (.*) ms before and (.*) ms after\.", shown)
    assert words is not None
    assert [float(word) for word in words.groups()] == pytest.approx([19.8, 11.6], abs=1.0)
    status, shown, _ = run("observe", *files, "--json")
    printed = document(shown)
    assert status == 3
    assert printed["verdict"] == "unknown"
    size = 1500 * 8e-6
    throughput = printed["quantities"]["throughput_packets_per_s"]
    assert throughput["before"]["value"] * size == pytest.approx(15.9, rel=0.02)
    assert throughput["after"]["value"] * size == pytest.approx(5.3, rel=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "FILE must be given"),
        (["--before", "BEFORE"], "--after must be given"),
        (["--after", "BEFORE"], "--before must be given"),
        (["--before", "BEFORE", "--after", "BEFORE", "--out", "x.toml"], "--out must be left out"),
        (["BEFORE", "--before", "BEFORE", "--after", "BEFORE"], "FILE must be left out"),
        (["--before", "BEFORE", "--after", "BEFORE", "--ratio", "0"], "--ratio must be greater"),
    ],
)
def test_a_comparison_needs_two_measurements_and_nothing_else(run, given, message):
    file = str(DATA / "red_ss.txt")
    assert_invalid_input(
        run("observe", *(file if word == "BEFORE" else word for word in given)), message
    )


def test_a_changed_setting_is_confirmed_by_a_linux_kernel(run):
    """Reno beside Vegas with alpha 2, then 40; the kernel's counters give 0.123 and 0.937."""
    files = [str(DATA / f"vegas_{when}_ss.txt") for when in ("before", "after")]
    status, shown, _ = run("observe", "--before", files[0], "--after", files[1], "--json")
    printed = document(shown)
    assert (status, printed["verdict"]) == (0, "reached")
    ratio = printed["quantities"]["ratio"]
    assert ratio["before"]["value"] == pytest.approx(0.123, rel=0.01)
    assert ratio["after"]["value"] == pytest.approx(0.937, rel=0.01)
    low, high = ratio["after"]["interval90"]
    assert low < 0.937 < high
    assert printed["differences"] == []

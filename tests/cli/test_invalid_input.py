"""Invalid input: one line on standard error, nothing on standard output, exit status 2."""

from __future__ import annotations

import pytest

from tests.cli.commands import OPTIONS, assert_invalid_input, edited, written

BAD_MODELS = {
    "not TOML": ("duration_s = = 3", "line 1, column 14: must be TOML"),
    "near miss": (edited("buffer_packets", "bufer_packets"), "did you mean buffer_packets?"),
    "negative capacity": (
        edited("capacity_mbps = 10", "capacity_mbps = -10"),
        "bottleneck.capacity_mbps: must be above 0, but is -10",
    ),
    "thresholds": (
        edited("min_thresh_packets = 20", "min_thresh_packets = 90"),
        "min_thresh_packets: must be below max_thresh_packets (80), but is 90",
    ),
    "alpha above beta": (
        edited("alpha_packets = 2", "alpha_packets = 9"),
        "alpha_packets: must be at most beta_packets (4), but is 9",
    ),
    "count 0": (edited("count = 2", "count = 0"), "flows.reno.count: must be at least 1, but is 0"),
    "NaN": (
        edited("capacity_mbps = 10", "capacity_mbps = nan"),
        "capacity_mbps: must be a finite number, but is nan",
    ),
    "a line break in a name": (edited("[flows.reno]", '[flows."a\\nb"]\nx = 1'), "unknown key"),
}


@pytest.mark.parametrize("command", OPTIONS)
@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_model(run, tmp_path, command, case):
    text, part = BAD_MODELS[case]
    path = written(tmp_path, text)
    assert_invalid_input(run(command, path, *OPTIONS[command]), path, part)


@pytest.mark.parametrize("command", OPTIONS)
def test_bad_file(run, tmp_path, command):
    options = OPTIONS[command]
    assert_invalid_input(
        run(command, str(tmp_path / "none.toml"), *options), "none.toml: must be a model file"
    )
    assert_invalid_input(
        run(command, str(tmp_path), *options), "must be a model file, but is a folder"
    )
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(100 * 2**20)
    assert_invalid_input(run(command, str(large), *options), "large.toml: must be at most")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["simulate", "--engine", "foo"], "--engine"),
        (["simulate", "--bogus"], "--bogus"),
        (["simulate", "--seed", "-1"], "--seed"),
        (["simulate", "--seed", "one"], "--seed"),
        (["simulate", "--seed", "1" + 30 * "0"], "--seed"),
        (["simulate", "--out", "no/such/folder/run.nc"], "--out must be in an existing folder"),
        (["simulate", "--out", "."], "--out must be a file"),
        (["simulate", "--plot", "x.txt"], "--plot must be named *.png, *.svg, *.pdf"),
        (["simulate", "--plot", "no/such/folder/x.png"], "--plot must be in an existing folder"),
        (["simulate", "--loss-process", "some"], "--loss-process"),
        (["simulate", "--base-rtt-ms", "vegas"], "--base-rtt-ms must be CLASS=MS"),
        (["simulate", "--base-rtt-ms", "vegas=-1"], "--base-rtt-ms must be CLASS=MS"),
        (["simulate", "--base-rtt-ms", "cubic=10"], "must be for one of reno, vegas"),
        (
            ["simulate", "--engine", "packets", "--loss-process", "iid"],
            "--loss-process with packets is not supported",
        ),
        (
            ["simulate", "--tolerance", "0"],
            "simulate: --tolerance must be above 0 and finite, but is 0.0",
        ),
        (
            ["simulate", "--tolerance", "nan"],
            "simulate: --tolerance must be above 0 and finite, but is nan",
        ),
        (
            ["simulate", "--engine", "packets", "--tolerance", "0.1"],
            "--tolerance with packets is not supported",
        ),
        (
            ["recommend", "--ratio", "-1"],
            "recommend: --ratio must be above 0 and finite, but is -1.0",
        ),
        (
            ["recommend", "--ratio", "0"],
            "recommend: --ratio must be above 0 and finite, but is 0.0",
        ),
        (
            ["recommend", "--ratio", "nan"],
            "recommend: --ratio must be above 0 and finite, but is nan",
        ),
        (
            ["recommend", "--ratio", "inf"],
            "recommend: --ratio must be above 0 and finite, but is inf",
        ),
        (["recommend", "--ratio", "much"], "--ratio"),
        (["recommend", "--runs", "1"], "recommend: --runs must be at least 2"),
        (
            ["recommend", "--tune", "reno"],
            "recommend: --tune must be a class of Vegas flows (vegas)",
        ),
        (["analyse", "--tune", "reno"], "analyse: --tune must be a class of Vegas flows"),
        (["crosscheck", "--with", "ns2", "--until", "-1"], "crosscheck: --until must be"),
        (["export", "--format", "ns4"], "export: --format must be"),
        (["recommend", "--tune", "none"], "tune must be a class of Vegas flows (vegas)"),
        (["check", "--engine", "fluid"], "--engine"),
        (["export"], "--format"),
        (["export", "--format", "ns4"], "--format"),
        (["export", "--format", "ns2", "--seed", "-1"], "--seed"),
        (
            ["export", "--format", "ns2", "--out", "no/such/folder/x.tcl"],
            "--out must be in an existing folder",
        ),
        (
            ["export", "--format", "ns2", "--out", __file__],
            "--out must be a folder, or a file named *.tcl",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options(run, small, arguments, part):
    command, *options = arguments
    assert_invalid_input(run(command, small, *options), part)


def test_bad_command(run):
    assert_invalid_input(run("recomend"), "recommend")
    assert_invalid_input(run("--bogus"), "--bogus")
    assert_invalid_input(run("simulate"), "MODEL")
    assert_invalid_input(run("laws", "extra"), "extra")

"""The commands: what they print and where, what they refuse, how they end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import xarray as xr

import vegasfluid as vf
from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.cli.app import run_app
from vegasfluid.errors import SolveFailed
from vegasfluid.tuning import operating_points

SMALL = """
title = "Two against two"
duration_s = 20
warmup_s = 5

[bottleneck]
capacity_mbps = 10
buffer_packets = 100
aqm = { law = "red", min_thresh_packets = 20, max_thresh_packets = 80, max_drop = 0.1 }

[flows.reno]
count = 2
base_rtt_ms = 20
law = { name = "reno" }

[flows.vegas]
count = 2
base_rtt_ms = 20
start_s = { spread_s = 0.1 }
law = { name = "vegas", alpha_packets = 2, beta_packets = 4, dialect = "ns2" }
"""
WITHOUT_VEGAS = SMALL[: SMALL.index("[flows.vegas]")]
TWO_LINKS = """
duration_s = 20
[links.up]
capacity_mbps = 10
buffer_packets = 100
[links.down]
capacity_mbps = 10
buffer_packets = 100
[flows.reno]
count = 2
base_rtt_ms = 20
path = ["up", "down"]
law = { name = "reno" }
[flows.vegas]
count = 2
base_rtt_ms = 20
path = ["up"]
law = { name = "vegas" }
"""


def edited(old: str, new: str) -> str:
    """The small model with one change."""
    assert old in SMALL
    return SMALL.replace(old, new, 1)


@pytest.fixture
def small(tmp_path):
    return written(tmp_path, SMALL)


def written(folder: Path, text: str) -> str:
    path = folder / "model.toml"
    path.write_text(text)
    return str(path)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; its exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: str) -> tuple[int, str, str]:
        status = run_app([*arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return one


def refuse_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def document(text: str) -> dict:
    """The one JSON document that a text is; NaN and infinities are no JSON."""
    return json.loads(text, parse_constant=refuse_constant)


# What the commands print


def test_check_json(run):
    path = str(MODELS / "weigle_feng_network2.toml")
    status, out, err = run("check", path, "--json")
    found = document(out)
    assert (status, err) == (0, "")
    assert found["model"] == path
    assert found["ok"] is True
    assert found["flows"] == {"reno": 25, "vegas": 25}
    assert found["warnings"] == []
    # By hand: 3 ms on the link there and back, 4 ms of access, and sending 1540 bytes once at
    # 155 and twice at 100 Mbit/s.
    base_rtt = 0.007 + 1540 * 8 / 155e6 + 2 * 1540 * 8 / 100e6
    assert found["base_rtt_s"] == pytest.approx({"reno": base_rtt, "vegas": base_rtt})
    assert found["bandwidth_delay_packets"] == pytest.approx(155e6 / 12000 * base_rtt)


def test_check_json_of_a_refused_model_tells_everything_that_is_wrong(run, tmp_path):
    path = written(tmp_path, SMALL.replace("count = 2", "count = 0"))
    status, out, err = run("check", path, "--json")
    found = document(out)
    assert (status, err) == (2, "")
    assert found["ok"] is False
    assert len(found["errors"]) == 2
    assert [name in text for name, text in zip(["reno", "vegas"], found["errors"], strict=True)]
    assert all("count: must be at least 1, but is 0" in text for text in found["errors"])


@pytest.mark.parametrize("engine", ["fluid", "density", "packets"])
def test_simulate_json_and_netcdf(run, small, tmp_path, engine):
    target = tmp_path / "run.nc"
    arguments = ("--engine", engine, "--seed", "3", "--out", str(target), "--json")
    status, out, err = run("simulate", small, *arguments)
    found = document(out)
    assert (status, err) == (0, "")
    assert found["engine"] == engine
    assert found["seed"] == (3 if engine == "packets" else None)
    assert ("bottleneck: 4 flows" in " ".join(found["warnings"])) == (engine != "packets")
    assert found["seconds"] > 0
    assert set(found["classes"]) == {"reno", "vegas"}
    assert set(found["links"]) == {"bottleneck"}
    with xr.open_dataset(target) as saved:
        same_as_run(saved.load(), small, engine)
        same_numbers(found, saved)


ONLY_PACKETS = {
    **dict.fromkeys(["ssthresh", "early", "forced", "full", "vegas_diff"], "packets"),
    **dict.fromkeys(["vegas_unchanged", "vegas_above_beta", "vegas_below_alpha"], "1"),
    "vegas_above_gamma": "1",
}
"""Units of what the packet simulator alone notes."""


def same_as_run(saved: xr.Dataset, path: str, engine: str) -> None:
    """What was saved is what the library gives, with its units."""
    model = modelfile.load(path)
    if engine == "packets":
        expected = vf.simulate_packets(model.network, 20.0, warmup=5.0, seed=3)
    else:
        simulate = vf.simulate_fluid if engine == "fluid" else vf.simulate_density
        expected = simulate(model.network, 20.0, warmup=5.0)
    xr.testing.assert_equal(saved, expected)
    assert saved.attrs == expected.attrs | {"model": path, "title": "Two against two"}
    units = {name: saved[name].attrs["units"] for name in saved.data_vars}
    assert units == {
        "cwnd": "packets",
        "cwnd_spread": "packets",
        "rtt": "s",
        "delivered": "packets",
        "sent": "packets",
        "dropped": "packets",
        "retransmitted": "packets",
        "timeouts": "1",
        "queue": "packets",
        "avg_queue": "packets",
        "admitted": "packets",
        "lost": "packets",
        "marked": "packets",
        "waited": "packets s",
        "work": "packets",
        "backlog": "packets",
        "flow_delivered": "packets",
        "capacity": "packets/s",
        **(ONLY_PACKETS if engine == "packets" else {}),
    }
    assert saved["time"].attrs["units"] == "s"


def same_numbers(found: dict, saved: xr.Dataset) -> None:
    """The document's numbers, from the saved counters by hand: the means over 5 to 20 s."""
    at = {time: int(np.flatnonzero(saved["time"].values == time)[0]) for time in (5.0, 20.0)}

    def growth(name: str) -> np.ndarray:
        return saved[name].values[at[20.0]] - saved[name].values[at[5.0]]

    for i, (name, count) in enumerate({"reno": 2, "vegas": 2}.items()):
        of = found["classes"][name]
        goodput = growth("delivered")[i] / 15
        assert of["count"] == count
        assert of["goodput_packets_per_s"] == pytest.approx(goodput)
        assert of["goodput_mbps"] == pytest.approx(goodput * 1500 * 8 / 1e6)
        assert of["retransmit_share"] == pytest.approx(
            growth("retransmitted")[i] / growth("sent")[i]
        )
        assert of["timeouts"] == growth("timeouts")[i]
        for key, variable in (("cwnd_packets", "cwnd"), ("rtt_s", "rtt")):
            samples = saved[variable].values[at[5.0] :, i]
            assert of[key] == pytest.approx(samples.mean())
    link = found["links"]["bottleneck"]
    sent = growth("admitted")[0] - growth("queue")[0]
    assert link["utilisation"] == pytest.approx(sent / 15 / (10e6 / 12000))
    assert 0.9 < link["utilisation"] < 1.001
    assert link["queue_packets"] == pytest.approx(growth("waited")[0] / 15)
    assert link["queueing_delay_s"] == pytest.approx(growth("waited")[0] / growth("admitted")[0])
    arrived = growth("lost")[0] + growth("admitted")[0]
    assert link["drop_share"] == pytest.approx(growth("lost")[0] / arrived)
    rates = growth("flow_delivered")
    assert found["jain_index"] == pytest.approx(rates.sum() ** 2 / (4 * (rates**2).sum()))


def test_laws_json(run):
    status, out, err = run("laws", "--json")
    found = document(out)
    assert (status, err) == (0, "")
    names = {part: [entry["name"] for entry in entries] for part, entries in found.items()}
    laws = {"cubic", "highspeed", "newreno", "reno", "scalable", "udp", "vegas", "vegas_rerouting"}
    assert set(names["window_laws"]) == laws
    assert {"droptail", "red"} <= set(names["queue_laws"])
    assert set(names["traffic_kinds"]) == {"bulk", "cbr", "poisson", "on_off", "sessions"}
    dialects = {entry["name"]: entry["defaults"] for entry in found["vegas_dialects"]}
    assert dialects["ns2"] == {"alpha": 1, "beta": 3, "gamma": 1}
    assert dialects["linux"] == dialects["ns3"] == {"alpha": 2, "beta": 4, "gamma": 1}
    red = next(entry for entry in found["queue_laws"] if entry["name"] == "red")
    parameters = {entry["name"]: entry for entry in red["parameters"]}
    assert parameters["min_thresh"] == {
        "name": "min_thresh",
        "key": "min_thresh_packets",
        "units": "packets",
        "default": None,
        "required": True,
    }
    assert parameters["weight"]["default"] == 0.002
    for entry in found["window_laws"] + found["queue_laws"] + found["vegas_dialects"]:
        assert entry["sources"]


def test_every_law_of_the_list_can_stand_in_a_model_file(run, tmp_path):
    """`laws` and the reader of model files agree on names and keys."""
    kinds = document(run("laws", "--json")[1])["traffic_kinds"]
    for kind in kinds:
        required = [entry["key"] for entry in kind["parameters"] if entry["required"]]
        keys = "".join(f", {key} = 2" for key in required)
        traffic = f'traffic = {{ kind = "{kind["name"]}"{keys} }}'
        path = written(tmp_path, edited("count = 2", f"count = 2\n{traffic}"))
        assert run("check", path)[0] == 0


def test_recommend_json(run, small):
    status, out, err = run("recommend", small, "--runs", "3", "--json")
    found = document(out)
    assert (status, err) == (0, "")
    assert set(found) == {
        "model", "version", "tuned", "goal", "reached", "reason", "recommended", "before", "fluid",
        "packets", "fluid_alpha_packets", "settings", "settings_missing", "seconds",
    }  # fmt: skip
    assert (found["model"], found["tuned"], found["goal"]) == (small, "vegas", {"ratio": 1.0})
    assert found["version"] == vf.__version__
    assert found["reached"] is True
    assert found["packets"]["runs"] in (3, 6, 12, 24, 48, 96)  # doubled where they tell too little


def test_recommend_out_of_reach_ends_with_3_and_says_why(run, small):
    status, out, err = run("recommend", small, "--runs", "2", "--ratio", "50")
    assert (status, err) == (3, "")
    assert "Goal not reached: even with the largest setting" in " ".join(out.split())


def test_export_shows_a_single_file_as_it_is(run, small):
    status, out, err = run("export", small, "--format", "ns2", "--seed", "7")
    assert (status, err) == (0, "")
    model = modelfile.load(small)
    assert out == vf.export.export_model(model, "ns2", seed=7).files["scenario.tcl"]
    assert "\nset seed 7\n" in out


def test_export_json(run, small, tmp_path):
    """Linux speaks another dialect than the model: the fluid says where its flows are."""
    status, out, err = run("export", small, "--format", "linux", "--json")
    found = document(out)
    assert (status, err) == (0, "")
    keys = {"model", "version", "seed", "format", "vegas", "notes", "files", "written"}
    assert set(found) == keys
    assert (found["model"], found["format"], found["written"]) == (small, "linux", [])
    assert list(found["files"]) == ["tune.sh", "tcp_vegas.conf"]
    vegas = found["vegas"]["vegas"]
    assert (vegas["from_dialect"], vegas["translated"]) == ("ns2", True)
    settings, _ = vf.export.translate(
        vf.Vegas(2, 4, dialect="ns2"),
        operating_points(modelfile.load(small))["vegas"],
    )
    assert {key: vegas[key] for key in ("alpha", "beta", "gamma")} == settings["linux"]
    assert vegas["alpha"] > 2
    (line,) = [x for x in found["files"]["tcp_vegas.conf"].splitlines() if x[0] != "#"]
    assert line == "options tcp_vegas alpha={alpha} beta={beta} gamma={gamma}".format(**vegas)


def test_export_writes_into_folders_and_files(run, small, tmp_path):
    folder, file = tmp_path / "made", tmp_path / "my.py"
    for _ in range(2):  # also where the folder is there
        status, out, err = run("export", small, "--format", "linux", "--out", str(folder))
        assert (status, err) == (0, "")
    assert {path.name for path in folder.iterdir()} == {"tune.sh", "tcp_vegas.conf"}
    status, out, err = run("export", small, "--format", "ns3", "--out", str(file))
    assert (status, err) == (0, "")
    assert f"Written: {file}\n" in out
    compile(file.read_text(), str(file), "exec")
    assert "ns3::TcpVegas::Alpha" in (tmp_path / "my-attributes.txt").read_text()


def test_export_refuses_in_one_line_what_a_system_cannot_do(run, tmp_path):
    jitter = edited("buffer_packets = 100", "buffer_packets = 100\njitter_ms = 1")
    path = written(tmp_path, jitter)
    refused(run("export", path, "--format", "ns2"), "links.bottleneck: jitter must be 0 for ns-2")
    rerouting = SMALL[: SMALL.rindex("law =")] + 'law = { name = "vegas_rerouting" }'
    path = written(tmp_path, rerouting)
    for system in ("linux", "freebsd", "ns2", "ns3"):
        target = tmp_path / system
        refused(
            run("export", path, "--format", system, "--out", str(target)),
            "flows.vegas: law must be one that",
        )
        assert not target.exists()


# Text for people


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("simulate",),
        ("simulate", "--engine", "packets"),
        ("recommend", "--runs", "3"),
        ("export", "--format", "linux", "--out", "made"),
        ("laws",),
    ],
    ids=" ".join,
)
def test_text_fits_80_columns_and_nothing_goes_to_standard_error(
    run, small, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    model = [] if command == "laws" else [Path(small).name]
    status, out, err = run(command, *model, *options)
    assert (status, err) == (0, "")
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "…" not in out
    assert "\x1b" not in out
    if command != "laws":
        assert out.startswith("Two against two\n")


def test_check_shows_what_the_file_says(run, small):
    lines = [line.split() for line in run("check", small)[1].splitlines()]
    assert ["reno", "2", "21.23", "reno", "bulk"] in lines  # 20 ms and 1540 bytes at 10 Mbit/s
    assert ["bottleneck", "min_thresh", "20", "packets"] in lines
    assert ["max_drop", "0.1"] in lines
    assert ["gentle", "false"] in lines
    assert ["vegas", "alpha", "2", "packets"] in lines


def test_names_are_shown_as_they_are(run, tmp_path):
    """Neither markup nor emoji codes nor dollars in a title or a name are acted on."""
    title = "[/bold] [red]a :smile: for $\\\\foo$"
    text = edited("Two against two", title).replace("[flows.reno]", '[flows."[/b]$x"]')
    target = tmp_path / "run.svg"
    path = written(tmp_path, text)
    for arguments in (("check", path), ("simulate", path, "--plot", str(target))):
        status, out, _ = run(*arguments)
        assert status == 0
        assert out.startswith("[/bold] [red]a :smile: for $\\foo$\n")
        assert "\n[/b]$x " in out


def test_help_lists_the_commands(run):
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert all(command in out for command in ("recommend", "simulate", "check", "laws", "export"))


def test_progress_goes_to_a_terminal_only(run, small, monkeypatch):
    assert run("simulate", small, "--json")[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, err = run("simulate", small, "--json")
    assert status == 0
    assert document(out)["engine"] == "fluid"
    assert "simulate (fluid)" in err


def test_what_the_fluid_takes_for_granted(run, small):
    """Periodic losses are told from independent ones, and a false base RTT starves Vegas."""

    def goodput(*options: str) -> dict[str, float]:
        classes = document(run("simulate", small, "--json", *options)[1])["classes"]
        return {name: of["goodput_mbps"] for name, of in classes.items()}

    usual, periodic = goodput(), goodput("--loss-process", "periodic")
    network = modelfile.load(small).network
    closure = vf.Closure(loss_process="periodic")
    expected = vf.simulate_fluid(network, 20.0, warmup=5.0, closure=closure)
    ratio = periodic["vegas"] / periodic["reno"]
    assert ratio == pytest.approx(float(vf.metrics.ratio(expected, "vegas")))
    assert abs(ratio / (usual["vegas"] / usual["reno"]) - 1) > 0.01
    starved = goodput("--base-rtt-ms", "vegas=5", "--against", "packets")
    assert starved["vegas"] < 0.9 * usual["vegas"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot_is_a_picture(run, small, tmp_path, suffix):
    target = tmp_path / f"run.{suffix}"
    status, _, err = run("simulate", small, "--plot", str(target), "--json")
    assert (status, err) == (0, "")
    if suffix != "png":
        start = {"svg": b"<?xml", "pdf": b"%PDF"}[suffix]
        assert target.read_bytes().startswith(start)
        return
    pixels = matplotlib.image.imread(target)
    height, width = pixels.shape[:2]
    assert 600 <= height <= 1600
    assert 800 <= width <= 2000
    drawn = (pixels[:, :, :3] < 0.9).any(axis=2).mean()
    assert 0.01 < drawn < 0.5


# What is refused: one line, status 2


def refused(outcome: tuple[int, str, str], *parts: str) -> None:
    """One line on standard error, nothing on standard output, status 2."""
    status, out, err = outcome
    assert status == 2
    assert out == ""
    assert err.startswith("vegasfluid: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    for part in parts:
        assert part in err


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


OPTIONS = {"check": (), "simulate": (), "recommend": (), "export": ("--format", "ns2")}
"""What commands that read a model file need besides it."""


@pytest.mark.parametrize("command", OPTIONS)
@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_model(run, tmp_path, command, case):
    text, part = BAD_MODELS[case]
    path = written(tmp_path, text)
    refused(run(command, path, *OPTIONS[command]), path, part)


@pytest.mark.parametrize("command", OPTIONS)
def test_bad_file(run, tmp_path, command):
    options = OPTIONS[command]
    refused(run(command, str(tmp_path / "none.toml"), *options), "none.toml: must be a model file")
    refused(run(command, str(tmp_path), *options), "must be a model file, but is a folder")
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(100 * 2**20)
    refused(run(command, str(large), *options), "large.toml: must be at most")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["simulate", "--engine", "foo"], "--engine"),
        (["simulate", "--bogus"], "--bogus"),
        (["simulate", "--seed", "-1"], "--seed"),
        (["simulate", "--seed", "one"], "--seed"),
        (["simulate", "--seed", "1" + 30 * "0"], "--seed"),
        (["simulate", "--out", "no/such/folder/run.nc"], "--out must be in a folder that exists"),
        (["simulate", "--out", "."], "--out must be a file"),
        (["simulate", "--plot", "x.txt"], "--plot must be named *.png, *.svg, *.pdf"),
        (["simulate", "--plot", "no/such/folder/x.png"], "--plot must be in a folder that exists"),
        (["simulate", "--loss-process", "some"], "--loss-process"),
        (["simulate", "--base-rtt-ms", "vegas"], "--base-rtt-ms must be CLASS=MS"),
        (["simulate", "--base-rtt-ms", "vegas=-1"], "--base-rtt-ms must be CLASS=MS"),
        (["simulate", "--base-rtt-ms", "cubic=10"], "must be for one of reno, vegas"),
        (
            ["simulate", "--engine", "packets", "--loss-process", "iid"],
            "--loss-process must be used with fluid or density only",
        ),
        (["recommend", "--ratio", "-1"], "ratio must be above 0 and finite, but is -1.0"),
        (["recommend", "--ratio", "0"], "ratio must be above 0 and finite, but is 0.0"),
        (["recommend", "--ratio", "nan"], "ratio must be above 0 and finite, but is nan"),
        (["recommend", "--ratio", "inf"], "ratio must be above 0 and finite, but is inf"),
        (["recommend", "--ratio", "much"], "--ratio"),
        (["recommend", "--runs", "1"], "runs must be at least 2"),
        (["recommend", "--tune", "reno"], "tune must be a class of Vegas flows (vegas)"),
        (["recommend", "--tune", "none"], "tune must be a class of Vegas flows (vegas)"),
        (["check", "--engine", "fluid"], "--engine"),
        (["export"], "--format"),
        (["export", "--format", "ns4"], "--format"),
        (["export", "--format", "ns2", "--seed", "-1"], "--seed"),
        (
            ["export", "--format", "ns2", "--out", "no/such/folder/x.tcl"],
            "--out must be in a folder that exists",
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
    refused(run(command, small, *options), part)


def test_bad_command(run):
    refused(run("recomend"), "recommend")
    refused(run("--bogus"), "--bogus")
    refused(run("simulate"), "MODEL")
    refused(run("laws", "extra"), "extra")


def test_recommend_needs_a_class_to_tune_and_another(run, tmp_path):
    path = written(tmp_path, WITHOUT_VEGAS)
    refused(
        run("recommend", path),
        "the law of a class must be vegas, to have one to tune, but is 'reno",
    )
    lonely = edited('[flows.reno]\ncount = 2\nbase_rtt_ms = 20\nlaw = { name = "reno" }', "")
    path = written(tmp_path, lonely)
    refused(run("recommend", path), "flows must be two classes or more, to compare")
    two = SMALL.replace('law = { name = "reno" }', 'law = { name = "vegas" }')
    path = written(tmp_path, two)
    refused(run("recommend", path), "tune must be given: one of reno, vegas")


EVERYTHING = {
    "several links": TWO_LINKS,
    "against the stream": edited("count = 2", 'count = 2\ndirection = "reverse"'),
    "poisson": edited(
        "count = 2", 'count = 2\ntraffic = { kind = "poisson", mean_interval_ms = 5 }'
    ),
    "events": SMALL + '\n[[events]]\nat_s = 5\nlink = "bottleneck"\ndelay_ms = 9\n',
    "jitter": edited("buffer_packets = 100", "buffer_packets = 100\njitter_ms = 1"),
}


@pytest.mark.parametrize("engine", ["fluid", "density", "packets"])
@pytest.mark.parametrize("what", EVERYTHING)
def test_every_engine_serves_what_a_model_file_can_say(run, tmp_path, what, engine):
    path = written(tmp_path, EVERYTHING[what])
    assert run("check", path)[0] == 0
    status, out, err = run("simulate", path, "--engine", engine, "--json")
    assert status == 0, err
    assert all(of["goodput_packets_per_s"] > 0 for of in document(out)["classes"].values())


def test_two_engines_are_shown_and_drawn_beside_each_other(run, tmp_path):
    path, picture = written(tmp_path, SMALL), tmp_path / "both.svg"
    status, out, err = run(
        "simulate", path, "--engine", "density", "--against", "packets", "--plot", picture, "--json"
    )
    assert status == 0, err
    both = document(out)
    assert (both["engine"], both["against"]["engine"]) == ("density", "packets")
    assert both["links"].keys() == both["against"]["links"].keys()
    assert picture.stat().st_size > 10_000
    status, out, err = run("simulate", path, "--against", "fluid")
    assert status == 0, err
    assert out.count("Fluid model") == 2


def test_a_fluid_says_where_it_does_not_hold(run, tmp_path):
    path = written(tmp_path, SMALL)
    _, out, _ = run("simulate", path, "--json")
    assert any(" flows; below 10" in line for line in document(out)["warnings"])
    _, out, _ = run("simulate", path, "--engine", "packets", "--json")
    assert not any("below 10" in line for line in document(out)["warnings"])


# How commands end otherwise


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

    monkeypatch.setattr("vegasfluid.cli.simulate.simulated", fail)
    status, out, err = run("simulate", small)
    assert (status, out) == (1, "")
    assert err == "vegasfluid: the state was not finite at t = 3.\n"


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
    """In a process of their own, by the entry point; the status is that of the command."""
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

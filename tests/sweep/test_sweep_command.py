"""`vegasfluid sweep`: what it prints, writes, draws and refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.sweep.small import ALPHA, environment, files_of, finished, here, write_model
from vegasfluid.cli import sweep_progress
from vegasfluid.cli.app import run_app
from vegasfluid.sweep import Progress, open_sweep, runner

OVER = f"{ALPHA}=1:8:4"


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path)


@pytest.fixture
def without_a_cluster(monkeypatch):
    monkeypatch.setattr(runner, "engine_of", here)


def packets(model, *more):
    usual = ("--engine", "packets", "--until", "2", "--seeds", "2")
    return ["sweep", str(model), "--over", OVER, *usual, *map(str, more)]


def test_it_prints_one_document_and_goes_on(model, tmp_path, capsys, without_a_cluster):
    out = tmp_path / "sweep.zarr"
    for _ in range(2):
        assert run_app(packets(model, "--out", out, "--json")) == 0
        document = json.loads(capsys.readouterr().out)
        assert document.keys() == {"out", "points", "done", "failed", "seconds"}
        assert (document["points"], document["done"], document["failed"]) == (4, 4, 0)
        assert document["out"] == str(out)
    expected_text = open_sweep(out).attrs["command"]
    assert expected_text == f"vegasfluid {' '.join(packets(model))} --seed 1".replace(
        "--until 2 --seeds 2 --seed 1", "--seeds 2 --seed 1 --until 2.0"
    )


def test_text_tells_failed_points(model, tmp_path, capsys, without_a_cluster):
    more = ("--over", "vegas.beta_packets=4,9", "--out", tmp_path / "a.zarr")
    assert run_app(packets(model, *more)) == 0
    counts, ratios = capsys.readouterr().out.splitlines()
    assert "6 of 8 points; 2 failed" in counts
    mean = open_sweep(tmp_path / "a.zarr").load()["ratio"].mean("seed")
    known = mean.values[np.isfinite(mean.values)]
    nearest = min(known, key=lambda ratio: max(ratio, 1 / ratio))
    alpha, beta = (float(text.split(" = ")[1].strip(".")) for text in ratios.split(", ")[-2:])
    assert mean.sel({ALPHA: alpha, "vegas.beta_packets": beta}).item() == nearest
    assert ratios.startswith(f"Ratios {known.min():.4g} to {known.max():.4g}; nearest to 1: ")


def test_other_forms(model, tmp_path, without_a_cluster):
    out, table, netcdf = (tmp_path / name for name in ("a.zarr", "a.csv", "a.nc"))
    for to in (table, netcdf):
        assert run_app(packets(model, "--out", out, "--to", to)) == 0
    data = open_sweep(out).load()
    with xr.open_dataset(netcdf, engine="h5netcdf") as other:
        np.testing.assert_array_equal(other["ratio"], data["ratio"])
        assert list(other["flow_class"].values) == ["reno", "vegas"]
        assert other.attrs["command"] == data.attrs["command"]
    rows = pd.read_csv(table).set_index([ALPHA, "seed"])
    assert len(rows) == 8
    here_and_there = data["goodput_mbps"].sel({ALPHA: 3, "seed": 2, "flow_class": "vegas"})
    assert rows.loc[(3, 2), "goodput_mbps.vegas"] == pytest.approx(float(here_and_there), rel=1e-14)


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--over", "bottleneck.capacity_mbps=6,12"),
        ("--over", "bottleneck.capacity_mbps=6,12", "--metric", "goodput_mbps"),
        ("--over", "reno.count=1,2", "--over", "bottleneck.capacity_mbps=6,12"),
        ("--over", "reno.count=1,2", "--plot-over", "reno.count"),
    ],
)
def test_pictures(model, tmp_path, more, without_a_cluster):
    plot = tmp_path / "map.png"
    assert run_app(packets(model, "--out", tmp_path / "a.zarr", "--plot", plot, *more)) == 0
    assert matplotlib.image.imread(plot).std() > 0.05


def test_a_dry_run_estimates_the_cost_and_writes_nothing(model, tmp_path, capsys):
    out = tmp_path / "sweep.zarr"
    assert run_app(packets(model, "--out", out, "--dry-run", "--workers", 2, "--json")) == 0
    budget = json.loads(capsys.readouterr().out)
    assert (budget["points"], budget["runs"], budget["workers"]) == (4, 8, 2)
    assert 0 < budget["seconds"] < 60
    assert budget["memory_bytes"] > 1e8
    assert not out.exists()
    assert run_app(packets(model, "--dry-run", "--workers", 1)) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {
        *("points", "runs", "time", "memory", "disk")
    }


def test_the_disk_of_a_dry_run_is_that_of_the_run(model, tmp_path, capsys, without_a_cluster):
    out = tmp_path / "sweep.zarr"
    assert run_app(packets(model, "--dry-run", "--json", "--workers", 1, "--chunk", 4)) == 0
    promised = json.loads(capsys.readouterr().out)["disk_bytes"]
    assert run_app(packets(model, "--out", out, "--chunk", 4)) == 0
    chunks = [name for name in files_of(out) if "/c" in name and ALPHA not in name]
    taken = 4096 * len([name for name in chunks if name.split("/")[0] not in COORDINATES])
    assert promised == taken


COORDINATES = ("seed", "flow_class", "link")


@pytest.mark.parametrize(
    ("more", "expected_text"),
    [
        (("--over", "vegas.alpa_packets=1,2"), "vegas.alpha_packets"),
        (("--over", "reno.count=5:1:3"), "FROM below TO"),
        (("--over", "reno.count=1:5:0"), "COUNT of 1 or more"),
        (("--over", "reno.count"), "NAME=FROM:TO:COUNT"),
        (("--over", "reno.count=1:9e6:4000000"), "16000000 points"),
        (("--over", f"{ALPHA}=1,2"), "the name of a dimension must be different"),
        (("--plot", "map.jpeg"), "--plot"),
        (("--to", "table.xlsx"), "--to"),
        (("--tune", "cubic"), "one of reno, vegas"),
        (("--multi-host",), "--multi-host with packets is not supported"),
        (("--scheduler", "tcp://127.0.0.1:1"), "scheduler that answers"),
        (("--warmup", "9"), "warmup"),
    ],
)
def test_errors_are_one_line_and_create_no_store(
    model, tmp_path, capsys, more, expected_text, monkeypatch
):
    from vegasfluid.sweep import packet_tasks

    monkeypatch.setattr(packet_tasks, "CONNECT_TIMEOUT", 1)
    out = tmp_path / "sweep.zarr"
    assert run_app(packets(model, "--out", out, *more)) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert expected_text in message
    assert message.startswith("vegasfluid: ")
    if "--scheduler" not in more:
        assert not out.exists()


def test_more_invalid_input(model, tmp_path, capsys):
    assert run_app(packets(model)) == 2
    assert "--out must be a new Zarr store, such as map.zarr" in capsys.readouterr().err
    assert run_app(packets(model, "--out", tmp_path / "no" / "a.zarr")) == 2
    assert "in an existing folder" in capsys.readouterr().err
    fluid = ["sweep", str(model), "--over", OVER, "--out", str(tmp_path / "a.zarr")]
    assert run_app([*fluid, "--workers", "2"]) == 2
    assert "--workers with fluid is not supported" in capsys.readouterr().err
    assert run_app([*fluid, "--seeds", "2"]) == 2
    assert "one seed for this engine" in capsys.readouterr().err


def test_with_yes_more_points_are_allowed(model, capsys):
    many = ("--over", "reno.count=1:3000:3000", "--over", "bottleneck.capacity_mbps=1:1000:1000")
    assert run_app(packets(model, *many, "--dry-run", "--workers", "1", "--json")) == 2
    assert "12000000 points" in capsys.readouterr().err
    assert run_app(packets(model, *many, "--dry-run", "--workers", "1", "--json", "--yes")) == 0
    assert json.loads(capsys.readouterr().out)["points"] == 12_000_000


def test_an_output_of_another_sweep_is_left_alone(model, tmp_path, capsys, without_a_cluster):
    out = tmp_path / "sweep.zarr"
    assert run_app(packets(model, "--out", out)) == 0
    before = files_of(out)
    capsys.readouterr()
    assert run_app(packets(model, "--out", out, "--seed", "5")) == 2
    expected_text = capsys.readouterr().err.strip()
    assert "a new path or the store of this sweep" in expected_text
    assert "seeds" in expected_text
    assert files_of(out) == before


@pytest.mark.slow
def test_with_a_local_cluster(model, tmp_path):
    out = tmp_path / "sweep.zarr"
    done = finished([*packets(model, "--out", out, "--workers", 1, "--json")[1:]])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 4
    errors = done.stderr.splitlines()  # nothing, unless this machine takes more than a minute
    assert all(line.startswith("sweep: ") for line in errors)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom vegasfluid.cli.app import run_app\nrun_app(['sweep', '--help'])\n"
        "print(sorted({'jax', 'dask', 'zarr', 'xarray', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_line_a_minute_where_there_is_no_terminal(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(sweep_progress.time, "monotonic", lambda: now[0])
    with sweep_progress.line_per_minute() as tell:
        for done in range(200):
            now[0] += 1.0
            tell(Progress(200, done=done, began=100.0))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "sweep: 59 of 200 points, 0.983 a second, 0:02:23 left"


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    from pathlib import Path

    with sweep_progress.show_progress(Path("sweep.zarr")) as report:
        report(Progress(200, done=50, failed=2, began=sweep_progress.time.monotonic() - 10))
    shown = capsys.readouterr().err
    assert "50 of 200 points, 2 failed, 5 a second, 0:00:30 left" in shown

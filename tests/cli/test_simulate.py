"""`simulate`: its numbers are the library's, with each engine and each part of a model file."""

from __future__ import annotations

import sys

import matplotlib.image
import numpy as np
import pytest
import xarray as xr

import vegasfluid as vf
from tests.cli.commands import SMALL, TWO_LINKS, document, edited, written
from vegasfluid import modelfile

ENGINES = ("fluid", "density", "packets")


@pytest.mark.parametrize(
    "engine", ["fluid", pytest.param("density", marks=pytest.mark.slow), "packets"]
)
def test_simulate_json_and_netcdf(run, small, tmp_path, engine):
    target = tmp_path / "run.nc"
    arguments = ("--engine", engine, "--seed", "3", "--out", str(target), "--json")
    status, out, err = run("simulate", small, *arguments)
    result = document(out)
    assert (status, err) == (0, "")
    assert result["engine"] == engine
    assert result["seed"] == (3 if engine == "packets" else None)
    assert ("bottleneck: only 4 flows" in " ".join(result["warnings"])) == (engine != "packets")
    assert result["seconds"] > 0
    assert set(result["classes"]) == {"reno", "vegas"}
    assert set(result["links"]) == {"bottleneck"}
    with xr.open_dataset(target) as saved:
        same_as_run(saved.load(), small, engine)
        same_numbers(result, saved)


ONLY_PACKETS = {
    **dict.fromkeys(["ssthresh", "early", "forced", "full", "vegas_diff"], "packets"),
    **dict.fromkeys(["vegas_unchanged", "vegas_above_beta", "vegas_below_alpha"], "1"),
    "vegas_above_gamma": "1",
    "lost_waited": "packets s",
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
    both = [dict(run.attrs) for run in (saved, expected)]
    errors = [run.pop("error_estimate", ()) for run in both]
    np.testing.assert_array_equal(*errors)
    assert np.size(errors[0]) == (0 if engine == "packets" else 3)
    assert both[0] == both[1] | {"model": path, "title": "Two against two"}
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


def same_numbers(result: dict, saved: xr.Dataset) -> None:
    """The document's numbers, from the saved counters by hand: the means over 5 to 20 s."""
    at = {time: int(np.flatnonzero(saved["time"].values == time)[0]) for time in (5.0, 20.0)}

    def growth(name: str) -> np.ndarray:
        return saved[name].values[at[20.0]] - saved[name].values[at[5.0]]

    for i, (name, count) in enumerate({"reno": 2, "vegas": 2}.items()):
        entry = result["classes"][name]
        goodput = growth("delivered")[i] / 15
        assert entry["count"] == count
        assert entry["goodput_packets_per_s"] == pytest.approx(goodput)
        assert entry["goodput_mbps"] == pytest.approx(goodput * 1500 * 8 / 1e6)
        assert entry["retransmit_share"] == pytest.approx(
            growth("retransmitted")[i] / growth("sent")[i]
        )
        assert entry["timeouts"] == growth("timeouts")[i]
        for key, variable in (("cwnd_packets", "cwnd"), ("rtt_s", "rtt")):
            samples = saved[variable].values[at[5.0] :, i]
            assert entry[key] == pytest.approx(samples.mean())
    link = result["links"]["bottleneck"]
    sent = growth("admitted")[0] - growth("queue")[0]
    assert link["utilisation"] == pytest.approx(sent / 15 / (10e6 / 12000))
    assert 0.9 < link["utilisation"] < 1.001
    assert link["queue_packets"] == pytest.approx(growth("waited")[0] / 15)
    assert link["queueing_delay_s"] == pytest.approx(growth("waited")[0] / growth("admitted")[0])
    arrived = growth("lost")[0] + growth("admitted")[0]
    assert link["drop_share"] == pytest.approx(growth("lost")[0] / arrived)
    rates = growth("flow_delivered")
    assert result["jain_index"] == pytest.approx(rates.sum() ** 2 / (4 * (rates**2).sum()))


def test_progress_goes_to_a_terminal_only(run, small, monkeypatch):
    assert run("simulate", small, "--json")[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, err = run("simulate", small, "--json")
    assert status == 0
    assert document(out)["engine"] == "fluid"
    assert "simulate (fluid)" in err


def test_the_tolerance_is_met_or_reported_as_missed(run, small, tmp_path):
    exact = tmp_path / "exact.nc"
    warned = {}
    for tolerance in ("0.5", "1e-13"):
        out = run("simulate", small, "--json", "--tolerance", tolerance, "--out", str(exact))[1]
        warned[tolerance] = any(
            "the solver's steps" in warning for warning in document(out)["warnings"]
        )
        with xr.open_dataset(exact) as saved:
            assert saved.attrs["tolerance"] == float(tolerance)
            assert warned[tolerance] == (max(saved.attrs["error_estimate"]) > float(tolerance))
    assert warned == {"0.5": False, "1e-13": True}


def test_what_the_fluid_takes_for_granted(run, small):
    """Periodic losses differ from independent ones, and a false base RTT starves Vegas."""

    def goodput(*options: str) -> dict[str, float]:
        classes = document(run("simulate", small, "--json", *options)[1])["classes"]
        return {name: entry["goodput_mbps"] for name, entry in classes.items()}

    usual, periodic = goodput(), goodput("--loss-process", "periodic")
    network = modelfile.load(small).network
    options = vf.FluidOptions(loss_process="periodic")
    expected = vf.simulate_fluid(network, 20.0, warmup=5.0, options=options)
    ratio = periodic["vegas"] / periodic["reno"]
    assert ratio == pytest.approx(float(vf.metrics.goodput_ratio(expected, "vegas")))
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
    assert 600 <= height <= 1800
    assert 800 <= width <= 2000
    drawn = (pixels[:, :, :3] < 0.9).any(axis=2).mean()
    assert 0.01 < drawn < 0.5


PARTS = {
    "several links": TWO_LINKS,
    "against the stream": edited("count = 2", 'count = 2\ndirection = "reverse"'),
    "poisson": edited(
        "count = 2", 'count = 2\ntraffic = { name = "poisson", mean_interval_ms = 5 }'
    ),
    "events": SMALL + '\n[[events]]\nat_s = 5\nlink = "bottleneck"\ndelay_ms = 9\n',
    "jitter": edited("buffer_packets = 100", "buffer_packets = 100\njitter_ms = 1"),
}
ALL_PARTS = """
duration_s = 10
[links.up]
capacity_mbps = 10
buffer_packets = 100
jitter_ms = 1
aqm = { name = "red", min_thresh_packets = 20, max_thresh_packets = 80, max_drop = 0.1 }
[links.down]
capacity_mbps = 10
buffer_packets = 100
[flows.reno]
count = 2
base_rtt_ms = 20
path = ["up", "down"]
law = { name = "reno" }
traffic = { name = "poisson", mean_interval_ms = 5 }
[flows.vegas]
count = 2
base_rtt_ms = 20
path = ["up"]
direction = "reverse"
law = { name = "vegas" }
[[events]]
at_s = 5
link = "down"
delay_ms = 9
"""


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        *(
            pytest.param(text, engine, id=f"{part}-{engine}", marks=pytest.mark.slow)
            for part, text in PARTS.items()
            for engine in ENGINES
        ),
        pytest.param(ALL_PARTS, "fluid", id="all of them-fluid"),
        pytest.param(ALL_PARTS, "density", id="all of them-density", marks=pytest.mark.slow),
        pytest.param(ALL_PARTS, "packets", id="all of them-packets"),
    ],
)
def test_each_engine_accepts_each_part_of_a_model_file(run, tmp_path, text, engine):
    path = written(tmp_path, text)
    assert run("check", path)[0] == 0
    status, out, err = run("simulate", path, "--engine", engine, "--json")
    assert status == 0, err
    assert all(entry["goodput_packets_per_s"] > 0 for entry in document(out)["classes"].values())


@pytest.mark.slow
def test_two_engines_are_printed_and_plotted_together(run, tmp_path):
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


def test_the_fluid_model_warns_where_it_is_not_valid(run, tmp_path):
    path = written(tmp_path, SMALL)
    _, out, _ = run("simulate", path, "--json")
    assert any(" flows; with fewer than 10" in line for line in document(out)["warnings"])
    _, out, _ = run("simulate", path, "--engine", "packets", "--json")
    assert not any("fewer than 10" in line for line in document(out)["warnings"])

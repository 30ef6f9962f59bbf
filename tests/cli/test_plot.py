"""`plot`: saved runs and sweeps as pictures, and what cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import pytest
from matplotlib.figure import Figure

from tests.cli.commands import assert_invalid_input, document
from vegasfluid.cli import plot


@pytest.fixture
def drawn(monkeypatch):
    """Figures that were saved, in order."""
    figures: list[Figure] = []
    monkeypatch.setattr(
        plot, "save_picture", lambda figure, out: (figures.append(figure), out.touch())
    )
    return figures


@pytest.fixture
def saved(run, small, tmp_path):
    """A trajectory of each of two engines."""
    files = [tmp_path / name for name in ("fluid.nc", "packets.nc")]
    for file in files:
        status, out, err = run("simulate", small, "--engine", file.stem, "--out", str(file))
        assert (status, err) == (0, "")
        assert out.endswith(f"Written: {file}\n")
    return files


def test_saved_runs_are_drawn_on_the_same_axes(run, saved, drawn):
    status, out, err = run("plot", *map(str, saved))
    target = saved[0].with_suffix(".png")
    assert (status, out, err) == (0, f"Written: {target}\n", "")
    assert target.exists()
    windows, *_ = drawn[0].axes
    labels = [text.get_text() for text in windows.get_legend().get_texts()]
    assert labels == ["reno (fluid)", "vegas (fluid)", "reno (packets)", "vegas (packets)"]


def test_one_run_into_a_file_of_another_format(run, saved, tmp_path):
    target = tmp_path / "run.svg"
    status, out, err = run("plot", str(saved[1]), "--out", str(target), "--json")
    assert (status, err) == (0, "")
    assert document(out) == {"files": [str(saved[1])], "plot": str(target)}
    assert "<svg" in target.read_text()
    assert_invalid_input(
        run("plot", str(saved[1]), "--metric", "ratio"), "--metric must be of a trajectory one of"
    )
    assert_invalid_input(
        run("plot", str(saved[1]), "--plot-over", "alpha"), "--plot-over with a trajectory"
    )


def test_one_quantity_of_runs(run, saved, drawn):
    titles = {}
    for metric in plot.RUN_METRICS:
        assert run("plot", *map(str, saved), "--metric", metric)[0] == 0
        [axes] = drawn[-1].axes
        titles[metric] = axes.get_title(loc="left")
    assert titles["goodput"] == "goodput per flow, Mbit/s"
    assert titles["delay"] == "round-trip time, ms"
    assert len(set(titles.values())) == len(plot.RUN_METRICS)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_picture_has_the_background_of_its_theme(run, saved, tmp_path):
    corners = {}
    for theme in ("light", "dark", "light"):
        target = tmp_path / f"{theme}.png"
        assert run("plot", str(saved[1]), "--out", str(target), "--theme", theme)[0] == 0
        corners[theme] = matplotlib.image.imread(target)[0, 0, :3].max()
    assert corners["light"] == 1
    assert corners["dark"] < 0.2
    assert_invalid_input(run("plot", str(saved[1]), "--theme", "blue"), "--theme", "light, dark")


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_sweep_is_drawn_with_the_chosen_metric(run, small, tmp_path, drawn):
    store, target = str(tmp_path / "map.zarr"), str(tmp_path / "use.png")
    over = ("--over", "vegas.alpha_packets=1,4", "--until", "6", "--warmup", "2")
    assert run("sweep", small, *over, "--out", store)[0] == 0
    assert run("plot", store, "--metric", "utilisation", "--out", target)[0] == 0
    assert drawn[0].axes[0].get_ylabel() == "fraction of the capacity that is used"
    assert_invalid_input(run("plot", store, store), "a sweep with other files is not supported")
    assert_invalid_input(
        run("plot", store, "--metric", "speed"), "--metric must be one of", "'speed'"
    )


@pytest.mark.parametrize(
    ("name", "content"), [("no.nc", None), ("text.nc", b"hello"), ("other.nc", b"")]
)
def test_other_files_are_refused(run, tmp_path, name, content):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    assert_invalid_input(
        run("plot", str(file)), "plot: FILE must be a trajectory (.nc", str(Path(name))
    )


def test_a_folder_that_is_no_sweep_is_refused(run, tmp_path):
    assert_invalid_input(
        run("plot", str(tmp_path), "--out", str(tmp_path / "x.png")), str(tmp_path)
    )

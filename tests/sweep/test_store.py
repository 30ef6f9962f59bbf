"""The store: what is there is whole, what is not can be taken up, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from tests.sweep.small import ALPHA, MODEL, files_of, here, small_sweep
from vegasfluid import InvalidInput
from vegasfluid.metrics import summarise
from vegasfluid.packet import simulate_packets
from vegasfluid.sweep import Numbers, StoreFailed, open_sweep, run, runner
from vegasfluid.sweep.axes import with_numbers
from vegasfluid.sweep.store import open_store
from vegasfluid.sweep.summary import METRICS


@pytest.fixture(autouse=True)
def without_a_cluster(monkeypatch):
    monkeypatch.setattr(runner, "engine_of", here)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "sweep.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "engine_of", here)
        run(small_sweep(), path)
    return files_of(path)


class CutOffError(BaseException):
    """The process ends here."""


def stopped_after(count):
    """Chunks until so many are there, then the end."""

    def report(progress):
        if progress.done >= 2 * count:
            raise CutOffError

    return report


def test_every_number_is_that_of_a_single_run(tmp_path):
    sweep = small_sweep()
    reached = run(sweep, tmp_path / "sweep.zarr")
    assert (reached.points, reached.done, reached.failed) == (8, 8, 0)
    data = open_sweep(tmp_path / "sweep.zarr")
    place = {ALPHA: 4, "bottleneck.capacity_mbps": 12, "seed": 2}
    network = with_numbers(
        MODEL.network, {name: item for name, item in place.items() if "." in name}
    )
    own = summarise(simulate_packets(network, 2.0, warmup=0.5, seed=2), network)
    found = data.sel(place)
    np.testing.assert_allclose(found["jain_index"], own["jain_index"], rtol=1e-12)
    for along, parts in (("flow_class", own["classes"]), ("link", own["links"])):
        for name, numbers in parts.items():
            for key in numbers.keys() - {"count"}:
                value = found[key].sel({along: name})
                np.testing.assert_allclose(value, numbers[key], rtol=1e-12, err_msg=key)
    rates = {name: item["goodput_mbps"] for name, item in own["classes"].items()}
    np.testing.assert_allclose(found["ratio"], rates["vegas"] / rates["reno"], rtol=1e-12)


def test_the_dataset_describes_itself(tmp_path):
    run(small_sweep(name="small.toml", command="vegasfluid sweep small.toml"), tmp_path / "a.zarr")
    data = open_sweep(tmp_path / "a.zarr")
    assert data["ratio"].dims == (ALPHA, "bottleneck.capacity_mbps", "seed")
    assert data["goodput_mbps"].dims == (*data["ratio"].dims, "flow_class")
    assert data[ALPHA].attrs["units"] == "packets"
    assert data["bottleneck.capacity_mbps"].attrs["units"] == "Mbit/s"
    assert all({"units", "long_name"} <= set(data[name].attrs) for name in METRICS)
    wanted = {"model": "small.toml", "engine": "packets", "command": "vegasfluid sweep small.toml"}
    assert wanted.items() <= data.attrs.items()
    assert data.attrs["vegasfluid_version"]


def test_half_finished_it_opens_with_plain_xarray(tmp_path):
    path = tmp_path / "sweep.zarr"
    with pytest.raises(CutOffError):
        run(small_sweep(), path, report=stopped_after(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xr.open_zarr(path).load()
    assert int((data["status"] == 1).sum()) == 4
    there = np.isfinite(data["ratio"]).all("seed")
    np.testing.assert_array_equal(there, data["status"] == 1)


def test_taken_up_after_each_chunk_it_ends_with_the_same_bytes(tmp_path, undisturbed):
    path = tmp_path / "sweep.zarr"
    for count in (0, 1, 2, 3):
        with pytest.raises(CutOffError):
            run(small_sweep(), path, report=stopped_after(count))
    reached = run(small_sweep(), path)
    assert reached.found == 6
    assert files_of(path) == undisturbed


def renames(path):
    """How many files the writing of a store puts into their places."""
    counted = []
    kept = Path.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", lambda self, to: counted.append(to) or kept(self, to))
        run(small_sweep(), path)
    return len(counted)


@pytest.mark.parametrize("apart", [17, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["before the file is there", "after it is there"])
def test_cut_off_at_any_file_it_ends_with_the_same_bytes(
    tmp_path, undisturbed, where, apart, monkeypatch
):
    total, kept = renames(tmp_path / "counted.zarr"), Path.replace
    assert total > 60
    for stop in range(0, total, apart):
        path = tmp_path / f"{stop}.zarr"
        left = [stop]

        def replace(self, to, left=left):
            left[0] -= 1
            if left[0] < 0 and where.startswith("before"):
                raise CutOffError  # and the file beside its place stays there
            kept(self, to)
            if left[0] < 0:
                raise CutOffError

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            with pytest.raises(CutOffError):
                run(small_sweep(), path)
        run(small_sweep(), path)
        assert files_of(path) == undisturbed


@pytest.mark.parametrize("number", [0, 1, 20, 50, 60])
def test_a_full_disk_is_one_error_and_leaves_what_is_there(
    tmp_path, undisturbed, number, monkeypatch
):
    path, kept, left = tmp_path / "sweep.zarr", Path.replace, [number]

    def replace(self, to):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return kept(self, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with pytest.raises(StoreFailed, match="the disk is full") as failed:
            run(small_sweep(), path)
    assert "\n" not in str(failed.value)
    if path.exists():  # else it was not even begun
        data = open_sweep(path)
        there = data["status"].values == 1
        assert np.isfinite(data["utilisation"].values[there]).all()
        assert not there.all()
    assert not list(tmp_path.glob(".*"))
    run(small_sweep(), path)
    assert files_of(path) == undisturbed


def test_a_disk_that_is_really_full(tmp_path, small_disk):
    path = small_disk / "sweep.zarr"
    axes = [Numbers(ALPHA, range(1, 200))]
    with pytest.raises(StoreFailed, match="the disk is full"):
        run(small_sweep(axes=axes, until=0.2), path)
    before = files_of(path)
    assert before
    with pytest.raises(StoreFailed, match="the disk is full"):
        run(small_sweep(axes=axes, until=0.2), path)
    there = [name for name in before if name.startswith("status/c")]
    assert there
    after = files_of(path)
    assert all(after[name] == before[name] for name in there)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    import subprocess

    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_point_that_fails_is_recorded_and_stops_nothing(tmp_path):
    path = tmp_path / "sweep.zarr"
    axes = [Numbers(ALPHA, [1, 2, 3]), Numbers("vegas.beta_packets", [2, 9])]
    reached = run(small_sweep(axes=axes), path)
    assert (reached.done, reached.failed) == (6, 1)
    data = open_sweep(path).load()
    bad = {ALPHA: 3, "vegas.beta_packets": 2}
    assert int(data["status"].sel(bad)) == 2
    assert "alpha must be at most beta" in str(data["reason"].sel(bad).item())
    assert np.isnan(data["ratio"].sel(bad)).all()
    assert int((data["status"] == 1).sum()) == 5
    again = run(small_sweep(axes=axes), path)
    assert (again.found, again.done, again.failed) == (6, 6, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": (7,)}, "seeds"),
        ({"until": 3.0}, "model"),
        ({"engine": "fluid", "seeds": (1,)}, "engine"),
    ],
)
def test_the_store_of_another_sweep_is_left_alone(tmp_path, undisturbed, options, message):
    path = tmp_path / "sweep.zarr"
    run(small_sweep(), path)
    with pytest.raises(InvalidInput, match=f"--out must be a new path.*{message}"):
        run(small_sweep(**options), path)
    assert files_of(path) == undisturbed


@pytest.mark.parametrize("kind", ["file", "folder", "other zarr"])
def test_what_is_no_sweep_is_left_alone(tmp_path, kind):
    path = tmp_path / "sweep.zarr"
    if kind == "file":
        path.write_text("dear diary")
    elif kind == "folder":
        path.mkdir()
        (path / "thesis.tex").write_text("chapter 1")
    else:
        zarr.create_group(path).create_array("mine", shape=(2,), dtype="f8")
    before = path.read_bytes() if path.is_file() else files_of(path)
    with pytest.raises(InvalidInput, match="something else"):
        run(small_sweep(), path)
    assert (path.read_bytes() if path.is_file() else files_of(path)) == before


def test_two_processes_do_not_write_the_same_store(tmp_path):
    path = tmp_path / "sweep.zarr"
    with (
        open_store(path, small_sweep()),
        pytest.raises(InvalidInput, match="no other process is writing"),
    ):
        run(small_sweep(), path)
    run(small_sweep(), path)

"""Damage to a store, failures of the machine, and sweeps that begin together."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed.scheduler import KilledWorker

from tests.files import DAMAGES
from tests.sweep.small import ALPHA, COMMAND, environment, files_of, here, small_sweep, write_model
from vegasfluid.cli.app import run_app
from vegasfluid.errors import ComputationFailed
from vegasfluid.sweep import fluid_batches, open_sweep, packet_tasks, run, runner, store
from vegasfluid.sweep.results import Results


@pytest.fixture(autouse=True)
def without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "engine_of", here)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished store, which tests copy."""
    path = tmp_path_factory.mktemp("whole") / "sweep.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "engine_of", here)
        run(small_sweep(), path)
    return path


CHUNK_FILES = ("status/c/1/0", "ratio/c/1/0/0", "goodput_mbps/c/1/0/0/0", "reason/c/1/0")


@pytest.mark.parametrize("name", CHUNK_FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_chunk_is_named_and_computed_again(whole, tmp_path, name, damage):
    path, reports = tmp_path / "sweep.zarr", []
    shutil.copytree(whole, path)
    damage(path / name)
    gone = name.startswith("status") and damage is Path.unlink  # as of a chunk never written
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reached = run(small_sweep(), path, report=lambda now: reports.append(now.done))
    assert (reached.found, reached.done) == (6, 8)
    assert reports == [6, 8]
    assert files_of(path) == files_of(whole)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (0 if gone else 1)
    for message in messages:
        assert f"{path}: chunk 1/0 ({name.split('/')[0]} " in message
        assert "\n" not in message


@pytest.mark.parametrize("value", [0, 3, 255])
def test_a_status_that_says_nothing_is_damage(whole, tmp_path, value):
    path = tmp_path / "sweep.zarr"
    shutil.copytree(whole, path)
    with store.open_store(path, small_sweep()) as opened:
        opened._array("status")[2, 0] = value
    with pytest.warns(RuntimeWarning, match=r"chunk 2/0 \(status has unknown values\)"):
        run(small_sweep(), path)
    assert files_of(path) == files_of(whole)


@pytest.mark.parametrize("name", ["seed/c/0", f"{ALPHA}/c/0", "flow_class/c/0"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_coordinates_are_written_again(whole, tmp_path, name, damage):
    path = tmp_path / "sweep.zarr"
    shutil.copytree(whole, path)
    damage(path / name)
    with pytest.warns(RuntimeWarning, match=f"the coordinate {name.split('/')[0]} is damaged"):
        reached = run(small_sweep(), path)
    assert reached.found == 8
    assert files_of(path) == files_of(whole)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_metadata_are_written_again(whole, tmp_path, damage):
    path = tmp_path / "sweep.zarr"
    shutil.copytree(whole, path)
    damage(path / "ratio" / "zarr.json")
    with pytest.warns(RuntimeWarning, match="the metadata of ratio are damaged"):
        reached = run(small_sweep(), path)
    assert reached.found == 8
    assert files_of(path) == files_of(whole)


def test_an_array_that_is_gone_is_computed_again(whole, tmp_path):
    path = tmp_path / "sweep.zarr"
    shutil.copytree(whole, path)
    shutil.rmtree(path / "ratio")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reached = run(small_sweep(), path)
    assert reached.found == 0
    assert len(caught) == 1 + 4  # the metadata, and each chunk
    assert files_of(path) == files_of(whole)


MACHINE = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    MemoryError("Unable to allocate 3 TiB"),
    EOFError("Ran out of input"),
    RuntimeError("can't start new thread"),
]


def erring(times: int, error: Exception) -> Any:
    """In the place of the packet simulator: raises so often, then simulates."""
    simulate, left = packet_tasks.record_packets, [times]

    def record(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return simulate(*arguments)

    return record


def engine(sweep: Any, *_: Any) -> Any:
    """In the place of `runner.engine_of`: packets in this process, as Dask's tasks return them."""

    def computed(chunks: Any) -> Iterator[tuple[Any, Any]]:
        for chunk in chunks:
            try:
                [(_, results)] = here(sweep)([chunk])
            except Exception as error:
                yield chunk, error
            else:
                yield chunk, results

    return computed


@pytest.mark.parametrize("error", MACHINE, ids=lambda error: type(error).__name__)
def test_a_failure_of_the_machine_is_tried_again(whole, tmp_path, monkeypatch, error):
    monkeypatch.setattr(runner, "engine_of", engine)
    monkeypatch.setattr(packet_tasks, "record_packets", erring(3, error))
    reached = run(small_sweep(), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (8, 0)
    assert files_of(tmp_path / "sweep.zarr") == files_of(whole)


@pytest.mark.parametrize("error", MACHINE, ids=lambda error: type(error).__name__)
def test_one_that_stays_is_no_result(whole, tmp_path, monkeypatch, error):
    path = tmp_path / "sweep.zarr"
    monkeypatch.setattr(runner, "engine_of", engine)
    with monkeypatch.context() as patch:
        patch.setattr(packet_tasks, "record_packets", erring(99, error))
        with pytest.raises(ComputationFailed, match=r"8 points could not.*run the same") as failed:
            run(small_sweep(), path)
    assert str(error) in str(failed.value)
    assert int((open_sweep(path)["status"] != 0).sum()) == 0
    assert run(small_sweep(), path).failed == 0
    assert files_of(path) == files_of(whole)


def test_a_failure_of_the_model_is_a_result(tmp_path, monkeypatch):
    monkeypatch.setattr(packet_tasks, "record_packets", erring(99, ZeroDivisionError("of a law")))
    reached = run(small_sweep(), tmp_path / "sweep.zarr")
    assert (reached.done, reached.failed) == (8, 8)


class Cluster:
    """A Dask client whose tasks have all ended with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def submit(self, *_: Any, **__: Any) -> Cluster:
        """A future that is done."""
        return Cluster(self.error)

    def exception(self) -> Exception:
        return self.error

    def result(self) -> Results:
        raise self.error


class Completed(list):
    """In the place of distributed's `as_completed`."""

    def add(self, future: Any) -> None:
        self.append(future)


KILLED = KilledWorker("task", None, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [KILLED, *MACHINE[:2]], ids=lambda error: type(error).__name__)
def test_a_task_that_the_machine_stopped_is_no_result(monkeypatch, error):
    monkeypatch.setattr(packet_tasks, "as_completed", Completed)
    plan = small_sweep()
    client: Any = Cluster(error)
    found = list(packet_tasks.results_from(client, plan, plan.chunks()))
    assert [chunk for chunk, _ in found] == list(plan.chunks())
    assert all(isinstance(results, OSError | MemoryError) for _, results in found)


@pytest.mark.parametrize("function", ["equations_of", "solve"])
def test_a_fluid_chunk_that_the_machine_stopped_is_no_result(monkeypatch, function):
    def fails(*_: Any, **__: Any) -> None:
        raise MACHINE[0]

    monkeypatch.setattr(fluid_batches, function, fails)
    plan = small_sweep(engine="fluid", seeds=(1,))
    chunks = list(plan.chunks())[:2]
    assert list(fluid_batches.compute_chunks(plan, chunks)) == [
        (chunk, MACHINE[0]) for chunk in chunks
    ]


def test_the_command_says_that_points_are_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "engine_of", engine)
    monkeypatch.setattr(packet_tasks, "record_packets", erring(99, MACHINE[0]))
    asked = ["sweep", str(write_model(tmp_path)), "--over", f"{ALPHA}=1,2", "--engine", "packets"]
    assert run_app([*asked, "--out", str(tmp_path / "sweep.zarr")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "2 points could not be computed: OSError: [Errno 28]" in err


def test_a_sweep_of_which_every_point_fails_is_no_success(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packet_tasks, "record_packets", erring(99, ZeroDivisionError("of a law")))
    asked = ["sweep", str(write_model(tmp_path)), "--over", f"{ALPHA}=1,2", "--engine", "packets"]
    assert run_app([*asked, "--out", str(tmp_path / "sweep.zarr")]) == 1
    assert "every point failed; the error of the first: ZeroDiv" in capsys.readouterr().err


def raced(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    """Let `other(path)` happen after a sweep has found no store at a path."""
    create = store.create

    def late(path: Path, sweep: Any) -> None:
        other(path)
        create(path, sweep)

    monkeypatch.setattr(store, "create", late)


def test_of_two_that_begin_together_one_creates_the_store(whole, tmp_path, monkeypatch):
    path = tmp_path / "sweep.zarr"
    raced(monkeypatch, lambda path: shutil.copytree(whole, path))
    assert run(small_sweep(), path).found == 8
    assert files_of(path) == files_of(whole)
    assert os.listdir(tmp_path) == ["sweep.zarr"]


def test_one_may_create_the_store_while_the_other_writes_it(whole, tmp_path, monkeypatch):
    path, write_frame = tmp_path / "sweep.zarr", store.write_frame

    def slowly(new: Path, sweep: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(store, "write_frame", write_frame)
            if not path.exists():
                run(small_sweep(), path)  # the other one, from its begin to its end
        write_frame(new, sweep)

    monkeypatch.setattr(store, "write_frame", slowly)
    assert run(small_sweep(), path).found == 8
    assert files_of(path) == files_of(whole)
    assert os.listdir(tmp_path) == ["sweep.zarr"]


@pytest.mark.parametrize("name", [".sweep.zarr.new", ".sweep.zarr"])
def test_folders_of_the_user_stay(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.tex").write_text("chapter 1")
    run(small_sweep(), tmp_path / "sweep.zarr")
    assert (tmp_path / name / "thesis.tex").read_text() == "chapter 1"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "sweep.zarr"])


@pytest.mark.slow
def test_processes_that_begin_together_finish_or_say_so(tmp_path):
    model = str(write_model(tmp_path))
    asked = [*COMMAND, model, "--over", f"{ALPHA}=1,2,3", "--engine", "packets", "--until", "2"]
    for pair in range(3):
        path = str(tmp_path / f"{pair}.zarr")
        started = [
            subprocess.Popen(
                [*asked, "--workers", "1", "--out", path],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            for _ in range(2)
        ]
        messages = [process.communicate(timeout=300) for process in started]
        statuses = sorted(process.returncode for process in started)
        assert statuses in ([0, 0], [0, 2]), messages
        assert all(err.count("\n") <= 1 for _, err in messages)
        assert sum("no other process is writing" in err for _, err in messages) == statuses[1] / 2
        assert int((open_sweep(path)["status"] == 1).sum()) == 3
    assert not list(tmp_path.glob(".*"))

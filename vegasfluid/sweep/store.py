"""The store of a sweep: a Zarr group that grows chunk by chunk and can be read at any time.

Of each chunk the file of `status` is written last, and every file is written beside its place and
then renamed (zarr's LocalStore does that), so a chunk is there whole or not at all. Nothing in the
store depends on when, where or how often the sweep ran. Chunks are not compressed: they are small,
and then their bytes do not depend on the version of a compressor either.

Sources:
    Zarr version 3, https://zarr-specs.readthedocs.io.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from vegasfluid.errors import InvalidInput, VegasfluidError
from vegasfluid.sweep.locking import locked
from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.results import FAILED, Results
from vegasfluid.sweep.summary import METRICS
from vegasfluid.trajectory import ENGINES
from vegasfluid.version import package_version

__all__ = ["Store", "StoreFailed", "opened"]

IDENTITY = "sweep"
"""The attribute that says which sweep it is."""
TRIES, PAUSE = 50, 0.02
"""How often, and s."""
STATUS = {0: "not run yet", 1: "done", 2: "failed: see reason"}
LEFT_OVER = "*.partial"
"""What a write that was cut off leaves behind."""
WORDS = {"axes": "what is swept", "chunk": "size of chunks", "seeds": "seeds"}
"""What parts of an identity are called in a refusal, where not by their names."""


class StoreFailed(VegasfluidError):
    """The store cannot be written, as on a full disk; what it holds is whole."""


class Store:
    """A store that belongs to a sweep.

    Args:
        path: of the Zarr group.
        sweep: whose results it holds.
    """

    def __init__(self, path: Path, sweep: Sweep) -> None:
        self.path, self._sweep = path, sweep
        self._group = zarr.open_group(path, mode="r+")
        self._arrays = {name: self._array(name) for name in (*METRICS, "status", "reason")}

    def _array(self, name: str) -> Any:
        return self._group[name]

    def has(self, chunk: Chunk) -> bool:
        """Whether a chunk is there."""
        return self.path.joinpath("status", "c", *map(str, chunk)).is_file()

    def failed_in(self, chunk: Chunk) -> int:
        """How many points of a chunk have failed."""
        return int(np.sum(self._arrays["status"][self._sweep.region(chunk)] == FAILED))

    def write(self, chunk: Chunk, results: Results) -> None:
        """Write a chunk.

        Raises:
            StoreFailed: where that is not possible.
        """
        region = self._sweep.region(chunk)
        block = tuple(part.stop - part.start for part in region)
        with explained(self.path):
            for name, values in results.values.items():
                self._arrays[name][region] = values.reshape(*block, *values.shape[1:])
            if any(results.reasons):
                self._arrays["reason"][region] = np.array(results.reasons, object).reshape(block)
            self._arrays["status"][region] = results.status.reshape(block)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What goes wrong with files, as one clear error."""
    try:
        yield
    except OSError as failed:
        why = failed.strerror or str(failed)
        if failed.errno in (errno.ENOSPC, errno.EDQUOT):
            why = f"the disk is full ({why})"
        raise StoreFailed(
            f"sweep: {path} cannot be written: {why}. What it holds is whole; "
            "the same command goes on from there."
        ) from failed


@contextmanager
def opened(path: Path, sweep: Sweep, *, shared: bool = False) -> Iterator[Store]:
    """The store of a sweep, made where there is none, for one process at a time.

    Args:
        path: where.
        sweep: whose.
        shared: whether other processes of the same sweep write other chunks.

    Raises:
        InvalidInput: where something else is there, or another process has it.
        StoreFailed: where it cannot be written.
    """
    if not os.path.lexists(path):
        with explained(path):
            make(path, sweep)
    check(path, sweep)
    with locked(path / "zarr.json", shared=shared):
        if not shared:
            for left in path.rglob(LEFT_OVER):
                left.unlink()
        yield Store(path, sweep)


def check(path: Path, sweep: Sweep) -> None:
    """Refuse a store that is not this sweep's.

    Raises:
        InvalidInput: with what is there instead.
    """
    given = identity_at(path)
    if given is None:
        allowed = "new, or the store of this sweep"
        raise InvalidInput("sweep", "--out", allowed, f"{path}, which is no sweep")
    wanted = json.loads(sweep.fingerprint())
    other = [WORDS.get(key) or key for key in wanted if given.get(key) != wanted[key]]
    if other:
        found = f"{path}, which is of another one ({', '.join(other)})"
        raise InvalidInput("sweep", "--out", "new, or the store of this sweep", found)


def identity_at(path: Path) -> dict[str, Any] | None:
    """Which sweep a folder holds; None: none."""
    try:
        with open(path / "zarr.json", encoding="utf-8") as file:
            return json.loads(json.load(file)["attributes"][IDENTITY])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def make(path: Path, sweep: Sweep) -> None:
    """An empty store, beside its place first, so that it is there whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    cleared(new)
    try:
        write_frame(new, sweep)
        os.rename(new, path)
    finally:
        cleared(new)


def cleared(folder: Path) -> None:
    """Take a folder away, also one in which Zarr's threads still write for a moment."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(PAUSE)


def write_frame(path: Path, sweep: Sweep) -> None:
    """Coordinates, attributes, and arrays that hold nothing yet."""
    group = zarr.create_group(path, zarr_format=3, attributes=attributes(sweep))
    for axis in sweep.axes:
        coordinate(group, axis.label, list(axis.labels), axis.units, axis.name or axis.label)
    coordinate(group, "seed", list(sweep.seeds), "1", "seed of the random numbers")
    coordinate(group, "flow_class", list(sweep.classes), "1", "class of flows")
    coordinate(group, "link", list(sweep.links), "1", "link")
    dims, grid = [axis.label for axis in sweep.axes], (sweep.shape, sweep.chunk_shape)
    more = {None: (), "flow_class": (len(sweep.classes),), "link": (len(sweep.links),)}
    for name, metric in METRICS.items():
        inner = (len(sweep.seeds), *more[metric.along])
        names = [*dims, "seed", *((metric.along,) if metric.along else ())]
        described = {"long_name": metric.meaning, "units": metric.units}
        shape, chunks = ((*of, *inner) for of in grid)
        array(group, name, (shape, chunks), names, np.float64, np.nan, described)
    told = {"long_name": "whether a point was run", "flag_values": list(STATUS)}
    told["flag_meanings"] = "; ".join(STATUS.values())
    array(group, "status", grid, dims, np.uint8, 0, told)
    array(group, "reason", grid, dims, str, "", {"long_name": "why a point has failed"})
    with warnings.catch_warnings():  # Zarr's specification does not speak of it yet; readers do
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(group.store)


def array(
    group: Any,
    name: str,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    dims: list[str],
    dtype: Any,
    fill: Any,
    described: dict[str, Any],
) -> Any:
    """An array that holds nothing yet; the sizes are those of the whole and of a chunk."""
    return group.create_array(
        name,
        shape=sizes[0],
        chunks=sizes[1],
        dtype=dtype,
        fill_value=fill,
        dimension_names=dims,
        attributes=described,
        compressors=None,
    )


def coordinate(group: Any, name: str, values: list[Any], units: str, meaning: str) -> None:
    """The labels along a dimension."""
    dtype: Any = str if isinstance(values[0], str) else np.asarray(values).dtype
    sizes = ((len(values),), (len(values),))
    described = {"long_name": meaning, "units": units}
    made = array(group, name, sizes, [name], dtype, "" if dtype is str else 0, described)
    made[:] = np.array(values, object if dtype is str else dtype)


def attributes(sweep: Sweep) -> dict[str, Any]:
    """What the results are of, and what made them."""
    times = {(model.duration, model.warmup) for model in sweep.bases}
    until, warmup = next(iter(times)) if len(times) == 1 else ("several", "several")
    return {
        "title": sweep.model.title,
        "source": sweep.model.source,
        "model": sweep.name,
        "engine": sweep.engine,
        "engine_meaning": ENGINES[sweep.engine],
        "vegasfluid_version": package_version(),
        "command": sweep.command,
        "until_s": until,
        "warmup_s": warmup,
        "tune": sweep.tune or "",
        IDENTITY: sweep.fingerprint(),
    }

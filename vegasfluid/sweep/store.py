"""The store of a sweep: a Zarr group that grows chunk by chunk and can be read at any time.

For each chunk the file of `status` is written last, and zarr's LocalStore writes every file under a
temporary name and renames it. So a chunk is complete or absent, unless the disk damages it: each
file ends with a checksum, and chunks are read before they count as done (`damage`). The store does
not depend on when, where and in how many attempts the sweep ran. Chunks are small and therefore not
compressed, so their bytes do not depend on the version of a compressor.

Sources:
    Zarr version 3, https://zarr-specs.readthedocs.io.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput, VegasfluidError, Words
from vegasfluid.interruption import at_interruption
from vegasfluid.sweep.damage import Stored, read_chunk, repair_metadata, warn_of_damage
from vegasfluid.sweep.locking import locked
from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.requirements import not_installed
from vegasfluid.sweep.results import Results
from vegasfluid.sweep.summary import METRICS
from vegasfluid.trajectory import ENGINES
from vegasfluid.version import package_version

try:
    import zarr
    from zarr.codecs import Crc32cCodec
except ModuleNotFoundError as error:
    raise not_installed("zarr") from error

__all__ = ["Store", "StoreFailed", "open_store"]

IDENTITY = "sweep"
"""Name of the attribute with the identity of the sweep."""
DELETE_TRIES, PAUSE = 50, 0.02
"""Attempts to delete a folder, and the pause between them, s; chosen."""
STATUS = {0: "not run yet", 1: "done", 2: "failed: see reason"}
"""Meanings of the values of `status`."""
LEFT_OVER = "*.partial"
"""Names of the temporary files that an interrupted write leaves behind."""
WORDS = {"axes": "the axes", "chunk": "the chunk size"}
"""Parts of a sweep's identity, as error messages call them; others have the name of their key."""


class StoreFailed(VegasfluidError):
    """The store of a sweep cannot be written, for example because the disk is full.

    The chunks in it are complete, so the sweep can be resumed.
    """


class Store:
    """Zarr group with the results of a sweep.

    Args:
        path: path of the group, which exists.
        sweep: the sweep.
    """

    def __init__(self, path: Path, sweep: Sweep) -> None:
        self.path, self._sweep = path, sweep
        # Zarr would leave out a chunk of NaN, and a lost file could not be distinguished from it.
        with zarr.config.set({"array.write_empty_chunks": True}):
            self._group = zarr.open_group(path, mode="r+")
            self._arrays = {name: self._array(name) for name in (*METRICS, "status", "reason")}
        self._repair_coordinates()

    def _array(self, name: str) -> Any:
        """The Zarr array of a metric, or of `status` or `reason`, in the store's group."""
        return self._group[name]

    def _repair_coordinates(self) -> None:
        """Write the coordinates again that cannot be read or differ from the sweep, and warn."""
        for each in coordinates_of(self._sweep):
            array = self._array(each.name)
            try:
                intact = np.array_equal(array[:], each.array)
            except (OSError, ValueError, RuntimeError, KeyError):
                intact = False
            if not intact:
                warn_of_damage(self.path, f"the coordinate {each.name} is", "written")
                with write_errors(self.path):
                    array[:] = each.array

    def read(self, chunk: Chunk) -> Stored:
        """Read all that the store holds of a chunk (its index along each axis), and verify it."""
        return read_chunk(self.path, self._arrays, chunk, self._sweep.region(chunk))

    def write(self, chunk: Chunk, results: Results) -> None:
        """Write the results of a chunk: metrics, reasons of failures, and last each point's status.

        Args:
            chunk: index of the chunk along each axis.
            results: results of its points.

        Raises:
            StoreFailed: if the files cannot be written.
        """
        region = self._sweep.region(chunk)
        block = tuple(part.stop - part.start for part in region)
        with write_errors(self.path):
            for name, values in results.values.items():
                self._arrays[name][region] = values.reshape(*block, *values.shape[1:])
            self._arrays["reason"][region] = np.array(results.reasons, object).reshape(block)
            self._arrays["status"][region] = results.status.reshape(block)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Context that raises any error of the file system as StoreFailed, naming the store's path."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            why = f"the disk is full ({why})"
        raise StoreFailed(
            f"sweep: {path} cannot be written: {why}. The results in it are intact; "
            "run the same command again to resume."
        ) from error


@contextmanager
def open_store(path: Path, sweep: Sweep, *, shared: bool = False) -> Iterator[Store]:
    """Context with the store of a sweep, locked by this process; it is created if it is missing.

    Args:
        path: path of the store.
        sweep: the sweep.
        shared: whether other processes write other chunks of this sweep at the same time.

    Raises:
        InvalidInput: if the path holds anything else, or another process has locked the store.
        StoreFailed: if the store cannot be written.
    """
    if not os.path.lexists(path):
        with write_errors(path):
            create(path, sweep)
    check(path, sweep)
    with locked(path / "zarr.json", shared=shared):
        if not shared:
            for left in path.rglob(LEFT_OVER):
                left.unlink()
        with write_errors(path):
            repair_metadata(path)
        yield Store(path, sweep)


def check(path: Path, sweep: Sweep) -> None:
    """Check that a path is the store of this sweep, and return nothing.

    Raises:
        InvalidInput: if it is anything else; for another sweep the message names what differs.
    """
    allowed, stored = "a new path or the store of this sweep", identity_at(path)
    if stored is None:
        raise InvalidInput("sweep", "--out", allowed, Words(f"something else ({path})"))
    wanted = json.loads(sweep.fingerprint())
    differences = [WORDS.get(key) or key for key in wanted if stored.get(key) != wanted[key]]
    if differences:
        given = f"the store of another sweep ({path}; different: {', '.join(differences)})"
        raise InvalidInput("sweep", "--out", allowed, Words(given))


def identity_at(path: Path) -> dict[str, Any] | None:
    """Identity of the sweep that the store in a folder contains, as `Sweep.identity` gives it.

    None if the folder contains no sweep.
    """
    try:
        with open(path / "zarr.json", encoding="utf-8") as file:
            return json.loads(json.load(file)["attributes"][IDENTITY])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def create(path: Path, sweep: Sweep) -> None:
    """Create the empty store of a sweep at a path, unless another process does so meanwhile.

    It is written under a temporary name of this process and renamed. So a store at the path is
    complete, and of several processes that begin at the same time one creates it.
    """
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    with at_interruption(partial(delete, new)):
        try:
            write_frame(new, sweep)
            os.rename(new, path)
        except OSError:
            if not os.path.lexists(path):
                raise
        finally:
            delete(new)


def delete(folder: Path) -> None:
    """Delete a folder with its content; retries for about a second.

    Threads of Zarr may still write to it for a moment. A folder that does not exist is no error.
    """
    for _ in range(DELETE_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(PAUSE)


def write_frame(path: Path, sweep: Sweep) -> None:
    """Write a Zarr group with a sweep's coordinates and attributes, and empty arrays.

    There is an array for each metric (NaN), for `status` (0) and for `reason` (empty text).
    """
    group = zarr.create_group(path, zarr_format=3, attributes=attributes(sweep))
    for each in coordinates_of(sweep):
        write_coordinate(group, each)
    dims, grid = [axis.label for axis in sweep.axes], (sweep.shape, sweep.chunk_shape)
    lengths = {None: (), "flow_class": (len(sweep.classes),), "link": (len(sweep.links),)}
    for name, metric in METRICS.items():
        inner = (len(sweep.seeds), *lengths[metric.along])
        names = [*dims, "seed", *((metric.along,) if metric.along else ())]
        labels = {"long_name": metric.meaning, "units": metric.units}
        shape, chunks = ((*outer, *inner) for outer in grid)
        array(group, name, (shape, chunks), names, np.float64, np.nan, labels)
    labels = {"long_name": "whether a point was run", "flag_values": list(STATUS)}
    labels["flag_meanings"] = "; ".join(STATUS.values())
    array(group, "status", grid, dims, np.uint8, 0, labels)
    array(group, "reason", grid, dims, str, "", {"long_name": "why a point has failed"})
    with warnings.catch_warnings():  # Zarr warns that version 3 does not specify this yet
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(group.store)


def array(
    group: Any,
    name: str,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    dims: list[str],
    dtype: Any,
    fill: Any,
    labels: dict[str, Any],
) -> Any:
    """Create an empty array in a Zarr group, and return it.

    Args:
        group: the Zarr group.
        name: name of the array.
        sizes: shapes of the whole array and of a chunk.
        dims: name of each dimension.
        dtype: type of the values.
        fill: value where nothing was written.
        labels: attributes, such as `units`.
    """
    return group.create_array(
        name,
        shape=sizes[0],
        chunks=sizes[1],
        dtype=dtype,
        fill_value=fill,
        dimension_names=dims,
        attributes=labels,
        compressors=Crc32cCodec(),  # a checksum at the end of each chunk
    )


class Coordinate(NamedTuple):
    """Coordinates along a dimension of a sweep.

    Args:
        name: name of the dimension.
        values: a number or a label for each position.
        units: unit of the values.
        meaning: what they are.
    """

    name: str
    values: list[Any]
    units: str
    meaning: str

    @property
    def array(self) -> np.ndarray:
        """The values as an array; texts have the type object."""
        return np.array(self.values, object if isinstance(self.values[0], str) else None)


def coordinates_of(sweep: Sweep) -> list[Coordinate]:
    """Coordinates of all dimensions of a sweep: axes, `seed`, `flow_class` and `link`."""
    return [
        *(
            Coordinate(axis.label, list(axis.labels), axis.units, axis.name or axis.label)
            for axis in sweep.axes
        ),
        Coordinate("seed", list(sweep.seeds), "1", "seed of the random numbers"),
        Coordinate("flow_class", list(sweep.classes), "1", "flow class"),
        Coordinate("link", list(sweep.links), "1", "link"),
    ]


def write_coordinate(group: Any, given: Coordinate) -> None:
    """Write the coordinates along a dimension to a Zarr group, with their unit and meaning."""
    values = given.array
    text = values.dtype == object
    sizes = (values.shape, values.shape)
    labels = {"long_name": given.meaning, "units": given.units}
    dtype = str if text else values.dtype
    coordinates = array(group, given.name, sizes, [given.name], dtype, "" if text else 0, labels)
    coordinates[:] = values


def attributes(sweep: Sweep) -> dict[str, Any]:
    """Attributes of a sweep's store, by name.

    They are the model's title, source and name, the engine, the version, the command, duration and
    warm-up (s, or `several`), the tuned class, and the sweep's identity.
    """
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

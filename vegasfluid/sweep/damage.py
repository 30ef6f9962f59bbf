"""Damage to the files of a sweep's store: found by reading and checksums, warned of, repaired.

A power cut or a failing disk can leave files that are empty, cut short, changed or gone, although
each was written under a temporary name and renamed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.sweep.plan import Chunk
from vegasfluid.sweep.results import DONE, FAILED, reason_of

__all__ = ["Stored", "read_chunk", "repair_metadata", "warn_of_damage"]


class Stored(NamedTuple):
    """What a store holds of a chunk.

    Args:
        complete: whether all of its results are there and intact.
        failed: number of its points that could not be simulated.
        damage: which array is damaged, and how; empty if the chunk is complete or absent.
    """

    complete: bool
    failed: int = 0
    damage: str = ""


def read_chunk(
    path: Path, arrays: Mapping[str, Any], chunk: Chunk, region: tuple[slice, ...]
) -> Stored:
    """Read a chunk of a store, and verify that each of its files is there and intact.

    A chunk without a file of `status` counts as absent: not complete, without damage.

    Args:
        path: path of the store.
        arrays: its Zarr arrays by name: the metrics, `status` and `reason`.
        chunk: index of the chunk along each axis.
        region: the points of the chunk.
    """
    if not chunk_file(path, "status", chunk, arrays["status"].ndim).exists():
        return Stored(complete=False)
    for name, array in arrays.items():
        if not chunk_file(path, name, chunk, array.ndim).is_file():
            return Stored(complete=False, damage=f"{name} is missing")
        try:
            values = array[region]
        except MemoryError:
            raise
        except Exception as error:  # whatever Zarr raises for such bytes
            return Stored(complete=False, damage=f"{name} cannot be read ({reason_of(error)})")
        if name == "status":
            status = np.asarray(values)
    if not np.isin(status, (DONE, FAILED)).all():
        return Stored(complete=False, damage="status has unknown values")
    return Stored(complete=True, failed=int(np.sum(status == FAILED)))


def chunk_file(path: Path, name: str, chunk: Chunk, dimensions: int) -> Path:
    """The file of an array's chunk, which contains all of the array's further dimensions.

    Args:
        path: path of the store.
        name: name of the array.
        chunk: index of the chunk along each axis of the sweep.
        dimensions: number of dimensions of the array.
    """
    index = (*chunk, *(0,) * (dimensions - len(chunk)))
    return path.joinpath(name, "c", *map(str, index))


def repair_metadata(path: Path) -> None:
    """Write the metadata of arrays again that are missing or changed, and warn.

    The group's metadata have a copy of them.
    """
    group = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
    for name, metadata in group["consolidated_metadata"]["metadata"].items():
        file = path / name / "zarr.json"
        try:
            intact = json.loads(file.read_text(encoding="utf-8")) == metadata
        except (OSError, ValueError):
            intact = False
        if not intact:
            warn_of_damage(path, f"the metadata of {name} are", "written")
            file.parent.mkdir(exist_ok=True)
            new = file.with_name(f"zarr.{os.getpid()}.partial")
            new.write_text(json.dumps(metadata, indent=2), encoding="utf-8")
            new.replace(file)


def warn_of_damage(path: Path, what: str, action: str) -> None:
    """Warn that a part of a store is damaged and will be computed or written again.

    Args:
        path: path of the store.
        what: the part, with its verb, such as `the coordinate seed is`.
        action: what happens to it: `computed` or `written`.
    """
    message = f"sweep: {path}: {what} damaged or missing, and will be {action} again."
    warnings.warn(message, RuntimeWarning, stacklevel=3)

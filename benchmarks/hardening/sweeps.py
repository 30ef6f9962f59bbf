"""Sweeps that are killed, begun twice, on a full disk, or whose store is damaged: same bytes.

Each function returns what is wrong in a few words, empty if nothing is.
"""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from unittest.mock import patch

from tests.files import DAMAGES
from tests.sweep.small import begun, files_of, finished, here, small_chunks, small_sweep
from vegasfluid.sweep import run, runner

__all__ = ["damaged_fault", "damaged_files", "full_disk_fault", "killed_fault", "pair_fault"]

SEED = 383
"""Seed of the random moments."""
POINTS = 40
"""Number of points of a sweep, each in a chunk."""
ONE_WORKER = ("--workers", "1")
LONGEST = 300.0
"""Time that a sweep may take, s."""
PARTS = (0.4, 0.7)
"""Sizes of the disk that fills, relative to what the store needs."""
PAGE = 4096
"""Bytes in which a file system in memory allocates."""


@cache
def asked() -> tuple[str, ...]:
    """The sweep's options, without where it goes; stores contain the path of its model."""
    return tuple(map(str, small_chunks(Path(tempfile.mkdtemp(prefix="hardening-")), POINTS)))


@cache
def undisturbed() -> tuple[dict[str, bytes], float]:
    """Files of a sweep that ran without disturbance, and the time that it took, s."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        done = finished([*asked(), "--out", folder / "s.zarr", *ONE_WORKER])
        assert done.returncode == 0, done.stderr
        return files_of(folder / "s.zarr"), time.monotonic() - began


def end_fault(store: Path) -> str:
    """What is wrong with the store of a disturbed sweep after it has been run to its end."""
    done = finished([*asked(), "--out", store, *ONE_WORKER])
    if done.returncode != 0:
        return f"sweep not resumed with status {done.returncode}: {done.stderr[-200:]}"
    return "" if files_of(store) == undisturbed()[0] else "store with other bytes"


def killed_fault(index: int, folder: Path) -> str:
    """What is wrong with a sweep that is killed (SIGKILL) at a random moment and run again.

    Args:
        index: number of the case, which determines the moment.
        folder: an empty folder.
    """
    draw = random.Random(f"{SEED}-{index}")
    longest = undisturbed()[1]
    while True:
        store = folder / "s.zarr"
        shutil.rmtree(store, ignore_errors=True)
        process = begun(asked(), store, *ONE_WORKER)
        pause = draw.uniform(0.0, longest)
        time.sleep(pause)
        ended = process.poll() is not None
        process.kill()
        process.communicate()
        if not ended:
            return end_fault(store)
        longest = pause


def pair_fault(index: int, folder: Path) -> str:
    """What is wrong with two copies of a sweep that begin together on a new store.

    One may find that the other writes the store, and say so in one line with status 2.

    Args:
        index: number of the case, which determines by how much the second begins later.
        folder: an empty folder.
    """
    draw, store = random.Random(f"{SEED}-{index}"), folder / "s.zarr"
    copies = []
    for _ in range(2):
        copies.append(begun(asked(), store, *ONE_WORKER))
        time.sleep(draw.uniform(0.0, 0.5))
    ended = [process.communicate(timeout=LONGEST) for process in copies]
    statuses = sorted(process.returncode for process in copies)
    if statuses not in ([0, 0], [0, 2]):
        return f"statuses {statuses}: {ended}"
    if any(errors.count("\n") > 1 for _, errors in ended):
        return f"more than one line: {ended}"
    return "" if files_of(store) == undisturbed()[0] else "store with other bytes"


def full_disk_fault(index: int, folder: Path) -> str:
    """What is wrong with a sweep on a disk that fills twice, and then has enough room.

    It needs the right to mount a file system in memory.

    Args:
        index: number of the case; unused.
        folder: an empty folder.
    """
    del index
    disk = folder / "disk"
    disk.mkdir()
    needed = sum(-(-len(content) // PAGE) for content in undisturbed()[0].values()) * PAGE
    mount = ["mount", "-t", "tmpfs", "-o", f"size={int(PARTS[0] * needed)}", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    try:
        for larger in (PARTS[1] * needed, 100 * needed):
            done = finished([*asked(), "--out", disk / "s.zarr", *ONE_WORKER])
            if done.returncode == 0 or "the disk is full" not in done.stderr:
                return f"a full disk ends with status {done.returncode}: {done.stderr[-200:]}"
            if done.stderr.count("\n") > 1:
                return f"more than one line: {done.stderr}"
            subprocess.run(["mount", "-o", f"remount,size={int(larger)}", str(disk)], check=True)
        return end_fault(disk / "s.zarr")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@cache
def whole_store() -> Path:
    """A small finished store; in a temporary folder that stays."""
    path = Path(tempfile.mkdtemp(prefix="hardening-")) / "s.zarr"
    with patch.object(runner, "engine_of", here):
        run(small_sweep(), path)
    return path


@cache
def damaged_files() -> list[tuple[str, int]]:
    """Each file of the chunks of a small store, with the number of each kind of damage."""
    chunks = sorted(name for name in files_of(whole_store()) if "/c/" in name)
    return list(itertools.product(chunks, range(len(DAMAGES))))


def damaged_fault(index: int, folder: Path) -> str:
    """What is wrong after one file of a store is damaged and the sweep is run again.

    The damage must be named in a warning, unless the file is gone, and the file written again.

    Args:
        index: number of the file and damage, modulo that of `damaged_files`.
        folder: an empty folder.
    """
    name, damage = damaged_files()[index % len(damaged_files())]
    store = folder / "s.zarr"
    shutil.copytree(whole_store(), store)
    before = (store / name).read_bytes()
    DAMAGES[damage](store / name)
    with warnings.catch_warnings(record=True) as caught, patch.object(runner, "engine_of", here):
        warnings.simplefilter("always")
        run(small_sweep(), store)
    if files_of(store) != files_of(whole_store()):
        return f"{name}: store with other bytes after damage {damage} ({len(before)} bytes)"
    gone = name.startswith("status") and DAMAGES[damage] is Path.unlink
    words = " ".join(str(warning.message) for warning in caught)
    return "" if gone or name.split("/")[0] in words else f"{name}: damage {damage} is not named"

"""Commands that are repeated in other circumstances, and with damaged code in the cache.

The same seed must give the same bytes: with any number of workers, hash seed of Python, number of
threads and processors, and with an empty and a filled cache. Each function returns what is wrong in
a few words, empty if nothing is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.hardening.signals import PROGRAM
from tests.files import DAMAGES
from tests.paths import ROOT
from tests.sweep.small import ALPHA, files_of, write_model

__all__ = ["CIRCUMSTANCES", "COMMANDS", "cache_damages", "damaged_cache_fault", "repeat_fault"]

LONGEST = 300.0
"""Time that a command may take, s."""
WORKERS = "--workers"
COMMANDS: dict[str, tuple[str, ...]] = {
    "packets": ("simulate", "small.toml", "--engine", "packets", "--json"),
    "fluid": ("simulate", "small.toml", "--engine", "fluid", "--json"),
    "density": ("simulate", "small.toml", "--engine", "density", "--json"),
    "recommend": ("recommend", "small.toml", "--runs", "2", "--json", WORKERS, "2"),
    "analyse": ("analyse", "small.toml", "--json"),
    "sweep": (
        *("sweep", "small.toml", "--over", f"{ALPHA}=1:8:8", "--engine", "packets"),
        *("--seeds", "2", "--out", "s.zarr", WORKERS, "2"),
    ),
}
"""Command lines in a folder with a model, by name; workers are replaced."""


class Circumstance(NamedTuple):
    """What differs from the first run of a command.

    Args:
        variables: variables of the environment.
        workers: number of workers, of commands that have workers.
        processors: number of processors that the process may use; None: all.
        empty: whether the cache is empty.
    """

    variables: Mapping[str, str] = {}
    workers: str = "2"
    processors: int | None = None
    empty: bool = False


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
CIRCUMSTANCES = {
    "the same": Circumstance(),
    "hash seed 0": Circumstance({"PYTHONHASHSEED": "0"}),
    "hash seed 12345": Circumstance({"PYTHONHASHSEED": "12345"}),
    "one thread": Circumstance(dict.fromkeys(THREADS, "1")),
    "three threads": Circumstance(dict.fromkeys(THREADS, "3")),
    "one processor": Circumstance(processors=1),
    "one worker": Circumstance(workers="1"),
    "three workers": Circumstance(workers="3"),
    "empty cache": Circumstance(empty=True),
}


def output_of(command: str, folder: Path, circumstance: Circumstance, code: Path) -> object:
    """What a command prints (JSON without its computing time), and the files of its store.

    Args:
        command: a key of `COMMANDS`.
        folder: an empty folder.
        circumstance: how it is run.
        code: folder of compiled code.
    """
    write_model(folder)
    words = list(COMMANDS[command])
    if WORKERS in words:
        words[words.index(WORKERS) + 1] = circumstance.workers
    program = [*PROGRAM, *words]
    if circumstance.processors is not None:
        few = f"import os, sys; os.sched_setaffinity(0, range({circumstance.processors})); "
        program = [sys.executable, "-c", few + "os.execv(sys.argv[1], sys.argv[1:])", *program]
    more = {"PYTHONPATH": str(ROOT), "VEGASFLUID_CACHE_DIR": str(code), **circumstance.variables}
    done = subprocess.run(
        program,
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    document = json.loads(done.stdout) if "--json" in words and done.stdout else {}
    for name in ("seconds", "elapsed_s"):
        document.pop(name, None)
    return done.returncode, document, files_of(folder / "s.zarr")


@cache
def first_output(command: str) -> object:
    """What a command gives the first time, with a cache that it then has filled."""
    with tempfile.TemporaryDirectory() as folder:
        return output_of(command, Path(folder), Circumstance(), code_folder())


@cache
def code_folder() -> Path:
    """Folder of the compiled code of all commands; temporary, but it stays."""
    return Path(tempfile.mkdtemp(prefix="hardening-"))


def repeat_fault(index: int, folder: Path) -> str:
    """What is wrong with a command that is repeated in another circumstance.

    Args:
        index: number of the case: commands take turns, for each circumstance.
        folder: an empty folder.
    """
    command = list(COMMANDS)[index % len(COMMANDS)]
    name = list(CIRCUMSTANCES)[index // len(COMMANDS) % len(CIRCUMSTANCES)]
    circumstance, first = CIRCUMSTANCES[name], first_output(command)
    code = folder / "cache" if circumstance.empty else code_folder()
    found = output_of(command, folder, circumstance, code)
    return (
        "" if found == first else f"{command} with {name}: other bytes: {difference(first, found)}"
    )


def difference(first: object, second: object) -> str:
    """The first characters at which the texts of two outputs differ."""
    texts = repr(first), repr(second)
    pairs = enumerate(zip(*texts, strict=False))
    at = next((number for number, (one, other) in pairs if one != other), 0)
    return " / ".join(text[max(at - 60, 0) : at + 40] for text in texts)


ENGINE_OF = {"fluid": "fluid", "numba": "packets", "jax": "fluid"}
"""The command that loads the code in each folder of the cache."""


@cache
def cache_damages() -> list[tuple[str, int]]:
    """Each file of the cache of two engines, with the number of each kind of damage."""
    first_output("packets")
    first_output("fluid")
    files = [name for name, content in files_of(code_folder()).items() if content]
    return [(name, damage) for name in sorted(files) for damage in range(len(DAMAGES))]


def damaged_cache_fault(index: int, folder: Path) -> str:
    """What is wrong with a command after a file of compiled code that it loads is damaged.

    Args:
        index: number of the file and damage, modulo that of `cache_damages`.
        folder: an empty folder.
    """
    name, damage = cache_damages()[index % len(cache_damages())]
    code = folder / "cache"
    shutil.copytree(code_folder(), code)
    DAMAGES[damage](code / name)
    command = ENGINE_OF[name.split("/")[0]]
    found = output_of(command, folder, Circumstance(), code)
    same = found == first_output(command)
    return "" if same else f"{name}: damage {damage}: {difference(first_output(command), found)}"

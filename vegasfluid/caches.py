"""Folders in which compiled code is cached between runs."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from vegasfluid.interruption import at_every_interruption
from vegasfluid.private_folders import private_folder

__all__ = [
    "cache_folders",
    "cache_root",
    "clear_caches",
    "files_in",
    "keep_compiled_equations",
    "usable_cache",
]


UNREADABLE = "Error reading persistent compilation cache entry"
"""Beginning of JAX's warning about a file of its cache that it cannot read."""
WRITING_TIME = 2.0
"""Age up to which a file of JAX's cache may be unfinished, s; writing one takes milliseconds."""


def cache_root() -> Path:
    """Folder of all caches: $VEGASFLUID_CACHE_DIR, or `vegasfluid` in the user's cache folder."""
    folder = os.environ.get("VEGASFLUID_CACHE_DIR")
    return Path(folder) if folder else user_cache_path("vegasfluid")


def cache_folders() -> dict[str, Path]:
    """Paths of the folders of compiled code.

    By name: `jax` (what XLA compiles), `fluid` (single fluid runs), `numba` (packet engine).
    """
    return {name: cache_root() / name for name in ("jax", "fluid", "numba")}


def files_in(folder: Path) -> list[Path]:
    """All files in a folder and its subfolders; an empty list if the folder does not exist."""
    return [path for path in folder.rglob("*") if path.is_file()]


def clear_caches() -> None:
    """Remove the folders of compiled code; it is compiled again when needed."""
    for folder in cache_folders().values():
        shutil.rmtree(folder, ignore_errors=True)


def usable_cache(name: str) -> Path | None:
    """Folder `name` (`jax`, `fluid` or `numba`) of compiled code, if only the user can write to it.

    It is created if necessary. If it cannot be used, the result is None, and a warning states why,
    once per process.
    """
    return private_folder(cache_folders()[name])


def delete_recent(folder: Path) -> None:
    """Delete the files of a folder that were written in the last two seconds.

    JAX writes in place, and never replaces a file that a signal left cut short.
    """
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if is_recent(file) and file.is_file():
                file.unlink()


def is_recent(file: Path) -> bool:
    """Whether a file was written in the last two seconds, so that it may be unfinished."""
    return time.time() - file.stat().st_mtime < WRITING_TIME


def replace_damaged(folder: Path) -> None:
    """From now on, when JAX warns that it cannot read a file of its cache, delete it.

    JAX compiles what it cannot read, but never replaces the file, and would warn again each time.
    It names the compiled function only, so all files of this function go.

    Args:
        folder: JAX's cache folder.
    """
    show = warnings.showwarning
    if isinstance(show, partial) and show.args == (folder,):
        return
    warnings.showwarning = partial(show_and_delete, folder, show=show)


def show_and_delete(
    folder: Path, message: Warning | str, *context: Any, show: Callable[..., None], **options: Any
) -> None:
    """Show a warning; if it states that a file of JAX's cache cannot be read, delete the file.

    The names of files begin with that of the function, or with the key, and a hyphen.

    Nothing is deleted or shown where such a file is recent: another process is writing it.

    Args:
        folder: JAX's cache folder.
        message: the warning.
        context: category, file and line of the warning.
        show: function that shows it.
        options: other arguments of `warnings.showwarning`.
    """
    if named := re.match(f"{UNREADABLE} for '([^']+)'", str(message)):
        files = list(folder.glob(f"{glob.escape(named[1])}-*"))
        with contextlib.suppress(OSError):
            if any(map(is_recent, files)):
                return
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink()
        message = f"compiled code in {folder} is damaged: it was deleted and is compiled again"
    show(message, *context, **options)


def keep_compiled_equations() -> None:
    """Make JAX cache all compiled equations on disk, in the folder `jax` of `cache_folders`.

    This changes a setting of JAX for the whole process, so only programs call it. If other users
    can write to the folder, a warning states this, and JAX keeps its setting. Damaged files are
    deleted with a warning, and what was in them is compiled again.
    """
    import jax

    folder = usable_cache("jax")
    if folder is None:
        return
    at_every_interruption(partial(delete_recent, folder))
    replace_damaged(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

"""Folders in which compiled code is cached between runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

__all__ = [
    "cache_folders",
    "cache_root",
    "clear_caches",
    "files_in",
    "keep_compiled_equations",
    "write_error",
]


def cache_root() -> Path:
    """The folder of all caches: $VEGASFLUID_CACHE_DIR, or the user's cache folder."""
    folder = os.environ.get("VEGASFLUID_CACHE_DIR")
    return Path(folder) if folder else user_cache_path("vegasfluid")


def cache_folders() -> dict[str, Path]:
    """The folder of each cache: compiled equations (JAX) and packet simulators (Numba)."""
    return {"jax": cache_root() / "jax", "numba": cache_root() / "numba"}


def files_in(folder: Path) -> list[Path]:
    """All files in a folder and its subfolders; an empty list if the folder does not exist."""
    return [path for path in folder.rglob("*") if path.is_file()]


def clear_caches() -> None:
    """Remove all compiled code; it is compiled again when it is needed."""
    for folder in cache_folders().values():
        shutil.rmtree(folder, ignore_errors=True)


def write_error(folder: Path) -> str:
    """Why a folder cannot be written to, or an empty text. The folder is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"vegasfluid")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def keep_compiled_equations() -> None:
    """Make JAX cache compiled equations on disk.

    This changes a setting of JAX for the whole process, so only programs call it.
    """
    import jax

    jax.config.update("jax_compilation_cache_dir", str(cache_folders()["jax"]))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

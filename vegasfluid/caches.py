"""Where compiled code is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["cache_root", "keep_compiled_equations"]


def cache_root() -> Path:
    """The folder of all caches: $VEGASFLUID_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("VEGASFLUID_CACHE_DIR")
    return Path(chosen) if chosen else user_cache_path("vegasfluid")


def keep_compiled_equations() -> None:
    """Let JAX keep compiled equations on disk.

    This changes JAX for the whole process, so programs do it and the library does not.
    """
    import jax

    jax.config.update("jax_compilation_cache_dir", str(cache_root() / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

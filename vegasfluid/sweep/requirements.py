"""The error where libraries of the extra `sweep` are missing: Zarr for stores, Dask for tasks."""

from __future__ import annotations

from vegasfluid.errors import NotInstalled

__all__ = ["not_installed"]


def not_installed(library: str) -> NotInstalled:
    """The error that a sweep needs a library (`library`) of the extra `sweep`."""
    return NotInstalled("sweep", "a sweep", library, "pip install 'vegasfluid[sweep]'")

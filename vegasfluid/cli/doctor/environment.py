"""Facts about the machine and the installation: versions, cores, caches, optional parts."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from vegasfluid.caches import cache_folders, files_in
from vegasfluid.private_folders import folder_error
from vegasfluid.version import package_version

__all__ = ["Part", "caches", "machine", "missing", "nvidia_gpu", "packages", "parts"]

NVIDIA = Path("/proc/driver/nvidia/gpus")
"""Folder in which NVIDIA's driver on Linux lists its GPUs."""


class Part(NamedTuple):
    """Optional component of vegasfluid.

    Args:
        name: name of the component.
        installed: whether it is installed.
        purpose: what it is for.
        get: command that installs it.
    """

    name: str
    installed: bool
    purpose: str
    get: str


def machine() -> dict[str, Any]:
    """JSON entries on the machine: versions, system, processor, number of usable cores."""
    affine = getattr(os, "sched_getaffinity", None)
    return {
        "vegasfluid": package_version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "cores": len(affine(0)) if affine else os.cpu_count() or 1,
    }


def packages() -> list[dict[str, Any]]:
    """Required libraries: `name`, installed `version`, `needed` version, and whether it is `ok`.

    Those of extras are left out. Empty if vegasfluid runs from a source tree, not installed.
    """
    try:
        needed = [Requirement(line) for line in requires("vegasfluid") or []]
    except PackageNotFoundError:  # run from a source tree that is not installed
        return []
    return [
        package(entry)
        for entry in needed
        if entry.marker is None or entry.marker.evaluate({"extra": ""})
    ]


def package(needed: Requirement) -> dict[str, Any]:
    """JSON entry of a required library: `name`, installed `version`, `needed`, and whether `ok`.

    `version` is None if it is not installed; `needed` is a text such as `>=2.0`.
    """
    try:
        installed = version(needed.name)
    except PackageNotFoundError:
        installed = None
    fits = installed is not None and needed.specifier.contains(installed, prereleases=True)
    wanted = str(needed.specifier)
    return {"name": needed.name, "version": installed, "needed": wanted, "ok": fits}


def missing(entries: list[dict[str, Any]]) -> list[str]:
    """One sentence for each library in `entries` that is missing or has a wrong version."""
    return [
        f"{entry['name']}{entry['needed']} is required, found {entry['version'] or 'none'}"
        for entry in entries
        if not entry["ok"]
    ]


def caches() -> list[dict[str, Any]]:
    """JSON entries of the caches of compiled code; their folders are created if necessary.

    Returns:
        For each its `name`, `path`, number of `files`, `bytes` on disk, whether it is `writable`
        (by the user alone), and `why_not`; None if it is.
    """
    entries = []
    for name, folder in cache_folders().items():
        why_not = folder_error(folder)
        files = files_in(folder)
        size = sum(file.stat().st_size for file in files)
        entries.append(
            {
                "name": name,
                "path": str(folder),
                "files": len(files),
                "bytes": size,
                "writable": not why_not,
                "why_not": why_not or None,
            }
        )
    return entries


def nvidia_gpu() -> bool:
    """Whether the system has an NVIDIA driver, which means a GPU, whether or not JAX uses it."""
    return NVIDIA.is_dir() or shutil.which("nvidia-smi") is not None


def parts() -> list[Part]:
    """Optional components, whether each is installed, its purpose, and the command to get it."""
    notebooks = all(find_spec(name) is not None for name in ("jupyterlab", "ipywidgets"))
    sweeps = all(find_spec(name) is not None for name in ("dask", "distributed", "zarr"))
    return [
        Part(
            "GPU",
            any(find_spec(name) for name in ("jax_cuda13_plugin", "jax_cuda12_plugin")),
            "fluid sweeps on NVIDIA GPUs",
            "pip install 'vegasfluid[cuda13]'",
        ),
        Part("sweeps", sweeps, "grids of models", "pip install 'vegasfluid[sweep]'"),
        Part("notebooks", notebooks, "JupyterLab, sliders", "pip install 'vegasfluid[notebooks]'"),
        Part(
            "ns-2",
            shutil.which("ns") is not None,
            "run ns-2 exports",
            "apt install ns2",
        ),
        Part(
            "ns-3",
            find_spec("ns") is not None,
            "run ns-3 exports",
            "pip install ns3",
        ),
    ]

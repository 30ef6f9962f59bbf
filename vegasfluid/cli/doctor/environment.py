"""What is here: versions, cores, caches, optional parts. Nothing is run."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from vegasfluid.caches import cache_folders, files_in, write_error
from vegasfluid.version import package_version

__all__ = ["Part", "caches", "machine", "missing", "nvidia_gpu", "packages", "parts"]

NVIDIA = Path("/proc/driver/nvidia/gpus")


class Part(NamedTuple):
    """Something that vegasfluid does without.

    Args:
        name: what it is.
        here: whether it is here.
        purpose: what it is for.
        get: how to get it.
    """

    name: str
    here: bool
    purpose: str
    get: str


def machine() -> dict[str, Any]:
    """What vegasfluid runs on."""
    affine = getattr(os, "sched_getaffinity", None)
    return {
        "vegasfluid": package_version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "cores": len(affine(0)) if affine else os.cpu_count() or 1,
    }


def packages() -> list[dict[str, Any]]:
    """Every library that vegasfluid needs: its version here, and whether that will do."""
    try:
        needed = [Requirement(line) for line in requires("vegasfluid") or []]
    except PackageNotFoundError:  # run from a source tree that is not installed
        return []
    return [
        package(one) for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})
    ]


def package(needed: Requirement) -> dict[str, Any]:
    """A library that is needed."""
    try:
        here = version(needed.name)
    except PackageNotFoundError:
        here = None
    fits = here is not None and needed.specifier.contains(here, prereleases=True)
    wanted = str(needed.specifier)
    return {"name": needed.name, "version": here, "needed": wanted, "ok": fits}


def missing(found: list[dict[str, Any]]) -> list[str]:
    """The libraries that are not here, or too old, in words."""
    return [
        f"{one['name']}{one['needed']} is needed, and {one['version'] or 'none'} is here"
        for one in found
        if not one["ok"]
    ]


def caches() -> list[dict[str, Any]]:
    """Where compiled code is kept, how much of it there is, and why no more can be written."""
    found = []
    for name, folder in cache_folders().items():
        why_not = write_error(folder)
        files = files_in(folder)
        size = sum(file.stat().st_size for file in files)
        found.append(
            {
                "name": name,
                "path": str(folder),
                "files": len(files),
                "bytes": size,
                "writable": not why_not,
                "why_not": why_not or None,
            }
        )
    return found


def nvidia_gpu() -> bool:
    """Whether the system has an NVIDIA GPU, whatever JAX makes of it."""
    return NVIDIA.is_dir() or shutil.which("nvidia-smi") is not None


def parts() -> list[Part]:
    """What is optional."""
    notebooks = all(find_spec(name) is not None for name in ("jupyterlab", "ipywidgets"))
    return [
        Part(
            "GPU",
            any(find_spec(name) for name in ("jax_cuda13_plugin", "jax_cuda12_plugin")),
            "fluid sweeps on NVIDIA GPUs",
            "pip install 'vegasfluid[cuda13]'",
        ),
        Part("notebooks", notebooks, "JupyterLab, sliders", "pip install 'vegasfluid[notebooks]'"),
        Part(
            "ns-2",
            shutil.which("ns") is not None,
            "runs exports for ns2",
            "apt install ns2",
        ),
        Part(
            "ns-3",
            find_spec("ns") is not None,
            "runs exports for ns3",
            "pip install ns3",
        ),
    ]

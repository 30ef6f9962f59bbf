"""Which vegasfluid this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version() -> str:
    """Version of the installed package, such as `0.1.0`; `unknown` in a source tree."""
    try:
        return version("vegasfluid")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"

"""What options do when the command line is read: check their values, or act until the end."""

from __future__ import annotations

import typer

from vegasfluid.cli.output import quiet
from vegasfluid.memory import checked_limit, memory_limited
from vegasfluid.parallel import workers_limited

__all__ = ["be_quiet", "limit_memory", "limit_workers", "seed_in_range", "use_theme"]

LARGEST_SEED = 2**32 - 1
"""Largest seed that NumPy and the packet simulator accept: 32 bits."""


def seed_in_range(seed: int) -> int:
    """The seed, if it is from 0 to 2^32 - 1; otherwise raises typer.BadParameter."""
    if not 0 <= seed <= LARGEST_SEED:
        raise typer.BadParameter(f"must be 0 to {LARGEST_SEED}, but is {seed}")
    return seed


def limit_memory(context: typer.Context, gib: float | None) -> float | None:
    """Limit the memory of runs to `gib` GiB until the command ends, and return `gib`.

    None: the default limit stays.
    """
    if gib is not None:
        limit = checked_limit(str(context.info_name), "--max-memory", gib)
        context.with_resource(memory_limited(limit))
    return gib


def limit_workers(context: typer.Context, count: int | None) -> int | None:
    """Use at most `count` processors until the command ends, and return `count`.

    None: the number of processors stays.
    """
    if count is not None:
        context.with_resource(workers_limited(count))
    return count


def use_theme(context: typer.Context, name: str) -> str:
    """Draw pictures in the theme `light` or `dark` until the command ends, and return its name."""
    if name == "dark":
        from vegasfluid.plot import theme

        context.with_resource(theme(name))
    return name


def be_quiet(context: typer.Context, given: bool) -> bool:
    """Print neither progress nor suggested commands until the command ends, if `given`."""
    if given:
        context.with_resource(quiet())
    return given

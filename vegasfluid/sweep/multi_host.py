"""Fluid sweeps on many hosts: the processes of a JAX job share the chunks and the store.

Each process takes every n-th chunk, by its own devices; nothing passes between them but the
store, which has to be on a file system that all of them see.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import jax

from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.store import StoreFailed, opened

__all__ = ["share_of", "store_is_there"]

LONGEST = 120.0
"""Seconds that the first process may take to make the store."""


def share_of(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks of this process."""
    mine, processes = jax.process_index(), jax.process_count()
    return (chunk for n, chunk in enumerate(chunks) if n % processes == mine)


def store_is_there(path: Path, sweep: Sweep) -> None:
    """Make the store, or wait until the first process has.

    Raises:
        InvalidInput: where something else is there.
        StoreFailed: where it does not come.
    """
    if jax.process_index() == 0:
        with opened(path, sweep, shared=True):
            return
    begin = time.monotonic()
    while not path.exists():
        if time.monotonic() - begin > LONGEST:
            raise StoreFailed(f"sweep: {path} was not made by the first process.")
        time.sleep(0.1)

"""Fluid sweeps on several hosts: the processes of a JAX job divide the chunks among them.

Of n processes each computes every n-th chunk on its own devices. They communicate only through the
store, which must be on a shared file system.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import jax

from vegasfluid.sweep.plan import Chunk, Sweep
from vegasfluid.sweep.store import StoreFailed, open_store

__all__ = ["chunks_of_process", "ensure_store"]

CREATION_TIMEOUT = 120.0
"""Time in which the first process must create the store, s."""


def chunks_of_process(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks that this process computes: every n-th for the n processes of a JAX job."""
    index, processes = jax.process_index(), jax.process_count()
    return (chunk for n, chunk in enumerate(chunks) if n % processes == index)


def ensure_store(path: Path, sweep: Sweep) -> None:
    """Create the store of a sweep in the first process of a JAX job; in the others wait for it.

    Raises:
        InvalidInput: if the path holds anything but the store of this sweep.
        StoreFailed: if the store does not exist after 120 s.
    """
    if jax.process_index() == 0:
        with open_store(path, sweep, shared=True):
            return
    begin = time.monotonic()
    while not path.exists():
        if time.monotonic() - begin > CREATION_TIMEOUT:
            raise StoreFailed(f"sweep: the first process did not create {path}.")
        time.sleep(0.1)

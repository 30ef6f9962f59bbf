"""File lock that the system releases when its process ends, even after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vegasfluid.errors import InvalidInput

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

__all__ = ["locked"]


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Context in which this process holds a lock on a file, if the system has file locks.

    Args:
        path: the file to lock; its content is not changed.
        shared: whether other processes with a shared lock may hold it at the same time.

    Raises:
        InvalidInput: if another process holds the lock.
    """
    if fcntl is None:
        yield
        return
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            allowed = "a store that no other process is writing"
            raise InvalidInput("sweep", "--out", allowed, str(path.parent)) from None
        except OSError:  # a file system without locks
            pass
        yield

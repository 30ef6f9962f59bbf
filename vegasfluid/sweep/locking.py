"""One process at a time: a lock that the system lets go when its process ends, however it ends."""

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
    """Hold a file that no other process holds; where the system has no such locks, hold nothing.

    Args:
        path: the file; its bytes stay as they are.
        shared: whether others may hold it that share it, too.

    Raises:
        InvalidInput: where another process holds it.
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

"""Memory of runs: estimated before they begin, and shared by runs in parallel threads.

All runs of the process together may use half of the machine's memory, or what the environment
variable `VEGASFLUID_MAX_MEMORY` sets in GiB. A run that does not fit beside the others waits for
them; one that would never fit is rejected before it begins.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vegasfluid.errors import InvalidInput, TooLarge
from vegasfluid.limits import short_number

__all__ = ["GIB", "VARIABLE", "allowed_memory", "checked_limit", "memory_limited"]
__all__ += ["require_memory", "reserved"]

VARIABLE = "VEGASFLUID_MAX_MEMORY"
"""Environment variable with the memory that all runs of a process may use together, GiB."""

GIB = 2**30
"""Bytes in a GiB."""
PART = 0.5
"""Part of the machine's memory that runs may use (chosen: leaves room for everything else)."""
UNKNOWN = 8 * GIB
"""Memory that is assumed where the system does not report it, bytes."""
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""File with the memory limit of the container, bytes, or the word max."""

_released = threading.Condition()
"""Notified when a run ends."""
_in_use = {"bytes": 0.0}
"""Memory of the present runs, bytes; changed while `_released` is held."""


def allowed_memory() -> float:
    """Memory that all runs of this process may use together, bytes: half of the machine's.

    The machine's memory is the smallest of its physical memory, the limit of its container, and
    the limit of the process (`ulimit -v`). `VEGASFLUID_MAX_MEMORY` (GiB) replaces half of it.

    Raises:
        InvalidInput: where this variable is not a positive number.
    """
    if text := os.environ.get(VARIABLE):
        return GIB * checked_limit("environment", VARIABLE, text)
    return PART * min([_physical_memory(), *_limits()])


def checked_limit(owner: str, name: str, gib: float | str) -> float:
    """Return a memory limit in GiB after a check that it is a positive finite number.

    Args:
        owner: whose limit it is, for the error message.
        name: name of the option or variable, for the error message.
        gib: the limit, GiB, or its text.

    Raises:
        InvalidInput: if the limit is no number, not above 0, or not finite.
    """
    try:
        limit = float(gib)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise InvalidInput(owner, name, "a positive number of GiB", gib)
    return limit


@contextmanager
def memory_limited(gib: float) -> Iterator[None]:
    """Context in which all runs of this process together may use `gib` GiB.

    A process that is started in the context has the same limit for its own runs. The limit applies
    to all threads, and the one before is restored at the end.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = repr(gib)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _physical_memory() -> float:
    """Physical memory of the machine, bytes; 8 GiB where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # on Windows
        return UNKNOWN


def _limits() -> Iterator[float]:
    """Yield the memory limits of the container and of the process, bytes, where there are any."""
    try:
        text = CONTAINER_LIMIT.read_text().strip()
    except OSError:
        text = ""
    if text.isdigit():
        yield float(text)
    try:
        import resource
    except ImportError:  # on Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield float(limit)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Check before a computation that it may use the memory that it needs.

    Args:
        needed: estimated memory, bytes.
        what: the computation, for the error message, such as `the packet run`.
        remedy: what to change in the model, for the error message.

    Raises:
        TooLarge: if it needs more than the runs of this process may use together.
    """
    allowed = allowed_memory()
    if needed > allowed:
        whose = "the limit that was set" if os.environ.get(VARIABLE) else "half of this machine's"
        raise TooLarge(
            f"{what} would take {_gib(needed)} GiB of memory, more than {_gib(allowed)} GiB, "
            f"{whose}; set another one (--max-memory), or {remedy}."
        )


def _gib(size: float) -> str:
    """A size given in bytes as text in GiB, without the unit.

    From 0.1 to 1000 GiB it has one digit after the point, otherwise at most four significant ones.
    """
    return f"{size / GIB:.1f}" if 0.1 < size / GIB < 1000 else short_number(size / GIB)


@contextmanager
def reserved(needed: float, what: str, remedy: str) -> Iterator[None]:
    """Context of a computation that needs memory; waits until other threads leave enough.

    Args:
        needed: estimated memory, bytes.
        what: the computation, for the error message.
        remedy: what to change in the model, for the error message.

    Raises:
        TooLarge: if it needs more than the runs of this process may use together.
    """
    require_memory(needed, what, remedy)
    with _released:
        _released.wait_for(lambda: _in_use["bytes"] + needed <= allowed_memory())
        _in_use["bytes"] += needed
    try:
        yield
    finally:
        with _released:
            _in_use["bytes"] -= needed
            _released.notify_all()

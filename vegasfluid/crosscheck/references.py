"""The references by name, and those that are installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vegasfluid.crosscheck.linux import linux
from vegasfluid.crosscheck.ns2 import ns2
from vegasfluid.crosscheck.ns3 import ns3
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.errors import InvalidInput, NotInstalled

__all__ = ["NAMES", "references"]

NAMES = ("ns2", "ns3", "linux")
"""Names of the references."""


def references(names: Sequence[str] = (), kernel: Path | None = None) -> dict[str, Reference]:
    """References by name.

    Args:
        names: some of `NAMES`; none: all that are installed, `linux` only with a kernel.
        kernel: a User Mode Linux kernel; None: `linux` is the kernel of this machine.

    Raises:
        InvalidInput: for an unknown name, or a kernel that no reference uses.
        NotInstalled: for a reference that is not installed, or if none is.
    """
    for name in names:
        if name not in NAMES:
            raise InvalidInput("crosscheck", "--with", "one of " + ", ".join(NAMES), name)
    if names and kernel is not None and "linux" not in names:
        raise InvalidInput("crosscheck", "--kernel", "left out without --with linux", str(kernel))
    if names:
        return {name: reference(name, kernel) for name in dict.fromkeys(names)}
    wanted = NAMES if kernel is not None else tuple(name for name in NAMES if name != "linux")
    found = {}
    for name in wanted:
        try:
            found[name] = reference(name, kernel)
        except NotInstalled:
            if name == "linux":
                raise
    if not found:
        remedy = "apt-get install ns2, pip install ns3, or --kernel PATH"
        raise NotInstalled("crosscheck", "a model", "ns-2, ns-3 or a Linux kernel", remedy)
    return found


def reference(name: str, kernel: Path | None) -> Reference:
    """The reference called `name`, one of `NAMES`.

    Raises:
        NotInstalled: if it is not installed.
    """
    if name == "linux":
        return linux(kernel)
    return ns2() if name == "ns2" else ns3()

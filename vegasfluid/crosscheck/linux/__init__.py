"""A Linux kernel as a reference: a User Mode Linux kernel, or that of this machine."""

from __future__ import annotations

from pathlib import Path

from vegasfluid.crosscheck.linux.privileged import this_kernel
from vegasfluid.crosscheck.linux.user_mode import user_mode_kernel
from vegasfluid.crosscheck.reference import Reference

__all__ = ["linux"]


def linux(kernel: Path | None) -> Reference:
    """The reference Linux.

    Args:
        kernel: a User Mode Linux kernel; None: network namespaces on this machine, which needs
            root.

    Raises:
        NotInstalled: if a permission or a program is missing.
        InvalidInput: for a kernel that does not run.
    """
    return this_kernel() if kernel is None else user_mode_kernel(kernel)

"""Folders for compiled code that only the user can write to.

Machine code and pickles are run when they are loaded. So whoever can write to a folder of compiled
code can run code as the user who loads it. Where the system has no owners and modes as POSIX
defines them (Windows), this is not checked.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from pathlib import Path

__all__ = ["folder_error", "private_folder"]

PRIVATE = 0o700
"""Mode of a new folder: only its owner may read, write and enter it."""
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Mode bits that let the group or everybody write."""
WARNED: set[Path] = set()
"""Folders above unusable ones, for which this process has warned."""


def private_folder(folder: Path) -> Path | None:
    """The folder, created if necessary, if only the user can write to it; otherwise None.

    If it cannot be used, a warning states why, once per process for all folders with the same
    parent folder.
    """
    why = folder_error(folder)
    if not why:
        return folder
    if folder.parent not in WARNED:
        WARNED.add(folder.parent)
        message = f"compiled code is not kept, and will be compiled again each time: {why}."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return None


def folder_error(folder: Path) -> str:
    """Why a folder cannot be used for compiled code, with its path; empty if it can.

    It and the folder above it are created if necessary, with mode 0700. A temporary file is written
    to it as a test.
    """
    try:
        for each in (folder.parent, folder):
            each.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        why = owner_error(folder.parent, above=True) or owner_error(folder)
        if not why:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"vegasfluid")
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return why


def owner_error(folder: Path, *, above: bool = False) -> str:
    """Why other users could change the content of a folder; empty if they cannot.

    If the folder is the user's, its mode becomes 0700.

    Args:
        folder: an existing folder.
        above: whether only the folders in it are used. Then it may also be the system's, or one
            like `/tmp`, in which nobody can replace what others own.
    """
    if not hasattr(os, "geteuid"):
        return ""
    status, user = folder.stat(), os.geteuid()
    if status.st_uid != user and not (above and status.st_uid == 0):
        return f"{folder} belongs to another user (UID {status.st_uid})"
    if status.st_mode & WRITABLE_BY_OTHERS and not (above and status.st_mode & stat.S_ISVTX):
        return f"other users can write to {folder} (mode {stat.S_IMODE(status.st_mode):04o})"
    if not above and stat.S_IMODE(status.st_mode) != PRIVATE:
        folder.chmod(PRIVATE)
    return ""

"""Measurements of a real network that come with the package, to try `observe` on."""

from __future__ import annotations

from pathlib import Path

from vegasfluid.errors import InvalidInput

__all__ = ["example"]

FOLDER = Path(__file__).parent / "data"
"""Folder of the files; its README describes the network and its hosts."""


def example(name: str) -> Path:
    """Path of an example measurement.

    One Reno and one Vegas flow share 10 Mbit/s, 30 ms and a queue of 40 packets, between Linux
    hosts: output of a loop of `ss -tin`.

    Args:
        name: `before_ss.txt`, with the kernel's alpha and beta, or `after_ss.txt`, with those that
            `recommend` gives.

    Raises:
        InvalidInput: for another name.

    >>> from vegasfluid import observe
    >>> round(observe.estimate(observe.read(observe.example("before_ss.txt"))).buffer.value)
    40
    """
    files = {path.name: path for path in sorted(FOLDER.glob("*.txt"))}
    if name not in files:
        raise InvalidInput("observe", "the example", " or ".join(files), name)
    return files[name]

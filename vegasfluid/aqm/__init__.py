"""Queue laws, one file each: a fluid drop probability and a packet rule, side by side.

A module of this package that defines a law is found by itself: adding a law is adding its file.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.discovery import named_subclasses

__all__ = ["QueueDiscipline", "queue_disciplines"]


@cache
def queue_disciplines() -> dict[str, type[QueueDiscipline]]:
    """Every queue law by its name in model files.

    >>> sorted(queue_disciplines())
    ['droptail', 'red']
    """
    return named_subclasses(__name__, __path__, QueueDiscipline)

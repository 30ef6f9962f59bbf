"""Queue disciplines, one file each: the fluid model's drop probability beside the packet rule.

A new module of this package needs no registration: every subclass of `QueueDiscipline` with a name
is found.
"""

from __future__ import annotations

from functools import cache

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.discovery import named_subclasses

__all__ = ["QueueDiscipline", "queue_disciplines"]


@cache
def queue_disciplines() -> dict[str, type[QueueDiscipline]]:
    """Classes of all queue disciplines of this package, by their names in model files.

    >>> sorted(queue_disciplines())
    ['codel', 'droptail', 'fq', 'fq_codel', 'pi', 'pi2', 'pie', 'red', 'step']
    """
    return named_subclasses(__name__, __path__, QueueDiscipline)

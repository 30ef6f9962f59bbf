"""Queue laws, one file each: a fluid drop probability and a packet rule, side by side.

A module of this package that defines a law is found by itself: adding a law is adding its file.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from vegasfluid.aqm.law import AbstractQueueLaw

__all__ = ["AbstractQueueLaw", "queue_laws"]


@cache
def queue_laws() -> dict[str, type[AbstractQueueLaw]]:
    """Every queue law by its name in model files.

    >>> sorted(queue_laws())
    ['droptail', 'red']
    """
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return {law.name: law for law in AbstractQueueLaw.__subclasses__()}

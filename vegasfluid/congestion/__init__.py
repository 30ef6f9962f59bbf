"""Congestion-control laws, one file each: a fluid drift and packet rules, side by side.

A module of this package that defines a law is found by itself: adding a law is adding its file.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from vegasfluid.congestion.law import AbstractWindowLaw

__all__ = ["AbstractWindowLaw", "window_laws"]


@cache
def window_laws() -> dict[str, type[AbstractWindowLaw]]:
    """Every congestion-control law by its name in model files.

    >>> sorted(window_laws())
    ['reno', 'vegas']
    """
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return {law.name: law for law in AbstractWindowLaw.__subclasses__()}

"""Bulk: an endless file, so that TCP alone decides the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vegasfluid.traffic.kind import AbstractTraffic

__all__ = ["Bulk"]


@dataclass(frozen=True)
class Bulk(AbstractTraffic):
    """An endless file.

    >>> Bulk().name
    'bulk'
    """

    name: ClassVar[str] = "bulk"

"""What an application offers to TCP: a value that describes it, without numerics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vegasfluid.quantities import Value

__all__ = ["AbstractTraffic"]


@dataclass(frozen=True)
class AbstractTraffic(Value):
    """A kind of traffic with its parameters."""

    name: ClassVar[str]
    """The `kind` in model files."""

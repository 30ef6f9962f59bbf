"""A link and its queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.quantities import Delay, Packets, PacketsPerSecond, Positive, Value

__all__ = ["Link"]


@dataclass(frozen=True)
class Link(Value):
    """A link and the queue in front of it.

    >>> Link(capacity=1000.0, buffer=100).aqm.name
    'droptail'
    """

    capacity: Annotated[PacketsPerSecond, Positive]
    """Rate of the link, data packets per second."""
    buffer: Annotated[Packets, Ge(1)]
    """Packets that can wait, in addition to the one in transmission."""
    aqm: QueueDiscipline = field(default_factory=DropTail)
    """The queue discipline, which drops or marks packets."""
    delay: Delay = 0.0
    """One-way propagation delay, s."""
    jitter: Delay = 0.0
    """Maximum of the uniform random delay added to each packet, s."""
    jitter_reorders: bool = False
    """Whether jitter may reorder packets."""

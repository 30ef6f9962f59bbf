"""What a network asks of the engine: what it does not ask for is not compiled.

The engine's functions read these names as if they were constants; `compiler` binds them to what
the network needs, and the branches that cannot be taken fall away before they cost anything.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "CHANGES",
    "COUNTED",
    "DELAYED",
    "JITTER",
    "LOOSE",
    "MARKS",
    "OFFERED",
    "OVERHEAD",
    "SELECTIVE",
    "STAGES",
    "TWO_WAY",
    "Features",
]

STAGES = TWO_WAY = LOOSE = JITTER = CHANGES = False
DELAYED = SELECTIVE = MARKS = OFFERED = OVERHEAD = COUNTED = False


class Features(NamedTuple):
    """What is asked for.

    Args:
        STAGES: packets wait in more than one place.
        TWO_WAY: ACKs wait in queues, too.
        LOOSE: a packet may overtake another on its way.
        JITTER: links delay packets at random.
        CHANGES: delays change during the run.
        DELAYED: receivers hold ACKs back.
        SELECTIVE: receivers report what came out of order, and senders use it.
        MARKS: queues mark packets.
        OFFERED: applications offer less than TCP could send, or connections end.
        OVERHEAD: senders take a random time for each packet.
        COUNTED: arrivals are counted in bins.
    """

    STAGES: bool = False
    TWO_WAY: bool = False
    LOOSE: bool = False
    JITTER: bool = False
    CHANGES: bool = False
    DELAYED: bool = False
    SELECTIVE: bool = False
    MARKS: bool = False
    OFFERED: bool = False
    OVERHEAD: bool = False
    COUNTED: bool = False

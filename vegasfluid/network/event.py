"""Changes of delay during a run."""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.quantities import Delay, Seconds, Value

__all__ = ["Event"]


@dataclass(frozen=True)
class Event(Value):
    """A change of a propagation delay during the run, as after rerouting.

    Packets that enter the link after `at` get the new delay; they may overtake earlier packets.
    """

    at: Seconds
    """Time of the change, s."""
    link: str
    """Name of the link that changes, or `access` for the access links of the class `flows`."""
    delay: Delay
    """The new delay, s: of a link, one way; of access links, the new value of the class's
    `access_delay` or `base_rtt`, whichever the class defines."""
    flows: str | None = None
    """The class whose access links change, None: all classes; not used for a link by name."""

"""A model: a network, and how long to watch it. What a model file describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network, Spread
from vegasfluid.quantities import Positive, Seconds, Value, is_concrete, require_ordered
from vegasfluid.ranges import Range

__all__ = ["Model"]


@dataclass(frozen=True)
class Model(Value):
    """A network, the time to simulate, and what the model shows.

    Raises:
        InvalidInput: for a duration that is not above 0, a warm-up that is not below it, or a flow
            that starts later.

    >>> from vegasfluid.congestion.reno import Reno
    >>> from vegasfluid.network import Flows, Link
    >>> network = Network(Link(1000.0, 100), {"reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> Model(network, duration=200, warmup=50).title
    ''
    """

    network: Network
    """What is connected to what."""
    duration: Annotated[Seconds, Positive]
    """Simulated time."""
    warmup: Seconds = 0.0
    """Time at the start that is left out of every mean."""
    title: str = ""
    """What the model shows, in a few words."""
    source: str = ""
    """Where its numbers are from."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Which numbers of the network are uncertain, by their names in model files, such as
    `reno.base_rtt_ms`; the network has the nominal ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "warmup", "duration", strict=True)
        for name, flows in self.network.flows.items():
            self._check_starts(name, flows.start)

    def _check_starts(self, name: str, start: float | tuple[float, ...] | Spread) -> None:
        """Refuse a class of which a flow never starts."""
        if isinstance(start, Spread) or not is_concrete(self.duration):
            return
        for given in start if isinstance(start, tuple) else (start,):
            if is_concrete(given) and given >= self.duration:
                allowed = f"below the duration ({self.duration:g} s)"
                raise InvalidInput(f"flows.{name}", "start", allowed, given)

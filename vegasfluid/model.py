"""A model: a network, and how long to watch it. What a model file describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network, UniformStart
from vegasfluid.quantities import Positive, Seconds, Value, is_concrete, require_ordered
from vegasfluid.ranges import Range

__all__ = ["Model", "check_starts"]


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
        check_starts(self.network, self.duration)


def check_starts(network: Network, until: float) -> None:
    """Refuse a network of which a flow never starts.

    Args:
        network: whose flows are looked at; those that start at random are not.
        until: simulated time, s.

    Raises:
        InvalidInput: for the first class with a flow that starts at `until` or later.
    """
    for name, flows in network.flows.items():
        if isinstance(flows.start, UniformStart):
            continue
        for start in flows.start if isinstance(flows.start, tuple) else (flows.start,):
            if is_concrete(start) and is_concrete(until) and start >= until:
                allowed = f"below the simulated time ({until:g} s)"
                raise InvalidInput(f"flows.{name}", "start", allowed, start)

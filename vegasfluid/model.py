"""A model: the content of a model file, a network with the times of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network, UniformStart
from vegasfluid.quantities import Positive, Seconds, Value, is_concrete, require_ordered
from vegasfluid.ranges import Range

__all__ = ["Model", "check_starts"]


@dataclass(frozen=True)
class Model(Value):
    """A network, the time to simulate, and the title and source of the model.

    Raises:
        InvalidInput: for a duration that is not above 0, a warm-up that is not below it, or a flow
            that starts at the end or later.

    >>> from vegasfluid.congestion.reno import Reno
    >>> from vegasfluid.network import Flows, Link
    >>> network = Network(Link(1000.0, 100), {"reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> Model(network, duration=200, warmup=50).title
    ''
    """

    network: Network
    """Links, paths and flow classes."""
    duration: Annotated[Seconds, Positive]
    """Simulated time, s."""
    warmup: Seconds = 0.0
    """Time at the start that is excluded from means, s; below `duration`."""
    title: str = ""
    """Purpose of the model, in a few words."""
    source: str = ""
    """Source of its numbers, such as a paper."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Ranges of uncertain parameters by their names in model files, such as `reno.base_rtt_ms`;
    the network has the nominal values."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "warmup", "duration", strict=True)
        check_starts(self.network, self.duration)

    def with_times(self, duration: float | None, warmup: float | None) -> Model:
        """A copy with another duration or warm-up, s; None keeps that of this model.

        Raises:
            InvalidInput: for a duration that is not above 0, or not above the warm-up and the
                start of every flow.
        """
        until = self.duration if duration is None else duration
        begin = self.warmup if warmup is None else warmup
        if warmup is None and until <= begin:
            allowed = f"above the warm-up of {begin:g} s (or change the warm-up, too)"
            raise InvalidInput("Model", "until", allowed, until)
        return replace(
            self,
            duration=until,
            warmup=begin,
        )


def check_starts(network: Network, until: float) -> None:
    """Check that every flow starts before the end of the run; random starts are not checked.

    Args:
        network: the network.
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

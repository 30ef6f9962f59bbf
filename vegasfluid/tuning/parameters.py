"""What can be tuned: alpha of a Vegas class, and RED's numbers.

A parameter is set in a network, and in the numbers of its equations (`FluidParameters`), where its
value may be traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.network import Network
from vegasfluid.tuning.thresholds import largest_alpha, smallest_alpha, with_alpha

__all__ = [
    "AlphaParameter",
    "Parameter",
    "RedParameter",
    "alphas",
    "groups_tuned",
    "tuned_parameters",
    "with_values",
]
__all__ += ["posed_with_values"]

SMALLEST_THRESHOLD = 1.0
"""Packets."""
SMALLEST_MAX_DROP = 0.01


@dataclass(frozen=True)
class AlphaParameter:
    """Alpha of a class; beta follows.

    Args:
        flows: the class.
        number: which class it is.
        zone: beta - alpha, packets.
    """

    flows: str
    number: int
    zone: float

    @property
    def name(self) -> str:
        """As a model file says it."""
        return f"{self.flows}.alpha_packets"

    def range(self, network: Network) -> tuple[float, float]:
        """The smallest and the largest value to try."""
        law = cast(Vegas, network.flows[self.flows].law)
        return smallest_alpha(law), largest_alpha(network)

    def value(self, network: Network) -> float:
        """Where it stands."""
        return float(cast(Any, network.flows[self.flows].law).alpha)

    def turn(self, network: Network, value: Any) -> Network:
        """The network with another value."""
        law = cast(Vegas, network.flows[self.flows].law)
        return network.with_law(self.flows, with_alpha(law, value, self.zone))

    def posed_with_value(self, posed: FluidParameters, value: Any) -> FluidParameters:
        """The numbers of the equations with another value."""
        laws = list(posed.laws)
        laws[self.number] = with_alpha(cast(Vegas, laws[self.number]), value, self.zone)
        return posed._replace(laws=tuple(laws))


@dataclass(frozen=True)
class RedParameter:
    """A number of the RED queue of a network's link.

    Args:
        field: its name; `spread` is max_thresh - min_thresh, so that no value breaks their order.
    """

    field: str

    @property
    def name(self) -> str:
        """As a model file would say it."""
        return self.field if self.field == "max_drop" else f"{self.field}_packets"

    def range(self, network: Network) -> tuple[float, float]:
        """The smallest and the largest value to try."""
        if self.field == "max_drop":
            return SMALLEST_MAX_DROP, 1.0
        return SMALLEST_THRESHOLD, float(network.link.buffer) - SMALLEST_THRESHOLD

    def value(self, network: Network) -> float:
        """Where it stands."""
        law = cast(Red, network.link.aqm)
        if self.field == "spread":
            return float(law.max_thresh - law.min_thresh)
        return float(getattr(law, self.field))

    def turn(self, network: Network, value: Any) -> Network:
        """The network with another value."""
        ((name, link),) = network.links.items()
        law = self._turned(cast(Red, link.aqm), value)
        return replace(network, links={name: replace(link, aqm=law)})

    def posed_with_value(self, posed: FluidParameters, value: Any) -> FluidParameters:
        """The numbers of the equations with another value."""
        return posed._replace(aqm=tuple(self._turned(cast(Red, law), value) for law in posed.aqm))

    def _turned(self, law: Red, value: Any) -> Red:
        if self.field == "max_drop":
            return replace(law, max_drop=value)
        if self.field == "spread":
            return replace(law, max_thresh=law.min_thresh + value)
        return replace(law, min_thresh=value, max_thresh=value + law.max_thresh - law.min_thresh)


Parameter = AlphaParameter | RedParameter


def tuned_parameters(
    network: Network, zones: Mapping[str, float], queue: bool
) -> tuple[Parameter, ...]:
    """What is to be tuned.

    Args:
        network: whose parameters they are; of one link, if RED is tuned.
        zones: beta - alpha of each Vegas class that is tuned, packets.
        queue: whether RED is tuned, too; its parameters come last.

    Raises:
        InvalidInput: where RED is to be tuned and there is none.
    """
    numbers = {name: number for number, name in enumerate(network.flows)}
    alpha = tuple(AlphaParameter(name, numbers[name], zone) for name, zone in zones.items())
    if not queue:
        return alpha
    if not isinstance(network.link.aqm, Red):
        given = network.link.aqm.name
        raise InvalidInput("recommend", "the queue law (it is to be tuned)", "red", given)
    return (*alpha, RedParameter("min_thresh"), RedParameter("spread"), RedParameter("max_drop"))


def alphas(parameters: Sequence[Parameter]) -> list[AlphaParameter]:
    """Those of Vegas classes."""
    return [parameter for parameter in parameters if isinstance(parameter, AlphaParameter)]


def groups_tuned(classes: Sequence[slice], parameters: Sequence[Parameter]) -> np.ndarray:
    """For each group of flows 0, or which of the tuned classes it belongs to, from 1; (groups,).

    Args:
        classes: the groups of each class.
        parameters: what is tuned.
    """
    tuned = np.zeros(max(of.stop for of in classes))
    for number, parameter in enumerate(alphas(parameters), start=1):
        tuned[classes[parameter.number]] = number
    return tuned


def with_values(
    network: Network, parameters: Sequence[Parameter], values: Sequence[Any]
) -> Network:
    """The network with other values."""
    for parameter, value in zip(parameters, values, strict=True):
        network = parameter.turn(network, value)
    return network


def posed_with_values(
    posed: FluidParameters, parameters: Sequence[Parameter], values: Any
) -> FluidParameters:
    """The numbers of the equations with other values."""
    for number, parameter in enumerate(parameters):
        posed = parameter.posed_with_value(posed, values[number])
    return posed

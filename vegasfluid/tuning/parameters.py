"""What can be tuned: alpha of a Vegas class (beta follows), and RED's thresholds and max_drop.

A parameter is set in a network, and in the numbers of its equations, where its value may be traced.

**beta = alpha + 2 packets of window.** The dead band between alpha and beta must be wide enough for
a window that moves in whole packets, compared with a rounded estimate, to stay in it: two packets.
Where the estimate divides by the base RTT (Linux), a packet of window counts rtt / base, and the
band is that much wider. Wider still only lets flows that came from above keep more than flows that
came from below for as long as nothing is lost, which is unfair among Vegas flows (C. Boutremans and
J.-Y. Le Boudec, "A note on the fairness of TCP Vegas", 2000; abstract). Where packets are lost, the
equilibrium is at alpha and beta hardly matters (every loss in the dead band pulls down, and nothing
pushes up).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from jaxtyping import Float

from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.network import Network, require_network

__all__ = ["DEAD_BAND", "AlphaParameter", "Parameter", "RedParameter", "alpha_parameters"]
__all__ += [
    "dead_band",
    "has_tunable_queue",
    "is_parameter_name",
    "largest_alpha",
    "queue_names",
    "smallest_alpha",
    "tunable_class",
    "tuned_groups",
]
__all__ += ["three_digits", "tuned_parameters", "vegas_classes", "whole_if_needed"]
__all__ += ["whole_packets", "with_alpha", "with_values", "with_values_in_equations"]

DEAD_BAND = 2.0
"""The usual beta - alpha, packets of window."""
SMALLEST_WHOLE_ALPHA = 1.0
"""Smallest alpha (packets) to try in dialects that take whole numbers only."""
SMALLEST_ALPHA = 0.1
"""Smallest alpha (packets) to try in dialects that take any number."""
SMALLEST_THRESHOLD = 1.0
"""Smallest RED threshold to try, packets."""
SMALLEST_MAX_DROP = 0.01
"""Smallest max_drop of RED to try, a probability."""


def vegas_classes(network: Network) -> list[str]:
    """Names of the classes of Vegas flows."""
    return [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]


def tunable_class(network: Network, tune: str | None = None) -> str:
    """Name of the class of Vegas flows to tune: `tune`, or the only one there is.

    Raises:
        InvalidInput: where there is none, several and none is given, or nothing to compare with.
    """
    require_network("recommend", network)
    vegas = vegas_classes(network)
    if tune is not None and tune not in vegas:
        allowed = "a class of Vegas flows" + (f" ({', '.join(vegas)})" if vegas else "")
        raise InvalidInput("recommend", "tune", allowed, tune)
    if not vegas:
        given = ", ".join(flows.law.name for flows in network.flows.values())
        raise InvalidInput("recommend", "law", "vegas in at least one class", given)
    if tune is None and len(vegas) > 1:
        raise InvalidInput(
            "recommend", "tune", f"given, as one of {', '.join(vegas)}", Words("missing")
        )
    if len(network.flows) < 2:
        raise InvalidInput("recommend", "the number of classes", "at least 2", 1)
    return tune or vegas[0]


def dead_band(law: Vegas, rtt_over_base: float) -> float:
    """The usual beta - alpha of a dialect, packets: 2, or wider where it divides by the base RTT.

    It is then 2 times `rtt_over_base`. Dialects with whole packets round it up.

    Args:
        law: Vegas, whose dialect decides.
        rtt_over_base: expected round-trip time over the base RTT.

    >>> dead_band(Vegas(), 3.2), dead_band(Vegas(dialect="linux"), 3.2)
    (2.0, 7.0)
    """
    band = DEAD_BAND * (rtt_over_base if law.implementation.divides_by_base_rtt else 1.0)
    return float(math.ceil(band)) if law.implementation.whole_packets else band


def with_alpha(law: Vegas, alpha: Any, dead_band: Any = DEAD_BAND) -> Vegas:
    """`law` with another alpha, and beta = alpha + dead band, all in packets.

    >>> with_alpha(Vegas(), 10.0).beta
    12.0
    """
    return replace(law, alpha=alpha, beta=alpha + dead_band)


def whole_if_needed(law: Vegas, alpha: float) -> float:
    """The alpha (packets) nearest to `alpha` that the dialect of `law` can represent.

    Dialects with whole packets need a whole number, at least 1; others keep `alpha`.

    >>> whole_if_needed(Vegas(dialect="ns2"), 3.4), whole_if_needed(Vegas(), 3.4)
    (3.0, 3.4)
    """
    return float(max(round(alpha), 1)) if law.implementation.whole_packets else alpha


def whole_packets(value: float) -> float:
    """The nearest whole number of packets, at least 1."""
    return float(max(round(value), 1))


def three_digits(value: float) -> float:
    """The nearest number with three significant digits."""
    return float(f"{value:.3g}")


def smallest_alpha(law: Vegas) -> float:
    """Smallest alpha to try, packets: 1 for dialects with whole packets, 0.1 for others."""
    return SMALLEST_WHOLE_ALPHA if law.implementation.whole_packets else SMALLEST_ALPHA


def largest_alpha(network: Network) -> float:
    """Largest alpha to try, packets: bandwidth-delay product plus all buffers."""
    return network.bandwidth_delay() + sum(link.buffer for link in network.links.values())


class Parameter(Protocol):
    """A number of a network that a search changes; hashable, as it is static in compiled code."""

    @property
    def name(self) -> str:
        """Name of the parameter in reports and results, which ends in its unit."""
        ...

    def range(self, network: Network) -> tuple[float, float]:
        """Smallest and largest value to try in a search, both above 0, in the name's unit."""
        ...

    def value(self, network: Network) -> float:
        """The parameter's value in `network`, in the unit that its name ends in."""
        ...

    def settable(self, network: Network, value: float) -> float:
        """The value nearest to `value` that systems accept, in the name's unit."""
        ...

    def with_value(self, network: Network, value: Any) -> Network:
        """The network with another value of the parameter, in the name's unit."""
        ...

    def with_value_in_equations(self, equations: FluidParameters, value: Any) -> FluidParameters:
        """Parameters of the fluid equations with another value (JAX may trace it)."""
        ...


@dataclass(frozen=True)
class AlphaParameter:
    """Alpha of a Vegas class as a tuned parameter; beta = alpha + dead band.

    Args:
        flows: name of the class.
        index: of the class in the network.
        dead_band: beta - alpha, packets.
    """

    flows: str
    index: int
    dead_band: float

    @property
    def name(self) -> str:
        """Name of the parameter in reports and results, such as `vegas.alpha_packets`."""
        return f"{self.flows}.alpha_packets"

    def range(self, network: Network) -> tuple[float, float]:
        """Smallest and largest alpha of the class to try in a search, packets."""
        law = cast(Vegas, network.flows[self.flows].law)
        return smallest_alpha(law), largest_alpha(network)

    def value(self, network: Network) -> float:
        """Alpha of the class in `network`, packets."""
        return float(cast(Any, network.flows[self.flows].law).alpha)

    def settable(self, network: Network, value: float) -> float:
        """The alpha nearest to `value` that the class's dialect can represent, packets."""
        return whole_if_needed(cast(Vegas, network.flows[self.flows].law), value)

    def with_value(self, network: Network, value: Any) -> Network:
        """The network with alpha = value for the class, and beta above it; packets."""
        law = cast(Vegas, network.flows[self.flows].law)
        return network.with_law(self.flows, with_alpha(law, value, self.dead_band))

    def with_value_in_equations(self, equations: FluidParameters, value: Any) -> FluidParameters:
        """Parameters of the fluid equations with alpha = value (packets) for the class."""
        laws = list(equations.laws)
        laws[self.index] = with_alpha(cast(Vegas, laws[self.index]), value, self.dead_band)
        return equations._replace(laws=tuple(laws))


@dataclass(frozen=True)
class RedParameter:
    """A number of a RED queue as a tuned parameter.

    Args:
        field: min_thresh, spread (max_thresh - min_thresh, so that no value breaks their order), or
            max_drop.
        link: name of its link; None: the network's only link.
        limits: smallest and largest value to try; None: 1 packet to the buffer less 1 packet, or
            0.01 to 1 for max_drop.
    """

    field: str
    link: str | None = None
    limits: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Name of the parameter in reports and results, such as `min_thresh_packets`."""
        name = self.field if self.field == "max_drop" else f"{self.field}_packets"
        return name if self.link is None else f"{self.link}.{name}"

    def range(self, network: Network) -> tuple[float, float]:
        """Smallest and largest value to try in a search: packets, or a probability for max_drop."""
        if self.limits is not None:
            return self.limits
        if self.field == "max_drop":
            return SMALLEST_MAX_DROP, 1.0
        buffer = network.links[self._link_in(network)].buffer
        return SMALLEST_THRESHOLD, float(buffer) - SMALLEST_THRESHOLD

    def value(self, network: Network) -> float:
        """The number in a network's RED queue: packets, or a probability for max_drop."""
        red = cast(Red, network.links[self._link_in(network)].aqm)
        if self.field == "spread":
            return float(red.max_thresh - red.min_thresh)
        return float(getattr(red, self.field))

    def settable(self, network: Network, value: float) -> float:
        """The nearest whole number of packets of at least 1, or max_drop with three digits."""
        return three_digits(value) if self.field == "max_drop" else whole_packets(value)

    def with_value(self, network: Network, value: Any) -> Network:
        """The network with the number set in its RED queue: packets, or a probability."""
        name = self._link_in(network)
        link = network.links[name]
        red = self._changed(cast(Red, link.aqm), value)
        return replace(network, links={**network.links, name: replace(link, aqm=red)})

    def with_value_in_equations(self, equations: FluidParameters, value: Any) -> FluidParameters:
        """Parameters of the fluid equations with the number set in every queue, all of them RED.

        It is used for networks with one link only.

        Args:
            equations: parameters of the fluid equations.
            value: the number: packets, or a probability for max_drop.
        """
        queues = (self._changed(cast(Red, red), value) for red in equations.aqm)
        return equations._replace(aqm=tuple(queues))

    def _link_in(self, network: Network) -> str:
        """Name of the link whose queue is meant."""
        return next(iter(network.links)) if self.link is None else self.link

    def _changed(self, red: Red, value: Any) -> Red:
        """`red` with the number set to value; a new min_thresh keeps the spread."""
        if self.field == "max_drop":
            return replace(red, max_drop=value)
        if self.field == "spread":
            return replace(red, max_thresh=red.min_thresh + value)
        return replace(red, min_thresh=value, max_thresh=value + red.max_thresh - red.min_thresh)


def is_parameter_name(network: Network, text: str) -> bool:
    """Whether a text names a parameter, such as `cubic.beta=0.5:0.9`, and not a flow class."""
    return text not in network.flows and ("." in text or "=" in text)


def has_tunable_queue(network: Network) -> bool:
    """Whether a network has what `tune_queue` tunes: one link, with RED."""
    return len(network.links) == 1 and isinstance(network.link.aqm, Red)


def queue_names(network: Network) -> list[str]:
    """Texts for what `tune_queue` tunes: RED's thresholds and max_drop, each with its range.

    They have the form LINK.PARAMETER=LOW:HIGH, with thresholds (packets) from 1 to the buffer.

    Raises:
        InvalidInput: where the network has several links, or no RED.
    """
    aqm = network.link.aqm
    if not isinstance(aqm, Red):
        raise InvalidInput("recommend", "the queue discipline", "red to be tuned", aqm.name)
    [name] = network.links
    low, high = RedParameter("min_thresh").range(network)
    return [
        f"{name}.min_thresh_packets={low:g}:{high:g}",
        f"{name}.max_thresh_packets={low + 1:g}:{high + 1:g}",
        f"{name}.max_drop={SMALLEST_MAX_DROP:g}:1",
    ]


def tuned_parameters(
    network: Network, dead_bands: Mapping[str, float], tune_queue: bool
) -> tuple[Parameter, ...]:
    """The tuned parameters: alpha of each class in `dead_bands`, then RED's three numbers.

    Args:
        network: of one link, if RED is tuned.
        dead_bands: beta - alpha of each tuned Vegas class, packets.
        tune_queue: whether RED is tuned.

    Raises:
        InvalidInput: where RED is to be tuned and there is none.
    """
    indices = {name: index for index, name in enumerate(network.flows)}
    alphas = tuple(AlphaParameter(name, indices[name], band) for name, band in dead_bands.items())
    if not tune_queue:
        return alphas
    if not isinstance(network.link.aqm, Red):
        given = network.link.aqm.name
        raise InvalidInput("recommend", "the queue discipline", "red to be tuned", given)
    return (*alphas, RedParameter("min_thresh"), RedParameter("spread"), RedParameter("max_drop"))


def alpha_parameters(parameters: Sequence[Parameter]) -> list[AlphaParameter]:
    """Those of the tuned parameters that are the alpha of a class, in the same order."""
    return [parameter for parameter in parameters if isinstance(parameter, AlphaParameter)]


def tuned_groups(
    classes: Sequence[slice], parameters: Sequence[Parameter]
) -> Float[np.ndarray, " groups"]:
    """For each flow group the number of its tuned class, from 1, or 0 if not tuned; (groups,).

    Args:
        classes: slice of the flow groups of each class of the network.
        parameters: tuned parameters; the order of the alphas numbers the classes.
    """
    tuned = np.zeros(max(groups.stop for groups in classes))
    for number, parameter in enumerate(alpha_parameters(parameters), start=1):
        tuned[classes[parameter.index]] = number
    return tuned


def with_values(
    network: Network, parameters: Sequence[Parameter], values: Sequence[Any]
) -> Network:
    """The network with each tuned parameter set to its value, in the parameter's unit."""
    for parameter, value in zip(parameters, values, strict=True):
        network = parameter.with_value(network, value)
    return network


def with_values_in_equations(
    equations: FluidParameters, parameters: Sequence[Parameter], values: Any
) -> FluidParameters:
    """Parameters of the fluid equations with each tuned parameter set to its value.

    Each value is in the parameter's unit; JAX may trace the values.
    """
    for index, parameter in enumerate(parameters):
        equations = parameter.with_value_in_equations(equations, values[index])
    return equations

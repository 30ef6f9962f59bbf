"""Numbers of congestion controls, queue disciplines and buffers as tuned parameters, by name.

Names are those of model files (`vegasfluid.modelfile.parameters`), such as `cubic.beta` or
`bottleneck.min_thresh_packets`, with an optional range: `bottleneck.buffer_packets=10:200`. Without
one the search covers a tenth to ten times the given value, as far as such values are valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from vegasfluid.errors import InvalidInput, Unsupported, Words
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.modelfile.parameters import Parameter as ModelParameter
from vegasfluid.modelfile.parameters import parameter_of
from vegasfluid.network import Network
from vegasfluid.tuning.parameters import (
    AlphaParameter,
    Parameter,
    RedParameter,
    is_parameter_name,
    three_digits,
    tunable_class,
    whole_packets,
)

__all__ = ["NamedAlpha", "NamedParameter", "Range", "named_parameters"]

RANGE_FACTOR = 10.0
"""Without a range, values from the given one over this factor to the given one times it."""
BISECTIONS = 30
"""Halvings of a range, in logarithms, that find the largest or smallest valid value."""
FORMS = "CLASS, OWNER.PARAMETER or OWNER.PARAMETER=LOW:HIGH with 0 < LOW < HIGH"
"""Forms of a tuned parameter, for messages."""
SETTINGS = "numbers of a congestion control, of a queue discipline, or the buffer"
"""What can be tuned, for messages."""
BUFFER = ("links", "buffer")
"""Group and field of the one number of a link itself that is a setting."""

Range = tuple[float, float]
"""Smallest and largest value to try, in the unit of the parameter's name."""


@dataclass(frozen=True)
class NamedParameter:
    """A number of a model file as a tuned parameter, in the unit that its name ends in.

    Args:
        parameter: where the number is in a network.
        indices: of its flow class among the classes, or of the queues of its link.
        limits: smallest and largest value to try, above 0.
    """

    parameter: ModelParameter
    indices: tuple[int, ...]
    limits: Range

    @property
    def name(self) -> str:
        """Name of the parameter in reports and results, such as `cubic.beta`."""
        return self.parameter.name

    def range(self, network: Network) -> Range:
        """Smallest and largest value to try in a search, in the unit of the name."""
        return self.limits

    def value(self, network: Network) -> float:
        """The number in `network`, in the unit of the name."""
        return float(self.parameter.value(network))

    def settable(self, network: Network, value: float) -> float:
        """The nearest value within the limits that systems accept, in the unit of the name.

        Numbers of packets are whole for links, and for congestion controls that take no others;
        all other values have three significant digits.
        """
        low, high = self.limits
        rounded = three_digits(value)
        if self.name.endswith("_packets"):
            is_link = self.parameter.group == "links"
            if is_link or network.flows[self.parameter.owner].law.whole_thresholds:
                rounded, low, high = whole_packets(value), math.ceil(low), math.floor(high)
        return float(min(max(rounded, low), high))

    def with_value(self, network: Network, value: Any) -> Network:
        """The network with another value, in the unit of the name.

        Raises:
            InvalidInput: if the value is out of range.
        """
        return self.parameter.with_value(network, value)

    def with_value_in_equations(self, equations: FluidParameters, value: Any) -> FluidParameters:
        """Parameters of the fluid equations with another value, in the unit of the name.

        JAX may trace the value.
        """
        number, field = self.parameter.to_internal(value), self.parameter.field
        if self.parameter.part is None:
            buffer = jnp.asarray(equations.queues.buffer).at[jnp.array(self.indices)].set(number)
            return equations._replace(queues=equations.queues._replace(buffer=buffer))
        key = {"law": "laws", "traffic": "traffic", "aqm": "aqm"}[self.parameter.part]
        holders = list(getattr(equations, key))
        for index in self.indices:
            holders[index] = replace(holders[index], **{field: number})
        return equations._replace(**{key: tuple(holders)})


@dataclass(frozen=True)
class NamedAlpha(AlphaParameter):
    """Alpha of a Vegas class within limits; beta = alpha + dead band.

    Args:
        limits: smallest and largest alpha to try, packets; None: those of `AlphaParameter`.
    """

    limits: Range | None = None

    def range(self, network: Network) -> Range:
        """Smallest and largest alpha to try in a search, packets."""
        return super().range(network) if self.limits is None else self.limits


def named_parameters(network: Network, texts: Sequence[str]) -> tuple[Parameter, ...]:
    """The tuned parameters that texts such as `vegas` or `cubic.beta=0.5:0.9` name.

    Args:
        network: with the given values.
        texts: each the name of a Vegas class (its alpha is tuned), or the name of a number, with or
            without a range.

    Returns:
        The parameters in the order of the texts. If both of RED's thresholds of a link are named,
        they become the lower threshold and the difference of the two.

    Raises:
        InvalidInput: for an unknown name, a malformed or invalid range, or a number given twice.
        Unsupported: for a number that is no setting, such as a capacity; for beta beside alpha of a
            class; for both thresholds of a link among several links.
    """
    parameters = [one_parameter(network, text) for text in texts]
    names = [parameter.name for parameter in parameters]
    for parameter in parameters:
        owner, _, key = parameter.name.rpartition(".")
        if names.count(parameter.name) > 1:
            raise InvalidInput("recommend", "tune", "different parameters", parameter.name)
        if key == "beta_packets" and f"{owner}.alpha_packets" in names:
            reason = f"beta moves with alpha, so tune {owner}.alpha_packets alone"
            raise Unsupported("recommend", f"tuning alpha and beta of {owner}", reason)
    return in_order(network, parameters)


def in_order(network: Network, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters; where both of RED's thresholds are tuned, the upper one as a difference.

    The difference to the lower threshold is at least 1 packet, so that no values can put the upper
    threshold below the lower one.

    Raises:
        InvalidInput: if the network is invalid with an end of a range.
        Unsupported: for both thresholds of a link among several links.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    for link in network.links:
        names = f"{link}.min_thresh_packets", f"{link}.max_thresh_packets"
        if not all(name in by_name for name in names):
            continue
        if len(network.links) > 1:
            reason = "with several links, tune one of the two at a time"
            raise Unsupported("recommend", f"tuning both thresholds of {link}", reason)
        (low, high), (_, top) = (by_name[name].range(network) for name in names)
        low, top = max(low, 1.0), min(top, float(network.links[link].buffer))
        by_name[names[0]] = RedParameter("min_thresh", link, (low, high))
        by_name[names[1]] = RedParameter("spread", link, (1.0, max(top - low, 2.0)))
    for parameter in by_name.values():
        if isinstance(parameter, NamedParameter):
            for value in parameter.limits:
                parameter.with_value(network, value)  # validates
    return tuple(by_name.values())


def one_parameter(network: Network, text: str) -> Parameter:
    """The tuned parameter that a text names: CLASS, OWNER.PARAMETER or OWNER.PARAMETER=LOW:HIGH.

    Raises:
        InvalidInput: for an unknown name, or a malformed or invalid range.
        Unsupported: for a number that is no setting, such as a capacity.
    """
    if not is_parameter_name(network, text):
        name = tunable_class(network, text)
        return alpha_of(network, name, None)
    name, equals, spec = text.partition("=")
    found = parameter_of(network, name)
    limits = range_from(spec, text) if equals else None
    is_law = found.part == "law"
    if is_law and found.field == "alpha" and network.flows[found.owner].law.has_dead_band:
        return alpha_of(network, found.owner, limits)
    if found.part == "traffic" or (found.part is None and (found.group, found.field) != BUFFER):
        raise Unsupported("recommend", f"tuning {name}", f"it is not a setting; tune {SETTINGS}")
    if found.group == "flows":
        indices: tuple[int, ...] = (list(network.flows).index(found.owner),)
    else:
        names = list(network.links) * (2 if network.two_way else 1)
        indices = tuple(index for index, link in enumerate(names) if link == found.owner)
    parameter = NamedParameter(found, indices, (0.0, math.inf))
    return replace(parameter, limits=limits or usual_range(network, parameter))


def alpha_of(network: Network, name: str, limits: Range | None) -> NamedAlpha:
    """Alpha of class `name` as a tuned parameter; beta - alpha is not changed.

    `limits` is the range of alpha, packets; None: that of `AlphaParameter.range`.
    """
    law: Any = network.flows[name].law
    index = list(network.flows).index(name)
    return NamedAlpha(name, index, float(law.beta - law.alpha), limits)


def range_from(spec: str, text: str) -> Range:
    """The range LOW:HIGH of one tuned parameter, in the unit of its name.

    Args:
        spec: what stands after the equals sign.
        text: the whole text, for the message.

    Raises:
        InvalidInput: if it is malformed, or not of two increasing, finite numbers above 0.

    >>> range_from("5:80", "bottleneck.min_thresh_packets=5:80")
    (5.0, 80.0)
    """
    try:
        low, high = map(float, spec.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not (0 < low < high < math.inf):
        raise InvalidInput("recommend", "tune", FORMS, text)
    return low, high


def usual_range(network: Network, parameter: NamedParameter) -> Range:
    """A tenth to ten times the given value, as far as the network is valid with such values.

    Raises:
        InvalidInput: where the given value is 0 or infinite, so that this is no range.
    """
    value = parameter.value(network)
    if not 0 < value < math.inf:
        allowed = f"given with a range, such as {parameter.name}=1:100"
        raise InvalidInput("recommend", parameter.name, allowed, Words(f"{value:g} in the model"))
    return (
        farthest_valid(network, parameter, value, 1 / RANGE_FACTOR),
        farthest_valid(network, parameter, value, RANGE_FACTOR),
    )


def farthest_valid(
    network: Network, parameter: NamedParameter, value: float, factor: float
) -> float:
    """The value nearest to `value` times `factor` with which the network is valid.

    Found by bisection of the logarithm: valid values of a parameter have no gaps.
    """

    def is_valid(power: float) -> bool:
        """Whether the network is valid with `value` times `factor` to a power."""
        try:
            parameter.with_value(network, value * factor**power)
        except InvalidInput:
            return False
        return True

    if is_valid(1.0):
        return value * factor
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_valid(middle) else (low, middle)
    return value * factor**low

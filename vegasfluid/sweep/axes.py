"""Axes of a sweep: values of a named parameter, or a choice among models.

Parameters have the names of `vegasfluid.modelfile.parameters`, such as `vegas.alpha_packets`.
A sweep also accepts `CLASS.dead_band_packets`, which is beta - alpha. If alpha is swept and neither
beta nor the dead band is, beta moves with alpha and the dead band keeps the model's width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.model import Model
from vegasfluid.modelfile.parameters import (
    Parameter,
    named,
    parameter_of,
    parameters,
    with_parameters,
)
from vegasfluid.network import Network

__all__ = ["Axis", "Choice", "Numbers", "is_whole", "with_numbers"]

DEAD_BAND = "dead_band_packets"
"""Last part of the name of a dead band, beta - alpha of a class, packets."""
THRESHOLDS = ("alpha", "beta", "gamma")
"""Thresholds of Vegas, which some dialects accept as whole packets only."""
UNITS = {"packets": "packets", "mbps": "Mbit/s", "ms": "ms", "s": "s", "mb": "MB"}
"""Units by the last part of a parameter's name."""

Change = Callable[[Model], Model]
"""Function that returns a changed model."""


@dataclass(frozen=True)
class Numbers:
    """Axis of a sweep along which a number of the network takes given values.

    Args:
        name: parameter such as `vegas.alpha_packets`.
        values: at least one, all different, in the unit that the name ends in.
        dim: name of the dimension; None: the parameter's name.

    Raises:
        InvalidInput: if there are no values, or if a value is repeated or not finite.

    >>> Numbers("vegas.alpha_packets", [1, 2, 4]).labels
    (1.0, 2.0, 4.0)
    """

    name: str
    values: Any
    dim: str | None = None

    def __post_init__(self) -> None:
        values = tuple(float(value) for value in self.values)
        if not values or not all(map(math.isfinite, values)) or len(set(values)) < len(values):
            allowed = "one or more finite numbers, all different"
            raise InvalidInput("sweep", self.name, allowed, list(values))
        _check_label(self.label)
        object.__setattr__(self, "values", values)

    @property
    def labels(self) -> tuple[float, ...]:
        """Values of the parameter along the dimension, in the unit that its name ends in."""
        return self.values

    @property
    def label(self) -> str:
        """Name of the dimension: `dim`, or the parameter's name without one."""
        return self.dim or self.name

    @property
    def units(self) -> str:
        """Unit of the values, from the end of the name, such as `ms`; `1` for plain numbers."""
        return UNITS.get(self.name.rpartition("_")[2], "1")

    def rounded(self) -> Numbers:
        """A copy of this axis with its values rounded to whole numbers, without duplicates."""
        return replace(self, values=tuple(dict.fromkeys(map(float, map(round, self.values)))))


@dataclass(frozen=True)
class Choice:
    """Axis of a sweep along which the model itself changes.

    Args:
        label: name of the dimension, such as `network`.
        options: by label, a model that replaces the sweep's, or a function that returns a changed
            model, such as `lambda model: replace(model, network=...)`.

    Raises:
        InvalidInput: if there are no options.
    """

    label: str
    options: Mapping[str, Model | Change] = field(repr=False)
    units: str = field(default="1", init=False, repr=False)
    name: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.options:
            raise InvalidInput(
                "sweep", self.label, "a choice of at least one option", Words("empty")
            )
        _check_label(self.label)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the options in their order, which are the values along the dimension."""
        return tuple(self.options)

    def changed(self, model: Model, label: str) -> Model:
        """The model that the option with this label makes from a given one."""
        option = self.options[label]
        return option if isinstance(option, Model) else option(model)


def _check_label(label: str) -> None:
    """Check that the label of an axis can name an array in the store of results.

    Raises:
        InvalidInput: for a label with a slash or a control character, which may lead elsewhere.
    """
    if "/" in label or "\\" in label or not label.isprintable() or not label.strip("."):
        allowed = "text without slashes and control characters"
        raise InvalidInput("sweep", "the name of an axis", allowed, label)


Axis = Numbers | Choice
"""An axis of a sweep."""


def dead_band_of(network: Network, name: str) -> str | None:
    """The flow class `CLASS` of a parameter name such as `CLASS.dead_band_packets`.

    None for any other name, or if the class's congestion control has no dead band.
    """
    owner, _, key = name.removeprefix("flows.").replace(".law.", ".").rpartition(".")
    return owner if key == DEAD_BAND and has_dead_band(network, owner) else None


def has_dead_band(network: Network, owner: str) -> bool:
    """Whether `owner` names a flow class whose congestion control has a dead band, as Vegas has."""
    return owner in network.flows and network.flows[owner].law.has_dead_band


def is_whole(network: Network, name: str) -> bool:
    """Whether a parameter of a network, such as `vegas.alpha_packets`, accepts whole numbers only.

    Raises:
        InvalidInput: for an unknown name; the message suggests the closest known one.
    """
    owner = dead_band_of(network, name)
    parameter = parameter_of(network, name if owner is None else f"{owner}.beta_packets")
    if parameter.part != "law" or parameter.field not in THRESHOLDS:
        return parameter.whole
    return network.flows[parameter.owner].law.whole_thresholds


def require_one_upper_threshold(network: Network, names: Collection[str]) -> None:
    """Check that parameters set beta of a class directly or by its dead band, and not by both.

    Raises:
        InvalidInput: for a class with both.
    """
    known = parameters(network)
    bands = {name: owner for name in names if (owner := dead_band_of(network, name))}
    _refuse_both(bands, [named(known, name) for name in names if name not in bands])


def _refuse_both(bands: Mapping[str, str], others: Iterable[Parameter]) -> None:
    """Refuse dead bands of classes (by name of the parameter) whose beta is among the others."""
    direct = {item.owner for item in others if (item.part, item.field) == ("law", "beta")}
    for name, owner in bands.items():
        if owner in direct:
            raise InvalidInput("sweep", name, "left out where beta is swept", Words("given"))


def with_numbers(network: Network, values: Mapping[str, float]) -> Network:
    """Copy of a network with new numbers, which are validated together.

    A new alpha of Vegas moves beta with it, unless beta or the dead band (beta - alpha) is given.

    Args:
        network: the network to change; it is not modified itself.
        values: new numbers by parameter name, in the unit that the name ends in.

    Raises:
        InvalidInput: for an unknown name, or an invalid combination of numbers.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> with_numbers(network, {"vegas.alpha_packets": 30}).flows["vegas"].law.beta
    32.0
    >>> both = {"vegas.dead_band_packets": 5, "vegas.alpha_packets": 30}
    >>> with_numbers(network, both).flows["vegas"].law.beta
    35.0
    """
    known = parameters(network)
    bands = {name: owner for name in values if (owner := dead_band_of(network, name))}
    widths = {owner: values[name] for name, owner in bands.items()}
    plain = {name: x for name, x in values.items() if name not in bands}
    items = {name: named(known, name) for name in plain}
    new = {(item.owner, item.field): plain[name] for name, item in items.items()}
    _refuse_both(bands, items.values())
    for owner in {**widths, **dict.fromkeys(item.owner for item in items.values())}:
        moves = (owner, "alpha") in new and (owner, "beta") not in new
        if owner in widths or (moves and has_dead_band(network, owner)):
            law: Any = network.flows[owner].law
            width = widths[owner] if owner in widths else law.beta - law.alpha
            alpha: Any = new.get((owner, "alpha"), law.alpha)
            plain[f"{owner}.beta_packets"] = alpha + width
    return with_parameters(network, {named(known, name): x for name, x in plain.items()})

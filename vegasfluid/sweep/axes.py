"""Axes of a sweep: values of a named parameter, or a choice among models.

Parameters have the names of `vegasfluid.modelfile.parameters`, such as `vegas.alpha_packets`.
A sweep also accepts `CLASS.dead_zone_packets`, which is beta - alpha. If alpha is swept and neither
beta nor the dead zone is, beta moves with alpha and the dead zone keeps the model's width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.modelfile.parameters import Parameter, parameter_of, with_values
from vegasfluid.network import Network

__all__ = ["Axis", "Choice", "Numbers", "is_whole", "with_numbers"]

DEAD_ZONE = "dead_zone_packets"
THRESHOLDS = ("alpha", "beta", "gamma")
UNITS = {"packets": "packets", "mbps": "Mbit/s", "ms": "ms", "s": "s", "mb": "MB"}
"""What the ending of a name stands for."""

Change = Callable[[Model], Model]


@dataclass(frozen=True)
class Numbers:
    """A number of the network takes these values.

    Args:
        name: such as `vegas.alpha_packets`; the unit of the values is that of the name.
        values: all different.
        dim: what the dimension is called; None: as the number.

    Raises:
        InvalidInput: for no values, or one that comes twice or is not finite.

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
        object.__setattr__(self, "values", values)

    @property
    def labels(self) -> tuple[float, ...]:
        """The values."""
        return self.values

    @property
    def label(self) -> str:
        """The name of the dimension."""
        return self.dim or self.name

    @property
    def units(self) -> str:
        """The unit of the values; 1 for plain numbers."""
        return UNITS.get(self.name.rpartition("_")[2], "1")

    def rounded(self) -> Numbers:
        """With whole values, those that fall together only once."""
        return replace(self, values=tuple(dict.fromkeys(map(float, map(round, self.values)))))


@dataclass(frozen=True)
class Choice:
    """One of several models, or of several changes of a model.

    Args:
        label: what the dimension is called, such as `network`.
        options: by name a model that takes the place of the one before, or a function that changes
            a model, such as `lambda model: replace(model, network=...)`.

    Raises:
        InvalidInput: for no options.
    """

    label: str
    options: Mapping[str, Model | Change] = field(repr=False)
    units: str = field(default="1", init=False, repr=False)
    name: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.options:
            raise InvalidInput("sweep", self.label, "given one option or more", "none")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(self.options)

    def changed(self, model: Model, label: str) -> Model:
        """The model with an option taken."""
        option = self.options[label]
        return option if isinstance(option, Model) else option(model)


Axis = Numbers | Choice


def dead_zone_of(network: Network, name: str) -> str | None:
    """The class whose dead zone a name means; None: the name means something else."""
    owner, _, key = name.removeprefix("flows.").replace(".law.", ".").rpartition(".")
    return owner if key == DEAD_ZONE and has_dead_band(network, owner) else None


def has_dead_band(network: Network, owner: str) -> bool:
    """Whether an owner of parameters is a class whose congestion control has a dead band."""
    return owner in network.flows and network.flows[owner].law.has_dead_band


def _named(network: Network, name: str) -> Parameter:
    """The number of a name; of a dead zone that of beta, which it moves."""
    owner = dead_zone_of(network, name)
    return parameter_of(network, name if owner is None else f"{owner}.beta_packets")


def is_whole(network: Network, name: str) -> bool:
    """Whether only whole numbers make sense there.

    Raises:
        InvalidInput: for a name that no number has; with the nearest that one has.
    """
    found = _named(network, name)
    if found.part != "law" or found.field not in THRESHOLDS:
        return found.whole
    return network.flows[found.owner].law.whole_thresholds


def with_numbers(network: Network, values: Mapping[str, float]) -> Network:
    """The network with other numbers, checked together.

    Args:
        network: of which some numbers are to change.
        values: by names as `Numbers` has them.

    Raises:
        InvalidInput: for an unknown name, or numbers that make no sense.

    >>> from vegasfluid import Flows, Link, Network, Vegas
    >>> network = Network(Link(1000.0, 100), {"vegas": Flows(2, Vegas(2, 4), base_rtt=0.04)})
    >>> with_numbers(network, {"vegas.alpha_packets": 30}).flows["vegas"].law.beta
    32.0
    >>> both = {"vegas.dead_zone_packets": 5, "vegas.alpha_packets": 30}
    >>> with_numbers(network, both).flows["vegas"].law.beta
    35.0
    """
    zones = {owner: of for name, of in values.items() if (owner := dead_zone_of(network, name))}
    plain = {name: of for name, of in values.items() if dead_zone_of(network, name) is None}
    found = {name: parameter_of(network, name) for name in plain}
    given = {(of.owner, of.field): plain[name] for name, of in found.items()}
    for owner in {**zones, **dict.fromkeys(of.owner for of in found.values())}:
        if (owner, "beta") in given:
            if owner in zones:
                name = f"{owner}.{DEAD_ZONE}"
                raise InvalidInput("sweep", name, "left out where beta is swept", zones[owner])
        elif owner in zones or ((owner, "alpha") in given and has_dead_band(network, owner)):
            law: Any = network.flows[owner].law
            zone = zones[owner] if owner in zones else law.beta - law.alpha
            alpha: Any = given.get((owner, "alpha"), law.alpha)
            plain[f"{owner}.beta_packets"] = alpha + zone
    return with_values(network, plain)

"""The Vegas parameters of a model's classes, in a system's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export.settings import OperatingPoint, System, settings_for
from vegasfluid.network import Network

__all__ = ["Points", "Spoken", "in_words_of", "one_setting", "to_translate"]

Points = Mapping[str, OperatingPoint]
"""Where the flows of each class are, by its name."""


@dataclass(frozen=True)
class Spoken:
    """The parameters of one class.

    Args:
        values: alpha, beta and gamma.
        dialect: the one of the model.
        told: where the values are from, in words.
        translated: whether the model speaks another dialect.
    """

    values: Mapping[str, float]
    dialect: str
    told: str
    translated: bool


def to_translate(network: Network, system: System) -> list[str]:
    """The Vegas classes that speak another dialect than a system.

    >>> from vegasfluid import modelfile
    >>> from vegasfluid.export.settings import SYSTEMS
    >>> network = modelfile.load("models/weigle_feng_network2.toml").network
    >>> to_translate(network, SYSTEMS["linux"]), to_translate(network, SYSTEMS["ns2"])
    (['vegas'], [])
    """
    return [
        name
        for name, flows in network.flows.items()
        if isinstance(flows.law, Vegas) and flows.law.dialect != system.name
    ]


def in_words_of(system: System, network: Network, points: Points) -> dict[str, Spoken]:
    """The parameters of every Vegas class.

    Args:
        system: whose words.
        network: the classes.
        points: where the flows of those are that have to be translated.

    Raises:
        InvalidInput: where a point is missing, or the system cannot follow.
    """
    return {
        name: spoken_by(system, name, flows.law, points.get(name))
        for name, flows in network.flows.items()
        if isinstance(flows.law, Vegas)
    }


def spoken_by(system: System, name: str, law: Vegas, point: OperatingPoint | None) -> Spoken:
    """The parameters of one class."""
    given = f"alpha {law.alpha:g}, beta {law.beta:g}, gamma {law.gamma:g}"
    if law.dialect == system.name:
        values, _ = settings_for(system, law, OperatingPoint(1.0, 1.0, 0.0))
        return Spoken(values, law.dialect, "as the model has it", False)
    if point is None:
        allowed = f"given for {name}, which speaks {law.dialect} and not {system.name}"
        raise InvalidInput("export", "points", allowed, "missing")
    values, reason = settings_for(system, law, point)
    if reason is not None:
        allowed = f"one that {system.name} can follow ({reason})"
        raise InvalidInput(f"flows.{name}", "law", allowed, f"vegas, {law.dialect}: {given}")
    told = (
        f"translated from {law.dialect} ({given}) where the round-trip time is "
        f"{point.rtt_over_base:.3g} times the base RTT, with windows of {point.cwnd:.3g} packets "
        f"and a share of {point.drop_prob:.2g} dropped"
    )
    return Spoken(values, law.dialect, told, True)


def one_setting(spoken: Mapping[str, Spoken]) -> bool:
    """Whether all Vegas classes have the same parameters."""
    return len({tuple(of.values.items()) for of in spoken.values()}) <= 1

"""The Vegas parameters of a model's classes, translated to the dialect of another system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.export.settings import OperatingPoint, System, settings_for
from vegasfluid.network import Network

__all__ = ["Points", "VegasParameters", "all_equal", "classes_to_translate", "vegas_parameters"]

Points = Mapping[str, OperatingPoint]
"""Operating points by the name of the class."""


@dataclass(frozen=True)
class VegasParameters:
    """Alpha, beta and gamma of one Vegas class, translated to a system.

    Args:
        values: alpha, beta and gamma as the system counts them, packets.
        dialect: Vegas dialect of the class in the model.
        origin: how the values were obtained, as a phrase.
        translated: whether the system has another dialect than the model.
    """

    values: Mapping[str, float]
    dialect: str
    origin: str
    translated: bool


def classes_to_translate(network: Network, system: System) -> list[str]:
    """Names of the Vegas classes whose dialect is not that of a system.

    >>> from vegasfluid import modelfile
    >>> from vegasfluid.export.settings import SYSTEMS
    >>> network = modelfile.load("models/weigle_feng_network2.toml").network
    >>> [classes_to_translate(network, SYSTEMS[name]) for name in ("linux", "ns2")]
    [['vegas'], []]
    """
    return [
        name
        for name, flows in network.flows.items()
        if isinstance(flows.law, Vegas) and flows.law.dialect != system.name
    ]


def vegas_parameters(
    system: System, network: Network, points: Points
) -> dict[str, VegasParameters]:
    """Alpha, beta and gamma of every Vegas class, translated to a system.

    Args:
        system: name and Vegas dialect of the target system.
        network: flow classes with their congestion controls.
        points: operating points of the classes that must be translated.

    Returns:
        For each Vegas class, the parameters in the system's units (packets) and their origin.

    Raises:
        InvalidInput: for a missing operating point, or if the system cannot reach the window there.
    """
    return {
        name: class_parameters(system, name, flows.law, points.get(name))
        for name, flows in network.flows.items()
        if isinstance(flows.law, Vegas)
    }


def class_parameters(
    system: System, name: str, law: Vegas, point: OperatingPoint | None
) -> VegasParameters:
    """Alpha, beta and gamma (packets) of one Vegas class, translated to a system.

    Args:
        system: name and Vegas dialect of the target system.
        name: name of the class, for error messages.
        law: Vegas of the class.
        point: operating point; needed only if the system has another dialect than `law`.

    Raises:
        InvalidInput: if `point` is needed but None, or the system cannot reach the window there.
    """
    given = f"alpha {law.alpha:g}, beta {law.beta:g}, gamma {law.gamma:g}"
    if law.dialect == system.name:
        values, _ = settings_for(system, law, OperatingPoint(1.0, 1.0, 0.0))
        return VegasParameters(values, law.dialect, "as the model has it", False)
    if point is None:
        allowed = f"given for {name}, whose dialect is {law.dialect} and not {system.name}"
        raise InvalidInput("export", "points", allowed, Words("missing"))
    values, reason = settings_for(system, law, point)
    if reason is not None:
        allowed = f"one that {system.name} can reproduce ({reason})"
        raise InvalidInput(f"flows.{name}", "law", allowed, Words(f"vegas, {law.dialect}: {given}"))
    origin = (
        f"translated from {law.dialect} ({given}) where the round-trip time is "
        f"{point.rtt_over_base:.3g} times the base RTT, with windows of {point.cwnd:.3g} packets "
        f"and a loss ratio of {point.drop_prob:.2g}"
        + " (by the fluid model, as a run has too many packets)"
        * point.from_fluid
    )
    return VegasParameters(values, law.dialect, origin, True)


def all_equal(vegas: Mapping[str, VegasParameters]) -> bool:
    """Whether all Vegas classes have the same alpha, beta and gamma for the system."""
    return len({tuple(parameters.values.items()) for parameters in vegas.values()}) <= 1

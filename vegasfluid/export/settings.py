"""Translation of Vegas parameters between implementations, for the same equilibrium.

The equilibrium of a flow is given by its backlog in packets, as Brakmo and Peterson define it. Each
system estimates and rounds the backlog differently, so each needs other parameters for the same
equilibrium: Linux divides by the base RTT, so its estimate is rtt / base times as large.

A system that takes away more of the window at a loss may not reach the same window, whatever its
alpha, as losses bound the window: W <= 1 / sqrt(cut p).

Sources:
    The modules of `vegasfluid.congestion.vegas`; FreeBSD's cc_vegas.c; for ns-3.44, tcp-vegas.cc:
    the estimate is cwnd minus the whole part of cwnd base / rtt, so it is rounded up.
    W <= 1 / sqrt(cut p) is the fluid model's equilibrium under losses alone (derived for this
    project).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vegasfluid.congestion.vegas import DIALECTS, Vegas

__all__ = ["FREEBSD", "SYSTEMS", "OperatingPoint", "System", "settings_for", "translate"]

SMALLEST_FRACTION = 0.9
"""Smallest fraction of the operating point's window that a system must reach (chosen)."""
SMALLEST_THRESHOLD = 1e-3
"""Smallest alpha or gamma where they need not be whole, packets (chosen: near 0)."""
HALF_STEP = 0.5
"""Half of the whole-packet step of a window, packets. The equilibrium backlogs of a dialect include
it; the offsets of `System` do not, as half a step is the same backlog in every system."""


@dataclass(frozen=True)
class OperatingPoint:
    """Operating point of the flows of a class: mean RTT, window and drop probability.

    Args:
        rtt_over_base: mean round-trip time divided by the base RTT.
        cwnd: mean window, packets.
        drop_prob: fraction of packets dropped along the path, 0 to 1.
        from_fluid: whether the means are those of the fluid model, not of simulated packets.
    """

    rtt_over_base: float
    cwnd: float
    drop_prob: float
    from_fluid: bool = False


@dataclass(frozen=True)
class System:
    """How a system's Vegas parameters depend on the backlog.

    Args:
        name: name of the dialect or of the system.
        alpha_offset: estimated backlog at which windows stop growing, minus alpha, packets.
        beta_offset: estimated backlog at which windows stop shrinking, minus beta, packets.
        divides_by_base_rtt: whether the estimate divides by the base RTT.
        whole_packets: whether parameters must be whole numbers.
        loss_cut: fraction of the window that a loss takes away.
    """

    name: str
    alpha_offset: float
    beta_offset: float
    divides_by_base_rtt: bool
    whole_packets: bool
    loss_cut: float


SYSTEMS = {
    dialect.name: System(
        dialect.name,
        dialect.alpha_offset - HALF_STEP,
        dialect.beta_offset + HALF_STEP,
        dialect.divides_by_base_rtt,
        dialect.whole_packets,
        dialect.loss_cut,
    )
    for dialect in DIALECTS.values()
}
"""All dialects of Vegas, by name."""

FREEBSD = System(
    "freebsd",
    alpha_offset=0.0,
    beta_offset=1.0,
    divides_by_base_rtt=False,
    whole_packets=True,
    loss_cut=1 / 2,
)
"""FreeBSD, sys/netinet/cc/cc_vegas.c: the estimate is cwnd (rtt - base) / rtt, rounded down; the
response to a loss is NewReno's. There is no gamma: slow start ends above beta."""


def rounded(value: float, whole: bool) -> float | int:
    """The value (packets) as a parameter that a system accepts.

    If `whole`, rounded and at least 1; otherwise not rounded, but at least 0.001.
    """
    return max(round(value), 1) if whole else max(value, SMALLEST_THRESHOLD)


def parameters_of(
    system: System, low: float, high: float, gamma: float, point: OperatingPoint
) -> dict[str, float]:
    """Alpha, beta and gamma (packets) with which a system has given equilibrium backlogs.

    Args:
        system: how its parameters depend on the backlog.
        low: backlog at which windows stop growing, packets.
        high: backlog at which windows stop shrinking, packets.
        gamma: threshold of slow start, packets.
        point: operating point of the flows.
    """
    scale = point.rtt_over_base if system.divides_by_base_rtt else 1.0
    alpha = rounded(low * scale - system.alpha_offset, system.whole_packets)
    beta = rounded(high * scale - system.beta_offset, system.whole_packets)
    return {"alpha": alpha, "beta": max(beta, alpha), "gamma": rounded(gamma, system.whole_packets)}


def unreachable_window(system: System, loss_cut: float, point: OperatingPoint) -> str | None:
    """Sentence on why a system cannot reach the window of an operating point; None if it can.

    It can if it takes away no more at a loss than the model's dialect, or if its largest window is
    at least `SMALLEST_FRACTION` of the window.

    Args:
        system: gives the fraction of the window that a loss takes away.
        loss_cut: fraction of the window that a loss takes away in the model's dialect.
        point: mean window (packets) and drop probability.
    """
    if point.drop_prob <= 0 or system.loss_cut <= loss_cut:
        return None
    largest = 1 / math.sqrt(system.loss_cut * point.drop_prob)
    if largest >= SMALLEST_FRACTION * point.cwnd:
        return None
    return (
        f"it takes {system.loss_cut:.0%} of the window at a loss: at a loss ratio of "
        f"{point.drop_prob:.2g} its windows stay below {largest:.0f} packets, "
        f"but {point.cwnd:.0f} are needed"
    )


def settings_for(
    system: System, law: Vegas, point: OperatingPoint
) -> tuple[dict[str, float], str | None]:
    """Vegas parameters with which a system has the same equilibrium backlog.

    Args:
        system: the target system.
        law: Vegas with its dialect's parameters, packets.
        point: operating point of its flows.

    Returns:
        Alpha, beta and gamma in packets, and None; or an empty dict, and why the system cannot
        reach the window.

    >>> point = OperatingPoint(rtt_over_base=2.0, cwnd=50.0, drop_prob=0.0)
    >>> settings_for(FREEBSD, Vegas(10, 12, 1, dialect="linux"), point)
    ({'alpha': 5, 'beta': 6, 'gamma': 1}, None)
    """
    if system.name == law.dialect:
        given = {"alpha": law.alpha, "beta": law.beta, "gamma": law.gamma}
        return {
            key: rounded(float(value or 0), system.whole_packets) for key, value in given.items()
        }, None
    source = SYSTEMS[law.dialect]
    reason = unreachable_window(system, source.loss_cut, point)
    if reason:
        return {}, reason
    scale = point.rtt_over_base if source.divides_by_base_rtt else 1.0
    backlogs = law.equilibrium_backlogs
    low, high = (backlogs[0] - HALF_STEP) / scale, (backlogs[1] + HALF_STEP) / scale
    return parameters_of(system, low, high, float(law.gamma or 1), point), None


def translate(
    law: Vegas, point: OperatingPoint
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Vegas parameters with which each dialect has the same equilibrium backlog.

    Args:
        law: Vegas with its dialect's parameters, packets.
        point: RTT over base RTT, window and drop probability of its flows.

    Returns:
        Two dicts by dialect: alpha, beta and gamma in packets; and, for dialects that cannot reach
        the window, the reason.

    >>> point = OperatingPoint(rtt_over_base=2.0, cwnd=50.0, drop_prob=0.0)
    >>> settings, missing = translate(Vegas(10, 12, 1, dialect="ns2"), point)
    >>> settings["linux"], missing
    ({'alpha': 19, 'beta': 24, 'gamma': 1}, {})
    """
    settings, missing = {}, {}
    for name, system in SYSTEMS.items():
        values, reason = settings_for(system, law, point)
        if reason:
            missing[name] = reason
        else:
            settings[name] = values
    return settings, missing

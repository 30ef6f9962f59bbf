"""The same behaviour in another system's words.

A flow is described by where its window comes to rest, in packets of backlog as the textbook
counts them. Each system estimates and rounds in its own way, so each needs other numbers for the
same rest: Linux divides by the base RTT, which makes its estimate larger by rtt / base.

A system cannot follow where it takes more of the window at a loss: then its windows stay below
the ones asked for, however large alpha is (the "law of the minimum", W <= 1 / sqrt(cut p)).

Sources:
    The dialects' files under `vegasfluid.congestion.vegas`; FreeBSD's cc_vegas.c; for
    ns-3.44, tcp-vegas.cc: the estimate is cwnd minus the whole part of cwnd base / rtt, so it is
    rounded up.
    W <= 1 / sqrt(cut p) is the fluid's rest under losses alone (derived for this project).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vegasfluid.congestion.vegas import DIALECTS, Vegas

__all__ = ["FREEBSD", "SYSTEMS", "OperatingPoint", "System", "settings_for", "translate"]

SHORTFALL = 0.9
"""A system that reaches less than this part of the window cannot follow."""
HALF_STEP = 0.5
"""Windows move by whole packets, so they overshoot the stop by half a step. That is in a dialect's
`rise` and `fall`, but not here: half a step is the same backlog in every system."""


@dataclass(frozen=True)
class OperatingPoint:
    """Where the tuned flows are.

    Args:
        rtt_over_base: round-trip time over the base RTT.
        cwnd: mean window, packets.
        drop_prob: share of packets dropped.
    """

    rtt_over_base: float
    cwnd: float
    drop_prob: float


@dataclass(frozen=True)
class System:
    """How a system turns a backlog into its parameters.

    Args:
        name: the dialect, or what else it is called.
        rise: the estimate at which windows stop growing, as an offset to alpha.
        fall: the estimate at which windows stop shrinking, as an offset to beta.
        over_base: whether its estimate divides by the base RTT.
        whole: whether it takes whole numbers only.
        loss_cut: the share of the window that a loss takes.
    """

    name: str
    rise: float
    fall: float
    over_base: bool
    whole: bool
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
"""Every dialect."""

FREEBSD = System("freebsd", rise=0.0, fall=1.0, over_base=False, whole=True, loss_cut=1 / 2)
"""The estimate of sys/netinet/cc/cc_vegas.c is cwnd (rtt - base) / rtt, rounded down; a loss is
NewReno's. There is no gamma: slow start ends above beta."""


def rounded(value: float, whole: bool) -> float | int:
    """A parameter as the system can hold it: at least 1, whole where it must be."""
    return max(round(value), 1) if whole else max(value, 1e-3)


def parameters_of(
    system: System, low: float, high: float, gamma: float, point: OperatingPoint
) -> dict[str, float]:
    """alpha, beta and gamma of a system whose windows stop at `low` and `high`."""
    scale = point.rtt_over_base if system.over_base else 1.0
    alpha = rounded(low * scale - system.rise, system.whole)
    beta = rounded(high * scale - system.fall, system.whole)
    return {"alpha": alpha, "beta": max(beta, alpha), "gamma": rounded(gamma, system.whole)}


def cannot_follow(system: System, spoken_cut: float, point: OperatingPoint) -> str | None:
    """Why a system cannot hold the window, if it cannot."""
    if point.drop_prob <= 0 or system.loss_cut <= spoken_cut:
        return None
    largest = 1 / math.sqrt(system.loss_cut * point.drop_prob)
    if largest >= SHORTFALL * point.cwnd:
        return None
    return (
        f"it takes {system.loss_cut:.0%} of the window at a loss: at a drop share of "
        f"{point.drop_prob:.2g} its windows stay below {largest:.0f} packets, "
        f"but {point.cwnd:.0f} are needed"
    )


def settings_for(
    system: System, law: Vegas, point: OperatingPoint
) -> tuple[dict[str, float], str | None]:
    """Settings that make a system's flows behave as `law` does, or why it cannot.

    Args:
        system: where they shall be written.
        law: the law, in its dialect.
        point: where its flows are.

    Returns:
        alpha, beta and gamma, and None; or nothing, and the reason.

    >>> point = OperatingPoint(rtt_over_base=2.0, cwnd=50.0, drop_prob=0.0)
    >>> settings_for(FREEBSD, Vegas(10, 12, 1, dialect="linux"), point)
    ({'alpha': 5, 'beta': 6, 'gamma': 1}, None)
    """
    if system.name == law.dialect:
        given = {"alpha": law.alpha, "beta": law.beta, "gamma": law.gamma}
        return {key: rounded(float(value or 0), system.whole) for key, value in given.items()}, None
    spoken = SYSTEMS[law.dialect]
    reason = cannot_follow(system, spoken.loss_cut, point)
    if reason:
        return {}, reason
    scale = point.rtt_over_base if spoken.over_base else 1.0
    backlogs = law.equilibrium_backlogs
    low, high = (backlogs[0] - HALF_STEP) / scale, (backlogs[1] + HALF_STEP) / scale
    return parameters_of(system, low, high, float(law.gamma or 1), point), None


def translate(
    law: Vegas, point: OperatingPoint
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Settings for every known system that make its flows behave as `law` does.

    Args:
        law: the recommended law, in its dialect.
        point: where its flows are.

    Returns:
        Settings by system, and for systems that cannot do it, the reason.

    >>> point = OperatingPoint(rtt_over_base=2.0, cwnd=50.0, drop_prob=0.0)
    >>> settings, missing = translate(Vegas(10, 12, 1, dialect="ns2"), point)
    >>> settings["linux"], missing
    ({'alpha': 19, 'beta': 24, 'gamma': 1}, {})
    """
    settings, missing = {}, {}
    for name, system in SYSTEMS.items():
        found, reason = settings_for(system, law, point)
        if reason:
            missing[name] = reason
        else:
            settings[name] = found
    return settings, missing

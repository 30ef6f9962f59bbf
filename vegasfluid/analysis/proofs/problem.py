"""What a certificate speaks of: one RED queue, a class of Vegas flows to tune, and its competitors.

Numbers are the program's own (IEEE 754 doubles) and are taken exactly as they are.

Sources:
    The parameters are those of `network.Flows`, `network.Link`, `aqm.red.Red` and of the laws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, Lt

from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import (
    Packets,
    PacketsPerSecond,
    Positive,
    Probability,
    Seconds,
    Share,
    Value,
    check_quantities,
    require_ordered,
)

__all__ = [
    "CERTIFIABLE_DIALECTS",
    "Competitor",
    "CubicCompetitor",
    "Curve",
    "Group",
    "Problem",
    "Tuned",
]

CERTIFIABLE_DIALECTS = tuple(name for name, of in DIALECTS.items() if not of.keeps_ssthresh)
"""Those whose window at rest is an explicit function; ns-3 keeps a threshold as a further state."""


@dataclass(frozen=True)
class Curve(Value):
    """RED as it is at rest: from the queue to the share of packets dropped or marked."""

    min_thresh: Packets
    """Queue at which drops begin."""
    max_thresh: Packets
    """Queue at which the curve reaches `max_drop`."""
    max_drop: Annotated[Probability, Positive]
    """Value of the curve at `max_thresh`."""
    gentle: bool
    """Whether the curve goes on to 1 at twice `max_thresh`."""
    wait: bool
    """Whether drops are spaced evenly."""
    marks: bool
    """Whether packets are marked instead of dropped, of every flow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "min_thresh", "max_thresh", strict=True)


@dataclass(frozen=True)
class Group(Value):
    """Flows that are alike."""

    count: Annotated[int, Ge(1), Le(1_000_000)]
    """How many."""
    base_rtt: Annotated[Seconds, Positive]
    """Round-trip time with nothing in the queue."""
    max_window: Annotated[Packets, Ge(1)]
    """Largest window."""
    access: Annotated[PacketsPerSecond, Positive] | None
    """Rate of the access link; None: no limit."""


@dataclass(frozen=True)
class Tuned(Group):
    """The Vegas flows whose alpha is certified."""

    dialect: str
    """Whose Vegas: brakmo, ns2 or linux."""
    softness: Annotated[Packets, Positive]
    """The fluid law's `softness`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dialect not in CERTIFIABLE_DIALECTS:
            allowed = "one of " + ", ".join(CERTIFIABLE_DIALECTS) + " for a certificate"
            raise InvalidInput("Vegas", "dialect", allowed, self.dialect)


@dataclass(frozen=True)
class Competitor(Group):
    """Reno or NewReno flows."""

    law: str
    """The name in model files."""


@dataclass(frozen=True)
class CubicCompetitor(Competitor):
    """CUBIC flows."""

    C: Annotated[Share, Positive]
    """How steep the cubic is, packets/s^3."""
    beta: Annotated[Share, Positive, Lt(1)]
    """Share of the window that a loss leaves."""
    fast_convergence: bool
    """Whether they give way to newcomers."""
    friendly: bool
    """Whether they take no less than standard TCP would."""


@dataclass(frozen=True)
class Problem(Value):
    """At which alpha does a tuned flow send `ratio` times the mean rate of the others?

    Args:
        capacity: of the link, packets/s.
        buffer: packets.
        red: the queue law.
        tuned_name: of the tuned class.
        tuned: the class.
        competitors: the other classes by name.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: the unfairness `abs(ln(ratio achieved / ratio))` shown outside an interval
            of alpha.
    """

    capacity: Annotated[PacketsPerSecond, Positive]
    buffer: Annotated[Packets, Ge(1)]
    red: Curve
    tuned_name: str
    tuned: Tuned
    competitors: Mapping[str, Competitor]
    loss_process: str
    ratio: Annotated[Share, Positive]
    epsilon: Annotated[Share, Positive, Le(1)]

    def __post_init__(self) -> None:
        check_quantities(self)
        if self.loss_process not in LOSS_PROCESSES:
            allowed = "one of " + ", ".join(LOSS_PROCESSES)
            raise InvalidInput("certificate", "loss_process", allowed, self.loss_process)
        if not self.competitors:
            raise InvalidInput("certificate", "competitors", "at least one class", "none")
        if self.tuned_name in self.competitors:
            allowed = "another class than its competitors"
            raise InvalidInput("certificate", "tuned class", allowed, self.tuned_name)

    @property
    def groups(self) -> dict[str, Group]:
        """Every class by name, the tuned one first."""
        return {self.tuned_name: self.tuned, **self.competitors}

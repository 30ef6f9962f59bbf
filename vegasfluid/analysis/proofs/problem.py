"""The parameters of a proof: RED, classes of identical flows, and the question of a certificate.

Numbers are IEEE 754 doubles, as in the simulators, and are taken exactly as they are.

Sources:
    The parameters are those of `network.Flows`, `network.Link`, `aqm.red.Red` and of the
    congestion controls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, Lt

from vegasfluid.aqm.red import IMPLEMENTATIONS, Gap, gap_of
from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.congestion.cubic.fluid import IMPLEMENTATIONS as CUBIC_IMPLEMENTATIONS
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.quantities import (
    Packets,
    PacketsPerSecond,
    Positive,
    Probability,
    Seconds,
    Share,
    Value,
    check_quantities,
    require_one_of,
    require_ordered,
)

__all__ = [
    "PROVABLE_DIALECTS",
    "CubicFlows",
    "FairAlphaProblem",
    "FlowGroup",
    "LossBasedFlows",
    "RedProfile",
    "VegasFlows",
]

PROVABLE_DIALECTS = tuple(
    name for name, implementation in DIALECTS.items() if not implementation.keeps_ssthresh
)
"""The dialects whose equilibrium window has an explicit equation: all but ns-3's, which keeps a
slow-start threshold as a further state."""


@dataclass(frozen=True)
class RedProfile(Value):
    """RED in equilibrium: the parameters that map the queue to a drop or mark probability."""

    min_thresh: Packets
    """Queue at which early drops begin."""
    max_thresh: Packets
    """Queue at which the drop probability reaches `max_drop`."""
    max_drop: Annotated[Probability, Positive]
    """Drop probability at `max_thresh`, before drops are spaced."""
    gentle: bool
    """Whether the probability rises on to 1 at twice `max_thresh`, not to 1 at `max_thresh`."""
    wait: bool
    """Whether drops are at least 1 / (drop curve's probability) packets apart (ns-2's `wait`)."""
    marks: bool
    """Whether packets of ECN-capable flows are marked instead of dropped."""
    implementation: str = "ns2"
    """Whose RED it is: ns2, or linux, which spaces drops differently (`wait` is then false)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "min_thresh", "max_thresh", strict=True)
        require_one_of(self, "implementation", IMPLEMENTATIONS)

    @property
    def gap(self) -> Gap:
        """Mean gap between two drops, packets, as a function of the drop curve's probability."""
        return gap_of(self.implementation, self.wait)


@dataclass(frozen=True)
class FlowGroup(Value):
    """Identical flows: same congestion control, base RTT and limits."""

    count: Annotated[int, Ge(1), Le(1_000_000)]
    """Number of flows."""
    base_rtt: Annotated[Seconds, Positive]
    """Round-trip time with empty queues."""
    max_window: Annotated[Packets, Ge(1)]
    """Largest window."""
    access: Annotated[PacketsPerSecond, Positive] | None
    """Rate of the access link; None: no limit."""


@dataclass(frozen=True)
class VegasFlows(FlowGroup):
    """Identical Vegas flows; a certificate is about their alpha, which is therefore not here."""

    dialect: str
    """The implementation of Vegas: brakmo, ns2 or linux."""
    softness: Annotated[Packets, Positive]
    """Width of the fluid model's smooth thresholds of the backlog (`softness` of `Vegas`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dialect not in PROVABLE_DIALECTS:
            allowed = "one of " + ", ".join(PROVABLE_DIALECTS) + " for a certificate"
            raise InvalidInput("Vegas", "dialect", allowed, self.dialect)


@dataclass(frozen=True)
class LossBasedFlows(FlowGroup):
    """Identical Reno or NewReno flows."""

    law: str
    """Name of the congestion control in model files: reno or newreno; cubic for `CubicFlows`."""


@dataclass(frozen=True)
class CubicFlows(LossBasedFlows):
    """Identical CUBIC flows."""

    C: Annotated[Share, Positive]
    """Scaling factor of the cubic, packets/s^3."""
    beta: Annotated[Share, Positive, Lt(1)]
    """Fraction of the window that is left after a loss."""
    fast_convergence: bool
    """Whether fast convergence is on."""
    friendly: bool
    """Whether the Reno-friendly region is on."""
    implementation: str
    """Whose CUBIC it is: rfc9438, rfc8312, linux, ns2 or ns3; decides its Reno-friendly region."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self, "implementation", CUBIC_IMPLEMENTATIONS)


@dataclass(frozen=True)
class FairAlphaProblem(Value):
    """For which alpha does a tuned flow send `ratio` times the mean rate of the competing flows?

    These are the parameters on which the answer depends.

    Args:
        capacity: capacity of the link, packets/s.
        buffer: buffer of the link, packets.
        red: the queue discipline.
        tuned_name: name of the tuned class.
        tuned: the tuned class.
        competitors: the other classes by name.
        loss_process: how losses arrive: meanfield, periodic or iid.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: the unfairness `abs(ln(achieved ratio / ratio))` that the certificate bounds
            alpha by.
    """

    capacity: Annotated[PacketsPerSecond, Positive]
    buffer: Annotated[Packets, Ge(1)]
    red: RedProfile
    tuned_name: str
    tuned: VegasFlows
    competitors: Mapping[str, LossBasedFlows]
    loss_process: str
    ratio: Annotated[Share, Positive]
    epsilon: Annotated[Share, Positive, Le(1)]

    def __post_init__(self) -> None:
        check_quantities(self)
        if self.loss_process not in LOSS_PROCESSES:
            allowed = "one of " + ", ".join(LOSS_PROCESSES)
            raise InvalidInput("certificate", "loss_process", allowed, self.loss_process)
        if not self.competitors:
            raise InvalidInput("certificate", "competitors", "at least one class", Words("none"))
        if self.tuned_name in self.competitors:
            allowed = "another class than its competitors"
            raise InvalidInput("certificate", "tuned class", allowed, self.tuned_name)

    @property
    def groups(self) -> dict[str, FlowGroup]:
        """All classes of flows by name: the tuned one first, then its competitors."""
        return {self.tuned_name: self.tuned, **self.competitors}

"""Modelling options of the fluid model: loss process, recovery, timeouts, packet granularity."""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.quantities import require_one_of

__all__ = ["DEFAULT_OPTIONS", "MISRA_GONG_TOWSLEY", "FluidOptions"]


@dataclass(frozen=True)
class FluidOptions:
    """Effects that the fluid model includes; the defaults agree best with the packet simulator.

    Raises:
        InvalidInput: for an unknown loss process.

    >>> FluidOptions().loss_process
    'iid'
    """

    loss_process: str = "iid"
    """Spacing of losses: `iid`, `periodic` or `meanfield` (see `CongestionControl.loss_factor`)."""
    recovery: bool = True
    """Whether a loss event takes a round trip, in which the window does not grow and further
    losses of the flow do not count."""
    timeouts: bool = True
    """Whether a fraction of the loss events ends in a timeout, in which the flow does not send."""
    whole_packets: bool = True
    """Whether only whole packets of a window are sent."""
    delayed_rtt: bool = False
    """Whether senders measure the round-trip time of the packet acknowledged now, which waited in
    the queues of up to a round trip ago. Otherwise they measure it with the present queues."""

    def __post_init__(self) -> None:
        require_one_of(self, "loss_process", LOSS_PROCESSES)


DEFAULT_OPTIONS = FluidOptions()
"""The options that agree best with the packet simulator."""

MISRA_GONG_TOWSLEY = FluidOptions("meanfield", recovery=False, timeouts=False, whole_packets=False)
"""The model of V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000, equation 4 (read): no
recovery, timeouts or whole packets."""

"""What the mean of many flows is taken to be, where single flows differ."""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.errors import InvalidInput

__all__ = ["DEFAULT_OPTIONS", "MISRA_GONG_TOWSLEY", "FluidOptions"]


@dataclass(frozen=True)
class FluidOptions:
    """How the fluid model counts losses; the defaults are those that follow packets best.

    >>> FluidOptions().loss_process
    'iid'
    """

    loss_process: str = "iid"
    """How losses come: iid, periodic or meanfield (see `CongestionControl.loss_factor`)."""
    recovery: bool = True
    """Whether a loss event takes a round trip, in which the window does not grow and no other
    loss of the flow counts."""
    timeouts: bool = True
    """Whether some losses end in a timeout, which silences a flow for a while."""
    whole_packets: bool = True
    """Whether the part of a packet by which a window is not whole is not sent."""
    delayed_rtt: bool = False
    """Whether senders judge by the round-trip time of the packet that is acknowledged now, which
    met the queues of up to a round trip ago, and not by what a packet would meet now."""

    def __post_init__(self) -> None:
        if self.loss_process not in LOSS_PROCESSES:
            allowed = "one of " + ", ".join(LOSS_PROCESSES)
            raise InvalidInput("FluidOptions", "loss_process", allowed, self.loss_process)


DEFAULT_OPTIONS = FluidOptions()
"""What follows packets best."""

MISRA_GONG_TOWSLEY = FluidOptions("meanfield", recovery=False, timeouts=False, whole_packets=False)
"""As in V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000, equation 2, without its timeouts."""

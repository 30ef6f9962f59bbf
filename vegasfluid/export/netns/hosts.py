"""What a Linux host can be set to for a class of flows, and what is not supported.

Sources:
    Linux 6.1: net/ipv4/tcp_metrics.c (a route's ssthresh is not used for new connections),
    ip-sysctl; ip-route(8): initcwnd, rto_min, quickack; tcp(7): TCP_WINDOW_CLAMP.
"""

from __future__ import annotations

from collections.abc import Mapping

from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.errors import Unsupported
from vegasfluid.export.dialects import VegasParameters, all_equal
from vegasfluid.export.linux import CONTROLS
from vegasfluid.export.unsupported import equivalent, require_rfc_3649, require_values
from vegasfluid.network import Flows
from vegasfluid.traffic.bulk import Bulk

__all__ = ["control_of", "receiver_route", "require_one_vegas", "sender_route", "window_bytes"]

LINUX = "Linux"
"""Name of the system in error messages."""
INITIAL_WINDOW = 10
"""Linux's initial window, packets (TCP_INIT_CWND)."""
SMALLEST_RTO = 0.2
"""Linux's lower bound of the retransmission timeout, s (TCP_RTO_MIN)."""
LARGEST_WINDOW = 1 << 26
"""Window from which on none is set, bytes (chosen: half of the largest buffer of a socket)."""


def control_of(name: str, flows: Flows) -> tuple[str, str]:
    """The kernel's name of a class's congestion control, and of its module.

    Args:
        name: name of the class, for error messages.
        flows: the class.

    Raises:
        InvalidInput: for a congestion control, parameters, a traffic source or host settings that
            Linux does not support.
    """
    if not isinstance(flows.traffic, Bulk):
        reason = "the test's program only sends without end (bulk)"
        raise Unsupported(f"flows.{name}", f"traffic {flows.traffic.name}", reason)
    if flows.initial_ssthresh < flows.max_window:
        what = f"initial_ssthresh {flows.initial_ssthresh:g} packets"
        raise Unsupported(f"flows.{name}", what, "Linux's first slow start has no threshold")
    names = equivalent(CONTROLS, name, flows, LINUX)
    law = flows.law
    if isinstance(law, Cubic | Scalable):
        usual = type(law)().parameters()
        fixed = {key: value for key, value in usual.items() if key != "recovery"}
        require_values(name, law, LINUX, **fixed)
    elif law.name == "highspeed":
        require_rfc_3649(name, law, LINUX)
    return names


def require_one_vegas(vegas: Mapping[str, VegasParameters]) -> None:
    """Raise Unsupported if two classes need different parameters of the kernel's only Vegas.

    `vegas` has the parameters of each Vegas class, by its name.
    """
    if not all_equal(vegas):
        first, *_, last = vegas
        reason = "the module tcp_vegas has one setting for the whole kernel"
        raise Unsupported(f"flows.{last}", f"another alpha, beta or gamma than {first}'s", reason)


def sender_route(flows: Flows) -> str:
    """Attributes of the route on which hosts send the flows of a class, for `ip route`.

    Those of its host settings that differ from Linux's own: initial window, smallest RTO.
    """
    words = ""
    if round(flows.initial_window) != INITIAL_WINDOW:
        words += f" initcwnd {max(round(flows.initial_window), 1)}"
    if flows.min_rto != SMALLEST_RTO:
        words += f" rto_min {max(round(flows.min_rto * 1e3), 1)}ms"
    return words


def receiver_route(flows: Flows) -> str:
    """Attributes of the route on which hosts acknowledge the flows of a class, for `ip route`.

    Without delayed ACKs, `quickack 1`; otherwise Linux's own delayed ACKs.
    """
    return "" if flows.delayed_ack else " quickack 1"


def window_bytes(flows: Flows, segment: int) -> int:
    """Largest window that receivers of a class advertise, bytes; 0: that of the buffer.

    Args:
        flows: the class.
        segment: payload of a packet, bytes.
    """
    window = int(flows.max_window) * segment
    return 0 if window >= LARGEST_WINDOW else window

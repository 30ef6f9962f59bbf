"""What a Linux host can be set to for a class of flows, and what is not supported.

Sources:
    Linux 6.1: net/ipv4/tcp_metrics.c (a route's ssthresh is not used for new connections),
    ip-sysctl; ip-route(8): initcwnd, rto_min, quickack; tcp(7): TCP_WINDOW_CLAMP.
"""

from __future__ import annotations

from collections.abc import Mapping

from vegasfluid.congestion.dctcp import Dctcp
from vegasfluid.errors import Unsupported
from vegasfluid.export.dialects import VegasParameters, all_equal
from vegasfluid.export.linux import CONTROLS
from vegasfluid.export.unsupported import equivalent, require_built_in_values, require_values
from vegasfluid.network import Flows
from vegasfluid.network.hosts import TEXTBOOK
from vegasfluid.traffic.bulk import Bulk

__all__ = ["control_of", "host_notes", "receiver_route", "require_one_vegas", "sender_route"]
__all__ += ["window_bytes"]

LINUX = "Linux"
"""Name of the system in error messages."""
INITIAL_WINDOW = 10
"""Linux's initial window, packets (TCP_INIT_CWND)."""
SMALLEST_RTO = 0.2
"""Linux's lower bound of the retransmission timeout, s (TCP_RTO_MIN)."""
LINUX_RECOVERY = ("sack", "rack")
"""Recovery schemes of the model for which Linux's recovery needs no note."""
DELAYED_ACK = 0.04
"""Linux's smallest delayed-ACK timer, s (TCP_ATO_MIN)."""
LARGEST_WINDOW = 1 << 26
"""Smallest window for which receivers advertise no limit of their own, bytes (chosen: half of the
largest buffer of a socket)."""


def control_of(name: str, flows: Flows) -> tuple[str, str]:
    """The Linux kernel's names for a class's congestion control and for its module.

    Args:
        name: name of the class, for error messages.
        flows: the class.

    Raises:
        InvalidInput: for a congestion control, parameters, a traffic source or host settings that
            Linux does not support.
    """
    if not isinstance(flows.traffic, Bulk):
        reason = "the test program only sends bulk traffic"
        raise Unsupported(f"flows.{name}", f"traffic {flows.traffic.name}", reason)
    threshold = flows.settings.initial_ssthresh
    if threshold < min(flows.max_window, TEXTBOOK.initial_ssthresh):
        what = f"initial_ssthresh {threshold:g} packets"
        raise Unsupported(f"flows.{name}", what, "Linux's first slow start has no threshold")
    names = equivalent(CONTROLS, name, flows, LINUX)
    law = flows.law
    require_built_in_values(name, law, LINUX)
    if isinstance(law, Dctcp):
        usual = Dctcp()
        require_values(name, law, LINUX, gain=usual.gain, initial_alpha=usual.initial_alpha)
    return names


def require_one_vegas(vegas: Mapping[str, VegasParameters]) -> None:
    """Raise Unsupported if two classes need different parameters of the kernel's only Vegas.

    `vegas` has the parameters of each Vegas class, by its name.
    """
    if not all_equal(vegas):
        first, *_, last = vegas
        reason = "a Linux kernel has one alpha, beta and gamma for all its Vegas flows"
        raise Unsupported(f"flows.{last}", f"another alpha, beta or gamma than {first}'s", reason)


def sender_route(flows: Flows) -> str:
    """Attributes of the route on which hosts send the flows of a class, for `ip route`.

    They set the initial window (packets) and the smallest retransmission timeout where these differ
    from Linux's own; an empty text where neither does.
    """
    words, host = "", flows.settings
    if round(host.initial_window) != INITIAL_WINDOW:
        words += f" initcwnd {round(host.initial_window)}"
    if host.min_rto != SMALLEST_RTO:
        words += f" rto_min {max(round(host.min_rto * 1e3), 1)}ms"
    return words


def receiver_route(flows: Flows) -> str:
    """Attributes of the route on which hosts acknowledge the flows of a class, for `ip route`.

    Without delayed ACKs, `quickack 1`; otherwise Linux's own delayed ACKs.
    """
    return "" if flows.settings.delayed_ack else " quickack 1"


def host_notes(name: str, flows: Flows) -> list[str]:
    """Sentences on how Linux hosts recover and delay ACKs differently from those of class `name`.

    The list is empty if they do both in the same way.
    """
    notes, host = [], flows.settings
    recovery = getattr(flows.law, "recovery", "sack")
    if recovery not in LINUX_RECOVERY:
        notes.append(
            "Linux recovers from losses with SACK; "
            f"in the model, {name} has the recovery {recovery}."
        )
    if host.delayed_ack not in (0, DELAYED_ACK):
        given = f"{host.delayed_ack * 1e3:g} ms"
        notes.append(
            "Linux delays ACKs adaptively, by 40 ms or more; "
            f"in the model, {name} delays them by {given}."
        )
    return notes


def window_bytes(flows: Flows, segment: int) -> int:
    """Largest window that receivers of a class advertise, bytes; 0: only the buffer limits it.

    Args:
        flows: the class.
        segment: payload of a packet, bytes.
    """
    window = int(flows.max_window) * segment
    return 0 if window >= LARGEST_WINDOW else window

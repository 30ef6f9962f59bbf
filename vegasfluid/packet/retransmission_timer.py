"""The retransmission timeout (RTO) of a sender without RACK, from its round-trip samples.

Plain scalar Python on a flow's record, compiled by `jit`. `rack.timers` has the rules of RACK.

Sources:
    RFC 6298, section 2; ns-2.35, tcp/tcp.cc.
"""

from __future__ import annotations

from typing import Any

__all__ = ["sample_round_trip"]

LARGEST_RTO = 10**17
"""Largest retransmission timeout before backoff, ps: 100 000 s (ns-2.35, `maxrto_`)."""
LARGEST_TRUSTED_BACKOFF = 8
"""Backoff above which the next RTT sample replaces the estimate (ns-2.35, tcp/tcp.cc)."""

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def sample_round_trip(flow: Flow, rtt: int) -> None:
    """Update smoothed RTT, its variation and the retransmission timeout of a flow's record, ps.

    RFC 6298, section 2. With a backoff above 8 (after four expiries in a row) the sample replaces
    the estimate, as section 5 allows and ns-2 does. The backoff becomes 1.

    Args:
        flow: record of the flow, changed in place.
        rtt: the round-trip sample, ps.
    """
    if flow.srtt == 0 or flow.backoff > LARGEST_TRUSTED_BACKOFF:
        flow.srtt = rtt
        flow.rttvar = rtt // 2
    else:
        error = rtt - flow.srtt
        flow.srtt += error // 8
        flow.rttvar += (abs(error) - flow.rttvar) // 4
    flow.rto = min(max(flow.srtt + 4 * flow.rttvar, flow.min_rto), LARGEST_RTO)
    flow.backoff = 1

"""Features of the engine, of which a network uses some; code for the others is not compiled.

The engine reads these names as global constants. `jit` sets them for each network, so that the
branches of unused features cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "APP_LIMITED",
    "ARRIVAL_BINS",
    "DELAYED_ACKS",
    "DELAY_EVENTS",
    "ECN",
    "FLOW_QUEUES",
    "JITTER",
    "MULTI_HOP",
    "OTHER_RECOVERY",
    "RACK",
    "REORDERING",
    "SACK_BLOCKS",
    "SEND_OVERHEAD",
    "TWO_WAY",
    "Features",
]

MULTI_HOP = TWO_WAY = REORDERING = JITTER = DELAY_EVENTS = False
DELAYED_ACKS = SACK_BLOCKS = RACK = ECN = APP_LIMITED = SEND_OVERHEAD = ARRIVAL_BINS = False
FLOW_QUEUES = False
OTHER_RECOVERY = True
"""Feature flags of the engine as interpreted without `jit`; `Features` describes each."""


class Features(NamedTuple):
    """Features of the engine that a network uses, one flag each.

    Args:
        MULTI_HOP: the path of a packet or its ACK has more than one queue.
        TWO_WAY: ACKs wait in queues, too.
        REORDERING: packets can overtake each other.
        JITTER: links delay packets at random.
        DELAY_EVENTS: delays change during the run.
        DELAYED_ACKS: receivers delay ACKs.
        SACK_BLOCKS: receivers report packets out of order, and senders use the reports.
        RACK: senders recover from losses by RACK-TLP.
        OTHER_RECOVERY: senders recover in other ways, or not at all.
        ECN: queues mark packets.
        APP_LIMITED: a traffic source is not bulk: it offers less than TCP could send, or ends
            connections.
        SEND_OVERHEAD: senders wait a random time before each burst of packets.
        ARRIVAL_BINS: arrivals at each queue are counted in bins of time.
        FLOW_QUEUES: a link has a queue for each flow.
    """

    MULTI_HOP: bool = False
    TWO_WAY: bool = False
    REORDERING: bool = False
    JITTER: bool = False
    DELAY_EVENTS: bool = False
    DELAYED_ACKS: bool = False
    SACK_BLOCKS: bool = False
    RACK: bool = False
    OTHER_RECOVERY: bool = True
    ECN: bool = False
    APP_LIMITED: bool = False
    SEND_OVERHEAD: bool = False
    ARRIVAL_BINS: bool = False
    FLOW_QUEUES: bool = False

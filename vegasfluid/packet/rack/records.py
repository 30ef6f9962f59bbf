"""Fields that RACK-TLP recovery adds to the records of flows and packets, and its constants."""

from __future__ import annotations

import numpy as np

from vegasfluid.congestion.packet_rules import OPEN, RECOVERY

__all__ = [
    "CWR",
    "DISORDER",
    "LOSS",
    "NOT_SET",
    "OPEN",
    "PROBE_TIMER",
    "RACK_FLOW",
    "RACK_INITIAL",
    "RACK_SLOT",
    "RECOVERY",
    "REORDERING_TIMER",
    "RTO_TIMER",
]

DISORDER, CWR, LOSS = OPEN + 1, OPEN + 2, RECOVERY + 1
"""States of a sender: packets arrived out of order (DISORDER), the window shrinks after a mark
(CWR), or a timeout has expired (LOSS). The others are OPEN (no sign of a loss) and RECOVERY (after
fast retransmit)."""

RTO_TIMER, PROBE_TIMER, REORDERING_TIMER = range(3)
"""What the flow's only timer waits for: the retransmission timeout (RFC 6298), a tail loss probe,
or the end of the reordering window (RFC 8985)."""

NOT_SET = -1
"""Value of a packet number or a time that is not set."""

RACK_INITIAL: dict[str, int | float] = {
    "state": OPEN,
    "timer": RTO_TIMER,
    "lost_out": 0,
    "resent_out": 0,
    "losses": 0,
    "reordering_seen": 0,
    "rack_sent_at": NOT_SET,
    "rack_seq": NOT_SET,
    "rack_rtt": 0,
    "rack_advanced": 0,
    "resend_head": 0,
    "resend_tail": 0,
    "first_resent_at": NOT_SET,
    "last_sent_at": NOT_SET,
    "undo_marker": NOT_SET,
    "undo_resent": 0,
    "probe_high": NOT_SET,
    "probe_resent": 0,
    "frto": 0,
    "expiries": 0,
    "reduced_delivered": 0,
    "reduced_sent": 0,
    "deviation": 0,
    "largest_deviation": 0,
    "rtt_round_end": 0,
    "ack_delivered": 0,
    "ack_resent": 0,
    "ack_original": 0,
    "ack_sacked": 0,
    "ack_waits": 0,
    "ack_reordered": 0,
    "ack_first_sent": NOT_SET,
    "ack_last_sent": NOT_SET,
    "sack_first_sent": NOT_SET,
    "sack_last_sent": NOT_SET,
    "prior_cwnd": 0.0,
    "prior_ssthresh": 0.0,
}
"""Fields of a flow with their initial values. Times are in ps, windows in packets.

Scoreboard: `lost_out` (packets that count as lost and are not acknowledged), `resent_out`
(retransmissions in flight), `losses` (packets marked lost since the start), `reordering_seen`
(whether packets were ever reordered). RACK: `rack_sent_at`, `rack_seq` and `rack_rtt` of the
delivered packet that was sent last, `rack_advanced` (whether one arrived since losses were sought).
`resend_head` and `resend_tail`: ring of retransmissions in order of time.

Undo: `first_resent_at` (first retransmission of this recovery), `undo_marker` (`una` at its start),
`undo_resent` (retransmissions in flight at its start or sent since, NOT_SET: none),
`prior_cwnd` and `prior_ssthresh` (windows before it). Probe: `probe_high`
(`next_seq` after the tail loss probe), `probe_resent` (whether it was a retransmission). Timeout:
`frto` (whether it may still turn out to be spurious), `expiries` (in a row). Rate reduction:
`reduced_delivered` and `reduced_sent` (packets since its start). Round-trip time: `deviation`,
`largest_deviation` (in this round trip), `rtt_round_end` (packet whose ACK ends the round trip).
`last_sent_at`: when any packet was last sent.

Of the present ACK: `ack_delivered` (packets that it reports as arrived), `ack_resent` (whether it
acknowledges a packet sent more than once), `ack_original` (whether it reports a packet sent once,
from before `recover`), `ack_sacked` (whether it reports packets out of order), `ack_waits` (whether
the sender waits for reordering after it), `ack_reordered` (the lowest packet that was overtaken),
and when the first and the last packet were sent that it acknowledges in order (`ack_...`) or out of
order (`sack_...`)."""

RACK_FLOW: dict[str, type] = {
    name: np.int64 if isinstance(value, int) else np.float64 for name, value in RACK_INITIAL.items()
}
"""Types of the fields in `RACK_INITIAL`, by name: int64 or float64."""

RACK_SLOT: list[tuple[str, type]] = [
    ("lost", np.uint8),
    ("resent", np.uint8),
    ("order", np.int64),
    ("queued", np.int64),
]
"""Fields of a packet in the window: `lost` (whether it counts as lost), `resent` (whether a
retransmission of it is in flight) and `order` (position of that in the ring of retransmissions).
The slots also hold that ring: `queued` is the number of the packet at the slot's position."""

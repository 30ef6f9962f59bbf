"""Names of the readings of what the paper leaves open, as parts of the evidence's sources."""

from __future__ import annotations

from paper_repro.experiment import PACKETS

__all__ = ["DELAY_LINE", "IN_ORDER", "ONE_WAY", "UNDONE", "packets"]

ONE_WAY = "d is one way, and the default window 2172 packets"
DELAY_LINE = "netem's 1000 packets hold those on their way, too"
IN_ORDER = "jitter keeps the order"
UNDONE = "answers to losses that were none are taken back"


def packets(reading: str) -> str:
    """Return the name of the packet simulator's evidence under a reading."""
    return f"{PACKETS}, {reading}"

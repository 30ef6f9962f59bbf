"""How the paper's words may be read where they leave something open: names for the evidence."""

from __future__ import annotations

from paper_repro.experiment import PACKETS

__all__ = ["DELAY_LINE", "IN_ORDER", "NO_UNDO", "ROUND_TRIP", "packets"]

ROUND_TRIP = "d is the round trip"
DELAY_LINE = "netem's 1000 packets hold those on their way, too"
IN_ORDER = "jitter keeps the order"
NO_UNDO = "answers to losses that were none are not taken back"


def packets(reading: str) -> str:
    """The source of what packets say under a reading."""
    return f"{PACKETS}, {reading}"

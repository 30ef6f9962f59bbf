"""Another reading of table 1, for experiments that run each network as it is."""

from __future__ import annotations

from paper_repro.other_readings import OtherReading
from paper_repro.weigle_feng_2001.networks import read_as_round_trips

__all__ = ["THERE_AND_BACK", "THERE_AND_BACK_AT_FIRST", "THERE_AND_BACK_ONCE"]


def is_ratio(measure: str) -> bool:
    """Whether a measure of slow start is a ratio of losses, and not relative to a product."""
    return measure == "avoided"


THERE_AND_BACK = OtherReading("delays there and back", read_as_round_trips)
"""Table 1's delays are round-trip delays."""
THERE_AND_BACK_ONCE = OtherReading(
    "delays there and back", read_as_round_trips, first_seed_only=True
)
"""The same, with one seed."""
THERE_AND_BACK_AT_FIRST = OtherReading("delays there and back", read_as_round_trips, is_ratio)
"""The same, for slow start."""

"""The delay of a link while events change it, to the picosecond."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vegasfluid.packet import ring
from vegasfluid.packet.ring import ACCESS, current_delay

CHANGES = [(100, 0, 0, 7), (200, ACCESS, 1, 8), (300, 0, 0, 9)]
"""Time, link, class and new delay of each event; an event of a link is for all classes."""


@pytest.mark.parametrize(
    ("link", "flow_class", "delays"),
    [
        (0, 0, {99: 5, 100: 7, 299: 7, 300: 9, 1000: 9}),
        (0, 1, {99: 5, 100: 7, 300: 9}),
        (1, 0, {1000: 5}),
        (ACCESS, 1, {199: 5, 200: 8, 1000: 8}),
        (ACCESS, 0, {200: 5, 1000: 5}),
    ],
)
def test_a_delay_is_the_last_one_up_to_now(monkeypatch, link, flow_class, delays) -> None:
    """Also at the very time of an event, of the link that is asked for only."""
    monkeypatch.setattr(ring, "DELAY_EVENTS", True)
    names = ("at", "link", "flow_class", "delay")
    changes = [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in CHANGES]
    sim = SimpleNamespace(change_count=len(changes), changes=changes)
    assert {now: current_delay(sim, link, flow_class, 5, now) for now in delays} == delays

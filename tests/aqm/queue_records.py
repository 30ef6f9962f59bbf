"""Records of queues as packet rules see them, for tests of rules alone."""

from __future__ import annotations

from types import SimpleNamespace

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.packet.records import LINK

PS = 10**12
"""Picoseconds in a second."""
SERVICE = PS // 1000
"""Transmission time of a packet, ps: 1000 packets/s."""


def record(law: QueueDiscipline, **values: float) -> SimpleNamespace:
    """A queue's record with the rule's parameters and initial state, and other values of fields.

    Where the rule updates something by a timer, the next update is far away.
    """
    fields = dict.fromkeys(LINK, 0) | dict(law.rule.state) | law.packet_parameters()
    return SimpleNamespace(**fields | {"service": SERVICE, "update_at": 10**18} | values)

"""The state in which the packet engine leaves a network, for tests that look into it."""

from __future__ import annotations

from typing import Any

from vegasfluid.packet import simulate
from vegasfluid.packet.state import Simulation

__all__ = ["execute"]


def execute(*arguments: Any) -> Simulation:
    """The state at the end of `executed` with these arguments, kept beyond its context."""
    with simulate.executed(*arguments) as sim:
        return sim

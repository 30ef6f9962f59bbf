"""The engine's functions, called one at a time on the records of a network at its start."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from vegasfluid import Network
from vegasfluid.packet import simulate
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit.specialise import open_names, specialise

__all__ = ["Engine"]


class Engine:
    """The records of a network at its start (`sim`), with room for 256 packets on the way."""

    def __init__(self, network: Network) -> None:
        initial = initial_state(network, 1)
        shape = simulate.shapes(initial, 256, 256, 1, 0)
        self.sim = simulate.allocate(initial, shape, np.array([10**15]))
        self.names, self.made = open_names(initial.rules), {}
        self.flow = self.sim.flows[0]

    def call(self, function: Any, *arguments: Any, f: int = 0) -> Any:
        """Call a function, with the packet rules of the network, for its first flow or `f`."""
        assert isinstance(function, FunctionType)
        bound = specialise(function, self.names, lambda copy: copy, self.made)
        return bound(self.sim, f, *arguments)

"""What the equations ask of the past: rates, as slopes of counters.

The state begins with the counters that are asked for (arrived, noticed, and, where packets cross
several queues, dropped and the queues), so that the solver keeps these and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from vegasfluid.fluid.routes import Plan

__all__ = ["Past", "remembered"]

Rates = Float[Array, " n"]


def remembered(plan: Plan) -> int:
    """How many leading components of the state the history keeps."""
    hops = len(plan.hops)
    several = any(hop.previous >= 0 for hop in plan.hops)
    return 3 * hops + plan.stations if several else 2 * hops


class Past:
    """Rates at past times.

    Args:
        history: the solver's.
        plan: structure.
    """

    def __init__(self, history: Any, plan: Plan) -> None:
        self._history, self._hops = history, len(plan.hops)

    def admitted(self, hops: np.ndarray, times: Rates) -> Rates:
        """Packets/s of a flow that these hops admitted, each at its time."""
        arrived = self._history.slope(times, of=hops)
        return arrived - self._history.slope(times, of=hops + 2 * self._hops)

    def waiting(self, stations: np.ndarray, times: Rates) -> Rates:
        """Packets/s by which these queues grew, each at its time."""
        return self._history.slope(times, of=stations + 3 * self._hops)

    def arrived_and_noticed(
        self, hops: np.ndarray, times: Rates, together: bool
    ) -> tuple[Rates, Rates]:
        """Packets/s of a flow that came to these hops, and those lost or marked there.

        Args:
            hops: their numbers.
            times: for each of them.
            together: whether all times are the same; one look then serves all.
        """
        if together:
            slopes = self._history.slope(times[0])
            return slopes[hops], slopes[hops + self._hops]
        return self._history.slope(times, of=hops), self._history.slope(times, of=hops + self._hops)

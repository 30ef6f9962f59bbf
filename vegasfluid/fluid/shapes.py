"""Types of the fluid model's numbers and arrays; arrays are named by their axis.

`PerGroup` has one number for each group of identical flows, `PerHop` one for each queue on the path
of each group, `PerQueue` one for each queue of the network.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Float

__all__: list[str] = []

Number = Any
"""A float, or an array of shape () that may be traced."""
LawState = Any
"""State of a congestion control, or its time derivative: a named tuple with `cwnd` (packets),
`slow_start` (fraction of the flows) and the law's own fields, each (groups,) or (groups, cells)."""
Scalar = Float[Array, ""]
PerGroup = Float[Array, "groups"]
PerHop = Float[Array, "hops"]
PerQueue = Float[Array, "queues"]
PerCell = Float[Array, "groups *cells"]
"""One number for each group, or for each group and cell of a distribution."""
Vector = Float[Array, " n"]

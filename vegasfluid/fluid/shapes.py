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
"""One number, as an array of shape ()."""
PerGroup = Float[Array, "groups"]
"""One number for each flow group."""
PerHop = Float[Array, "hops"]
"""One number for each hop: a queue on the path of a flow group."""
PerQueue = Float[Array, "queues"]
"""One number for each queue: those of the links, then those in the reverse direction."""
PerCell = Float[Array, "groups *cells"]
"""One number for each group, or for each group and cell of a distribution."""
Vector = Float[Array, " n"]
"""A state of the equations as the solver has it, each component in its own unit."""

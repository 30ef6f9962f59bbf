"""Types of the fluid model's arrays, by what their one axis counts.

`PerGroup` has one number for each group of identical flows, `PerHop` one for each queue on the path
of each group, `PerQueue` one for each queue of the network.
"""

from __future__ import annotations

from jaxtyping import Array, Float

__all__: list[str] = []

Scalar = Float[Array, ""]
PerGroup = Float[Array, "groups"]
PerHop = Float[Array, "hops"]
PerQueue = Float[Array, "queues"]
Vector = Float[Array, " n"]

"""The packet simulator: every packet of a network, by compiled code.

It checks recommendations that were computed with the fluid model.
"""

from vegasfluid.packet.seeds import simulate_seeds
from vegasfluid.packet.simulate import record_packets, simulate_packets

__all__ = ["record_packets", "simulate_packets", "simulate_seeds"]

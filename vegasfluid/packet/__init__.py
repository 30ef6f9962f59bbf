"""The packet simulator: small, eager, compiled; the judge of every recommendation."""

from vegasfluid.packet.seeds import simulate_seeds
from vegasfluid.packet.simulate import record_packets, simulate_packets

__all__ = ["record_packets", "simulate_packets", "simulate_seeds"]

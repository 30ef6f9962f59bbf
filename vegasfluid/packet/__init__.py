"""The packet simulator: small, eager, compiled; the judge of every recommendation."""

from vegasfluid.packet.seeds import for_each_seed, simulate_seeds
from vegasfluid.packet.simulate import record_packets, simulate_packets

__all__ = ["for_each_seed", "record_packets", "simulate_packets", "simulate_seeds"]

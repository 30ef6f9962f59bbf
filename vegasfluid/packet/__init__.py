"""The packet simulator: small, eager, compiled; the judge of every recommendation."""

from vegasfluid.packet.simulate import simulate_packets

__all__ = ["simulate_packets"]

"""Closed forms compared with the equilibrium solver, the fluid model and the packet simulator."""

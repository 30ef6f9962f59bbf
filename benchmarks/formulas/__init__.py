"""Closed forms against the solver of rest, the fluid and packets."""

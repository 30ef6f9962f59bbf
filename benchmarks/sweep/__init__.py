"""Sweeps: how fast they are, and what keeping them costs. See `__main__`."""

from benchmarks.sweep.points import (
    Point,
    alone,
    base,
    network_at,
    points,
    ratios,
    task_for,
    together,
)

__all__ = ["Point", "alone", "base", "network_at", "points", "ratios", "task_for", "together"]

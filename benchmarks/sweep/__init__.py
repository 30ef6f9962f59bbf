"""Speed of sweeps, and the cost of storing them."""

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

"""Traffic sources played out in plain Python, without a network."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vegasfluid.clock import NEVER, picoseconds
from vegasfluid.traffic import TrafficSource, random_variates

__all__ = ["application", "draw_random_numbers"]


def draw_random_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw here the uniform numbers that the packet simulator's compiler provides otherwise."""
    random = np.random.default_rng(4)
    monkeypatch.setattr(random_variates, "uniform", lambda source: random.random(), raising=False)


def application(traffic: TrafficSource, seconds: float) -> tuple[SimpleNamespace, list[int]]:
    """What an application does whose packets are delivered at once, and what each step returns."""
    rules = traffic.rules
    begin = {"start": 0, "app_at": 0, "offered": 0, "finished": 0, **rules.state}
    flow = SimpleNamespace(**begin, **traffic.packet_parameters(1500))
    returned = []
    while flow.app_at < picoseconds(seconds):
        now = flow.app_at
        returned.append(rules.on_application(flow, now))
        if flow.offered and (flow.app_at == NEVER or getattr(flow, "busy", False)):
            rules.on_finished(flow, now)
    return flow, returned

"""A recommendation as if one had been made, for tests of reports on it."""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network
from vegasfluid.tuning import Constraints, Recommendation, ShareRatio
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.result import Evaluation
from vegasfluid.tuning.scalar_root import FluidOptimum

__all__ = ["recommended"]

MADE_UP = {
    "ratio": 0.9,
    "jain_index": 0.8,
    "utilisation": 0.7,
    "queue_packets": 60.0,
    "queueing_delay_s": 0.05,
    "drop_share": 0.01,
    "retransmit_share": 0.02,
}


def recommended(network: Network, law: Vegas, goal: float = 1.0) -> Recommendation:
    """The network's class `vegas` with another law; its numbers on packets are made up."""
    before: Any = network.flows["vegas"].law
    packets = Measurement((MADE_UP, {**MADE_UP, "ratio": 1.1}))
    return Recommendation(
        network=network.with_law("vegas", law),
        tuned="vegas",
        objective=ShareRatio(goal),
        constraints=Constraints(),
        queue_tuned=False,
        reached=True,
        reason="",
        before=Evaluation(before, MADE_UP, Measurement((MADE_UP, MADE_UP))),
        after=Evaluation(law, MADE_UP, packets),
        optimum=FluidOptimum(float(law.alpha or 0), 1.0, 1.0, True, 1),
        settings={},
        settings_missing={},
        start=None,
        others=(),
        seconds={},
    )

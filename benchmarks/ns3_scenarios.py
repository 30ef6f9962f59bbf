"""Ten scenarios over PIE and CoDel for the packet simulator and ns-3, chosen before any run.

Hosts are ns-3's (`host = "ns3"`): initial window of 10 packets, delayed ACKs, SACK, a smallest
retransmission timeout of 1 s, and the CUBIC of ns-3. One class has all flows of a congestion
control. Flows start within the first second, at times that follow from the seed and are the same
in both simulators. ns-3 has PIE's random numbers from the seed, too; nothing else is random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.pie import Pie
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link, Network
from vegasfluid.quantities import mbps, ms

__all__ = ["DURATION", "SCENARIOS", "SEEDS", "WARMUP", "Scenario", "model_of"]

DURATION, WARMUP = 80.0, 20.0
"""Length of a run and of its warm-up, s."""
SEEDS = (1, 2, 3)
"""Seeds of the runs, in both simulators."""
LIMIT = 500
"""Size of the buffer, packets (chosen: never full after slow start)."""
SPREAD = 1.0
"""Latest start of a flow, s."""


class Scenario(NamedTuple):
    """A bottleneck with PIE or CoDel, with the defaults of their RFCs, and its flows.

    Args:
        queue: `pie` or `codel`.
        mbps: capacity, Mbit/s.
        rtt_ms: base round-trip time, ms.
        flows: number of flows by congestion control.
        ecn: whether the queue marks packets instead of dropping them.
    """

    queue: str
    mbps: float
    rtt_ms: float
    flows: dict[str, int]
    ecn: bool = False

    @property
    def name(self) -> str:
        """Name in results: queue, rate, round-trip time and flows."""
        flows = "_".join(f"{count}{control}" for control, count in self.flows.items())
        return f"{self.queue}{'_ecn' * self.ecn}_{self.mbps:g}mbps_{self.rtt_ms:g}ms.{flows}"


SCENARIOS = (
    Scenario("pie", 10, 20, {"reno": 1}),
    Scenario("pie", 20, 80, {"reno": 3, "cubic": 3}),
    Scenario("pie", 50, 40, {"reno": 5, "cubic": 5}),
    Scenario("pie", 5, 100, {"reno": 2, "cubic": 2}),
    Scenario("pie", 20, 40, {"reno": 3, "cubic": 3}, ecn=True),
    Scenario("codel", 5, 50, {"cubic": 1}),
    Scenario("codel", 10, 20, {"reno": 3, "cubic": 3}),
    Scenario("codel", 50, 100, {"reno": 4, "cubic": 4}),
    Scenario("codel", 20, 40, {"reno": 10, "cubic": 10}),
    Scenario("codel", 20, 40, {"reno": 3, "cubic": 3}, ecn=True),
)
"""The scenarios, in the order of the results."""


def model_of(scenario: Scenario, seed: int) -> Model:
    """The model of a scenario; the start times of its flows follow from `seed`."""
    discipline = Pie if scenario.queue == "pie" else CoDel
    link = Link(mbps(scenario.mbps, 1500), LIMIT, aqm=discipline(ecn=scenario.ecn))
    laws: dict[str, Any] = {"reno": Reno(), "cubic": Cubic()}
    rng = np.random.default_rng(seed)
    classes = {
        control: Flows(
            count,
            laws[control],
            base_rtt=ms(scenario.rtt_ms),
            start=tuple(float(time) for time in rng.uniform(0.0, SPREAD, count)),
            host="ns3",
            send_overhead=0.0,  # ns-3's senders have no random wait
        )
        for control, count in scenario.flows.items()
    }
    network = Network({"bottleneck": link}, classes, packet_bytes=1500)
    return Model(network, duration=DURATION, warmup=WARMUP, title=scenario.name)

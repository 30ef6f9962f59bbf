"""The choice of the bottleneck among the queues that tc shows."""

import numpy as np
import pytest

from vegasfluid.observe.link_counters import link_counters
from vegasfluid.observe.measurement import QueueSamples

TIMES = np.arange(3.0)


def queue(kind: str, drops: list[float], packets: list[float]) -> QueueSamples:
    """A queue by what it dropped and sent since it was set up, at 0, 1 and 2 s.

    Args:
        kind: its discipline.
        drops: packets dropped so far.
        packets: packets sent so far.
    """
    return QueueSamples(
        "eth0",
        "1:",
        "root",
        kind,
        "tc.json",
        TIMES,
        dropped_packets=np.array(drops),
        sent_packets=np.array(packets),
    )


@pytest.mark.parametrize(
    "others",
    [
        queue("red", [900_000, 900_000, 900_000], [5e6, 5e6 + 10, 5e6 + 20]),
        queue("red", [900_000, np.nan, 900_000], [5e6, np.nan, 5e6]),
        queue("red", [0, 0, 0], [5e6, 6e6, 7e6]),
    ],
)
def test_the_queue_that_drops_during_the_measurement_is_the_bottleneck(others):
    """An older overload, or more packets, is a weaker sign."""
    dropping = queue("codel", [7, 7, 12], [1000, 2000, 3000])
    for order in ([dropping, others], [others, dropping]):
        found = link_counters(order, 1500)
        assert found is not None
        assert found.discipline is not None
        assert found.discipline.name == "codel"


def test_without_drops_in_the_measurement_earlier_ones_of_a_queue_in_use_count():
    idle = queue("red", [90, 90, 90], [5000, 5000, 5000])
    used = queue("codel", [7, 7, 7], [1000, 2000, 3000])
    busier = queue("pie", [0, 0, 0], [1000, 4000, 8000])
    found = link_counters([idle, used, busier], 1500)
    assert found is not None
    assert found.discipline is not None
    assert found.discipline.name == "codel"

"""A fluid run warns where packets may differ, with the number that triggers the warning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vegasfluid import DropTail, Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.trajectory import Recording

WARMUP = 5.0
TIMES = np.linspace(0.0, 10.0, 101)


def recording(
    aqm=None,
    count=10,
    cwnd=(20.0, 20.0),
    sent=(1000.0, 1000.0),
    dropped=(10.0, 10.0),
    timeouts=(0.0, 0.0),
    amplitude=0.0,
    error=None,
    **link,
) -> Recording:
    """A run of Vegas and Reno, with what it shows of a flow of either in ten seconds."""
    flows = {
        "vegas": Flows(count, Vegas(), base_rtt=0.05),
        "reno": Flows(count, Reno(), base_rtt=0.05),
    }
    network = Network(Link(1000.0, 100, aqm or Red(20, 80), **link), flows)
    steady = {"sent": sent, "dropped": dropped, "timeouts": timeouts}
    of_flows = {
        name: np.outer(TIMES / TIMES[-1], np.repeat(item, count)) for name, item in steady.items()
    }
    of_flows["cwnd"] = np.tile(np.repeat(cwnd, count), (TIMES.size, 1))
    queue = 50.0 * (1 + amplitude * np.sqrt(2) * np.sin(4 * np.pi * TIMES / WARMUP))
    total = {"admitted": count * (sum(sent) - sum(dropped)), "lost": count * sum(dropped)}
    of_links = {name: (TIMES / TIMES[-1] * item)[:, np.newaxis] for name, item in total.items()}
    return Recording(network, TIMES, of_flows, of_links | {"queue": queue[:, np.newaxis]}, error)


def test_a_valid_model_has_no_warnings():
    assert validity_warnings(recording(), WARMUP) == []
    assert validity_warnings(recording(DropTail()), WARMUP) == []


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({"cwnd": (20.0, 4.9)}, "reno: the mean window is 4.9 packets. Below 5"),
        ({"timeouts": (0.0, 0.51)}, "reno: 5.1% of its losses end in a timeout"),
        ({"count": 4}, "bottleneck: only 8 flows; with fewer than 10"),
        ({"error": (0.02, 0.0, 0.0)}, "the tolerance of 1 % is not met"),
        (
            {"jitter": 0.01, "jitter_reorders": True},
            "vegas: jitter reorders its packets",
        ),
    ],
)
def test_an_invalid_model_has_warnings(shown, message):
    found = validity_warnings(recording(**shown), WARMUP)
    assert found
    assert any(line.startswith(message) for line in found)


def test_a_queue_that_oscillates_is_warned_of_above_a_bound():
    assert validity_warnings(recording(amplitude=0.24), WARMUP) == []
    (line,) = validity_warnings(recording(amplitude=0.26), WARMUP)
    assert line.startswith("bottleneck: the queue oscillates by 26% of its mean")
    assert validity_warnings(recording(DropTail(), amplitude=0.5), WARMUP) == []


def test_a_full_buffer_that_drops_more_of_one_class_is_a_warning():
    """A quarter as much again is the bound; RED, which drops by chance, has none."""
    uneven = {"dropped": (10.0, 12.6)}
    (line,) = validity_warnings(recording(DropTail(), **uneven), WARMUP)
    assert line.startswith(
        "bottleneck: the full buffer drops 1.26% of the packets of reno and 1.00% of those of vegas"
    )
    assert validity_warnings(recording(DropTail(), dropped=(10.0, 12.4)), WARMUP) == []
    assert validity_warnings(recording(**uneven), WARMUP) == []


@pytest.mark.parametrize(("ratio", "warned"), [(1.24, False), (1.26, True)])
def test_vegas_flows_with_unequal_windows_are_a_warning(ratio, warned):
    """Half of the Vegas flows have larger windows; Reno estimates no base RTT."""
    run = recording()
    for flows in (slice(5, 10), slice(15, 20)):
        run.flows["cwnd"][:, flows] *= ratio
    found = validity_warnings(run, WARMUP)
    assert len(found) == warned
    assert all("vegas: the windows of its flows differ by a factor of 1.26" in it for it in found)


def test_vegas_flows_with_other_base_rtts_may_have_other_windows():
    run = recording()
    vegas = replace(run.network.flows["vegas"], base_rtt=(0.05,) * 5 + (0.1,) * 5)
    network = replace(run.network, flows={**run.network.flows, "vegas": vegas})
    run.flows["cwnd"][:, 5:10] *= 2
    assert validity_warnings(run._replace(network=network), WARMUP) == []


def test_a_class_without_losses_next_to_one_with_losses_is_a_warning():
    (line,) = validity_warnings(recording(DropTail(), dropped=(0.0, 10.0)), WARMUP)
    assert "0.00% of those of vegas" in line


def test_losses_are_compared_up_to_the_end_of_the_run():
    """In the last sample a flow of Reno loses five more of the 500 packets since the warm-up."""
    run = recording(DropTail())
    run.flows["dropped"][-1, 10:] += 5.0
    (line,) = validity_warnings(run, WARMUP)
    assert "drops 2.00% of the packets of reno and 1.00% of those of vegas" in line

"""What cannot be in a run of the fluid is found, with its time and its owner, and ends the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from vegasfluid import DropTail, Flows, Link, Network, Reno, SolveFailed
from vegasfluid.aqm.red import AdaptedAverage, Red
from vegasfluid.fluid import record_fluid
from vegasfluid.fluid.invariants import check_invariants, violations
from vegasfluid.trajectory import Recording

LINK = Link(1000.0, 20)
RENO = {"reno": Flows(5, Reno(), base_rtt=0.05)}


@pytest.fixture(scope="module")
def sound() -> Recording:
    return record_fluid(Network(LINK, RENO), 10.0, 101, tolerance=None)


def with_change(
    run: Recording, name: str, change: Callable[[np.ndarray], np.ndarray], since: float = 6.0
) -> Recording:
    """The run with one of its arrays changed from `since` (s) on."""
    kind = "flows" if name in run.flows else "links"
    arrays = dict(getattr(run, kind))
    late = run.times[:, np.newaxis] >= since
    changed = np.where(late, change(arrays[name]), arrays[name])
    return run._replace(**{kind: arrays | {name: changed}})


BREAKS = {
    "reno: rtt is not finite": ("rtt", lambda x: x * np.nan),
    "bottleneck: backlog is not finite": ("backlog", lambda x: x * np.nan),
    "bottleneck: the queue is below 0": ("backlog", lambda x: -1.0 - x),
    "bottleneck: the queue is above the buffer": ("backlog", lambda x: 21.0 + x),
    "bottleneck: the average queue is below 0": ("avg_queue", lambda x: -1.0 - x),
    "bottleneck: the average queue is above the buffer": ("avg_queue", lambda x: 21.0 + x),
    "reno: the window is below a packet": ("cwnd", lambda x: 0.0 * x),
    **{
        f"{whose}: {name} decreases": (name, lambda x: 0.5 * x)
        for whose, names in (
            ("reno", ("delivered", "dropped", "sent", "timeouts")),
            ("bottleneck", ("admitted", "lost", "waited", "work")),
        )
        for name in names
    },
    "bottleneck: it sent more than its capacity": ("work", lambda x: 1.1 * x + 100),
    "reno: more packets are delivered or dropped than sent": ("sent", lambda x: 0.9 * x),
    "reno: packets sent are neither delivered nor dropped": ("sent", lambda x: 1.1 * x),
}


@pytest.mark.parametrize("message", BREAKS)
def test_what_cannot_be_is_found_with_its_time(sound: Recording, message: str) -> None:
    assert violations(sound) == []
    run = with_change(sound, *BREAKS[message])
    assert f"{message}, first at t = 6 s" in [str(violation) for violation in violations(run)]
    with pytest.raises(SolveFailed, match="t = 6 s"):
        check_invariants(run)


@pytest.mark.parametrize(("first", "second"), [("rtt", "sent"), ("sent", "rtt")])
def test_of_several_violations_the_earliest_is_reported(
    sound: Recording, first: str, second: str
) -> None:
    run = with_change(with_change(sound, first, lambda x: x * np.nan, 4.0), second, np.negative)
    with pytest.raises(SolveFailed, match=rf"reno: {first} is not finite, first at t = 4 s"):
        check_invariants(run)


@dataclass(frozen=True)
class Giving(DropTail):
    """A queue law that is wrong: it hands out packets."""

    name: ClassVar[str] = "giving"

    def drop_prob(self, seen):
        return 0.0 * seen.queue - 0.5


def test_a_run_that_makes_packets_fails() -> None:
    network = Network(Link(1000.0, 20, Giving()), RENO)
    with pytest.raises(SolveFailed, match=r"the fluid model failed: .* decreases, first at t = \d"):
        record_fluid(network, 10.0, 101, tolerance=None)


def test_the_state_of_queue_disciplines_is_clipped_to_its_domain() -> None:
    """An average in the buffer, and RED's adapted maximum among the probabilities."""
    law = Red(5, 15, adaptive=True)
    assert law.clip(AdaptedAverage(-1.0, 1.5), 20.0) == AdaptedAverage(0.0, 1.0)
    assert law.clip(AdaptedAverage(30.0, 0.1), 20.0) == AdaptedAverage(20.0, 0.1)

"""What a run depends on: its seed, and neither the size of the rings nor another kernel."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from tests.packet.end_state import execute
from tests.packet.shared_kernels import SHARED, one_way
from vegasfluid import memory
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, TooLarge
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.packet import simulate, simulate_packets, simulate_seeds
from vegasfluid.packet.features import Features
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import cache_folder, compiled
from vegasfluid.packet.rules import Rules
from vegasfluid.packet.state import Simulation
from vegasfluid.traffic.bulk import Bulk

RED = Red(5, 15, max_drop=0.2, weight=0.05, wait=False, gentle=True)


def mix(alpha: float = 3) -> Network:
    flows = {
        "reno": Flows(2, Reno(), base_rtt=0.02, start=UniformStart(0.2)),
        "ns2": Flows(
            1, Vegas(alpha=2, beta=4, dialect="ns2"), base_rtt=0.03, start=UniformStart(0.2)
        ),
        "brakmo": Flows(1, Vegas(alpha=alpha, beta=5), base_rtt=0.04),
    }
    return Network(Link(500.0, 12, RED, delay=0.002), flows)


def only_reno() -> Network:
    flows = Flows(4, Reno(), base_rtt=0.03, start=UniformStart(0.2))
    return Network(Link(500.0, 12, RED), {"reno": flows})


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    runs = [simulate_packets(only_reno(), until=20, seed=seed) for seed in (1, 1, 2)]
    for name in runs[0].data_vars:
        assert runs[0][name].values.tobytes() == runs[1][name].values.tobytes()
    assert (runs[0].flow_delivered.values != runs[2].flow_delivered.values).any()
    assert runs[0].attrs["seed"] == 1


def longer_link_then_access() -> Network:
    """Two packets in flight; the link takes 50 ms instead of 10, then the round trip 200 ms."""
    events = (Event(2.0, "bottleneck", 0.05), Event(4.0, "access", 0.2))
    flows = Flows(1, Reno(), base_rtt=0.1, max_window=2)
    return Network(Link(1000.0, 12, delay=0.01), {"reno": flows}, events=events)


def test_an_access_delay_follows_from_the_links_delay_at_that_time() -> None:
    """Each of four crossings of an access link takes (200 - 2 * 50) / 4 ms."""
    changes = initial_state(longer_link_then_access().resolved(), 1).changes
    assert [int(one["delay"]) for one in changes] == [50 * 10**9, 50 * 10**9, 25 * 10**9]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_packets_have_the_round_trip_that_an_event_sets() -> None:
    """They wait nowhere: propagation, and the transmission of 1500 and 40 bytes."""
    run = simulate_packets(longer_link_then_access(), until=30, seed=1)
    assert float(run["rtt"][-1, 0]) == pytest.approx(0.2 + (1 + 40 / 1500) / 1000, rel=1e-3)


def test_the_number_of_workers_changes_no_byte() -> None:
    network = SHARED["every law"]
    runs = [
        simulate_seeds(network, until=5, seeds=[1, 2, 3, 4], workers=workers, bin_width=0.1)
        for workers in (1, 3)
    ]
    assert runs[0].identical(runs[1])
    assert len({run.tobytes() for run in runs[0].arrivals.values}) == 4
    alone = simulate_packets(network, until=5, seed=3, bin_width=0.1)
    assert (runs[0].sel(seed=3).queue.values == alone.queue.values).all()
    with pytest.raises(InvalidInput, match="one or more, all different"):
        simulate_seeds(network, until=5, seeds=[1, 1])


def test_another_alpha_has_the_same_start_times_and_random_drops() -> None:
    first, second = (initial_state(mix(alpha), seed=7) for alpha in (1, 5))
    assert first.flows["start"].tobytes() == second.flows["start"].tobytes()
    for name in ("rng_a", "rng_b"):
        assert first.links[name].tobytes() == second.links[name].tobytes()
        assert first.flows[name].tobytes() == second.flows[name].tobytes()
    other = initial_state(mix(), seed=8)
    assert (first.flows["start"][:3] != other.flows["start"][:3]).all()
    assert (first.links["rng_a"] != other.links["rng_a"]).all()
    assert (first.flows["rng_a"] != other.flows["rng_a"]).all()


def test_random_starts_lie_in_their_spread() -> None:
    network = Network(
        Link(1000.0, 10), {"reno": Flows(2000, Reno(), base_rtt=0.02, start=UniformStart(0.5))}
    )
    starts = initial_state(network, 1).flows["start"] * 1e-12
    assert starts.min() >= 0
    assert starts.max() < 0.5
    # The mean of 2000 uniform numbers: standard deviation 0.5 / sqrt(12 * 2000).
    assert np.mean(starts) == pytest.approx(0.25, abs=4 * 0.5 / np.sqrt(12 * 2000))


def late_crowd() -> Network:
    """One flow that has the link for itself before 49 others come: far more than its share."""
    starts = (0.0,) + (30.0,) * 49
    return Network(Link(1000.0, 1500), {"reno": Flows(50, Reno(), base_rtt=0.1, start=starts)})


def test_rings_that_do_not_suffice_are_made_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, sizes = late_crowd(), []
    shapes = simulate.shapes

    def watched(begin: Any, slots: int, *more: int) -> Any:
        sizes.append(slots)
        return shapes(begin, slots, *more)

    monkeypatch.setattr(simulate, "shapes", watched)
    small = simulate_packets(grown, until=40)
    assert sizes == [256, 512, 1024, 2048, 4096]
    monkeypatch.setattr(simulate, "MIN_SLOTS", 2**14)
    large = simulate_packets(grown, until=40)
    assert sizes[5:] == [2**14]
    assert small.identical(large)
    assert small.queue.max() > 1400


@pytest.mark.parametrize("recovery", ["reno", "newreno", "sack"])
def test_nobody_sends_beyond_what_the_receiver_allows(recovery: str) -> None:
    """Not in a long recovery either, where each duplicate ACK is worth a new packet (RFC 5681)."""
    flows = Flows(2, Reno(recovery=recovery), base_rtt=0.1, max_window=400)
    network = one_way(Network(Link(1000.0, 300), {"reno": flows}))
    ends = []
    for until in np.arange(1.0, 20.0):
        begin, times = initial_state(network, 1, counted=True), np.array([0.0, until])
        sim = execute(network, begin, times, compiled(begin.rules), 0.1)
        ends.append((sim.flows["max_seq"] - sim.flows["una"]).max())
    assert 300 < max(ends) <= 400


@pytest.mark.slow
@pytest.mark.unoptimised
def test_smaller_rings_are_freed_before_larger_ones_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a run holds what is reserved for it, and no more."""
    made: list[weakref.ref[np.ndarray]] = []

    def allocate(*given: Any) -> Simulation:
        assert all(array() is None for array in made)
        sim = make(*given)
        made.append(weakref.ref(sim.slots.base))
        return sim

    make = simulate.allocate
    monkeypatch.setattr(simulate, "allocate", allocate)
    classes = {
        "large": Flows(1, Reno(), base_rtt=0.1, max_window=1000),  # without loss all in flight
        "small": Flows(19, Reno(), base_rtt=0.1, max_window=2),
    }
    network = one_way(Network(Link(1e4, 1000), classes))
    begin, times = initial_state(network, 1), np.array([0.0, 3.0])
    with simulate.executed(network, begin, times, compiled(begin.rules)) as sim:
        assert sim.flow_samples["cwnd"][-1].max() >= 1000
        assert sim.slots.shape[1] > 1000
    assert len(made) > 1


def test_a_run_that_needs_more_memory_than_it_may_take_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "allowed_memory", lambda: 2**20)
    with pytest.raises(TooLarge, match=r"GiB of memory, more than .* set max_window, or"):
        simulate_packets(late_crowd(), until=40)
    monkeypatch.setattr(memory, "allowed_memory", lambda: 2**22)
    with pytest.raises(TooLarge, match=r"set max_window of reno, which has \d+ packets in"):
        simulate_packets(late_crowd(), until=40)


def test_kernels_of_other_rules_are_kept_apart() -> None:
    reno, vegas = Reno(), Vegas()
    folders = {
        cache_folder(Rules(laws, (aqm,), (Bulk(),), features))
        for laws in ((reno,), (vegas,), (reno, vegas), (vegas, reno))
        for aqm in (RED, DropTail())
        for features in (Features(), Features(TWO_WAY=True))
    }
    assert len(folders) == 16
    one, same = (
        cache_folder(Rules((Reno(),), (aqm,), (Bulk(),), Features())) for aqm in (RED, Red(1, 2))
    )
    assert one == same

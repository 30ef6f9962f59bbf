"""Times and numbers at the ends of their ranges: nothing wraps, and too much is rejected."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from vegasfluid import memory, metrics
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.errors import TooLarge
from vegasfluid.network import Event, Flows, Link, Network
from vegasfluid.packet import simulate_packets
from vegasfluid.packet.clock_range import check_run, event_rate, longest_round_trips
from vegasfluid.quantities import mbps
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import Sessions

IDLE = {
    "cbr": Cbr(1e-6),
    "poisson": Poisson(1e5),
    "pareto": OnOff(on=1e5, off=1e5, rate=1e-5),
    "heavy": OnOff(on=1e3, off=1e3, rate=1e-3, shape=1.01),
    "sessions": Sessions(mean_gap=1e6, mean_size=0.01),
}
"""Sources that offer less than a packet in 20 s, but for the first."""


def network_of(flows: Flows) -> Network:
    return Network(Link(1000.0, 50), {"a": flows})


@pytest.mark.slow
def test_sources_that_are_nearly_idle_send_nearly_nothing() -> None:
    """A time beyond the clock would be an endless burst, also one on a very slow access link."""
    classes = {
        name: Flows(1, Unresponsive(), base_rtt=0.04, traffic=source)
        for name, source in IDLE.items()
    }
    fast = Flows(1, Unresponsive(), base_rtt=0.04, traffic=Cbr(1000.0), access=1e-5)
    run = simulate_packets(Network(Link(1000.0, 50), classes | {"fast": fast}), until=20, warmup=0)
    sent = dict(zip([*IDLE, "fast"], run["sent"].values[-1], strict=True))
    assert sent["fast"] == pytest.approx(20_000, abs=2)
    assert run["delivered"].values[-1, -1] == 0
    assert sent["cbr"] == sent["pareto"] == 1
    assert sent["poisson"] + sent["sessions"] <= 1
    assert sent["heavy"] <= 3


@pytest.mark.slow
@pytest.mark.unoptimised
def test_no_link_is_used_above_its_capacity() -> None:
    """Any speed, overloaded: every packet's transmission time is rounded to the clock's ticks.

    The two sample times are rounded, too, by half a tick each.
    """
    speeds = [mbps(300.30064), *np.geomspace(mbps(1), mbps(600_000), 40)]
    for capacity in speeds:
        flows = Flows(1, Unresponsive(), base_rtt=1e-9, traffic=Cbr(1.5 * capacity))
        until = 3000 / capacity
        network = Network(Link(capacity, 50), {"fast": flows})
        run = simulate_packets(network, until, warmup=until / 3, samples=10)
        ticks = 1e-12 / (until * 2 / 3) + 1e-12
        assert float(metrics.utilisation(run)[0]) == pytest.approx(1.0, abs=ticks)
        assert float(run["capacity"][0]) == pytest.approx(capacity, rel=0.5e-12 * capacity)


@pytest.mark.parametrize("numbers", [{"max_window": 1e15}, {"initial_ssthresh": 1e15}])
def test_a_window_without_a_limit_is_no_limit(numbers: dict[str, float]) -> None:
    flows = Flows(1, Reno(), base_rtt=0.04, **numbers)  # type: ignore[arg-type]
    run = simulate_packets(network_of(flows), until=20)
    assert 0.9 < float(metrics.utilisation(run)[0]) <= 1 + 1e-9


def test_the_largest_timers_do_not_wrap() -> None:
    """The first timer, 3 s, expires at 3, 9, 21, 45 and 93 s, and, since a packet sent twice gives
    no sample (Karn), 32 times as long after its ACK at 100 s; from the next ACK on it is 1e5 s.
    """
    flows = Flows(1, Reno(), base_rtt=100.0, min_rto=1e5, max_window=4)
    run = simulate_packets(network_of(flows), until=1e6, samples=11)
    assert float(run["timeouts"].values[-1].sum()) == 6
    assert float(run["delivered"].values[-1].sum()) == pytest.approx(4e4, rel=0.01)


def test_the_longest_round_trip_counts_delays_and_full_queues() -> None:
    links = {"one": Link(10.0, 99, delay=0.5, jitter=0.1), "two": Link(20.0, 49, delay=0.25)}
    flows = Flows(1, Reno(), access_delay=1.0, path=("one", "two"))
    network = Network(links, {"a": flows}, 1000, 1000, (Event(1.0, "one", 3.5),))
    ((_, longest),) = longest_round_trips(network.resolved())
    propagation = 4 * 1.0 + 2 * (3.5 + 0.25)
    queues = (99 + 2) / 10 + 0.1 + (49 + 2) / 20
    assert propagation + queues <= longest <= propagation + 2 * queues + 1


@pytest.mark.parametrize("delays", [(100.0, 0.5), (0.5, 100.0)])
def test_the_longest_round_trip_is_that_of_the_longest_delays(delays: tuple[float, ...]) -> None:
    """All else, 12 packets of 1 ms on the way there and back, takes less than a second."""
    events = tuple(Event(1.0 + n, "bottleneck", delay) for n, delay in enumerate(delays))
    flows = {"a": Flows(1, Reno(), access_delay=1.0)}
    network = Network(Link(1000.0, 10, delay=0.5), flows, events=events)
    ((_, longest),) = longest_round_trips(network.resolved())
    assert 4 * 1.0 + 2 * 100.0 <= longest <= 4 * 1.0 + 2 * 100.0 + 1.0


@pytest.mark.parametrize(
    "network",
    [
        Network(Link(1e-3, 1e6), {"a": Flows(1, Reno(), base_rtt=0.1)}),
        Network(Link(1.0, 1e9), {"a": Flows(1, Reno(), base_rtt=0.1)}),
        Network(Link(1e-6, 10), {"a": Flows(1, Reno(), base_rtt=0.1)}),
        Network(
            {f"l{i}": Link(100.0, 10, delay=1e5) for i in range(20)},
            {"a": Flows(1, Reno(), access_delay=0.0, path=tuple(f"l{i}" for i in range(20)))},
        ),
    ],
)
def test_sums_beyond_the_clock_are_refused(network: Network) -> None:
    with pytest.raises(TooLarge, match=r"flows\.a: .* a round trip takes up to .* faster links"):
        simulate_packets(network, until=5)


def test_a_run_of_days_is_refused() -> None:
    source = OnOff(on=1e-9, off=1e-9, rate=1e10, times="exponential")
    network = network_of(Flows(1, Reno(), base_rtt=0.04, traffic=source))
    assert event_rate(network, "a") == pytest.approx(5.5e9, rel=0.01)
    check_run(network, 10.0)
    with pytest.raises(TooLarge, match="more than 1e\\+11"):
        check_run(network, 1000.0)


def test_large_runs_in_threads_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "allowed_memory", lambda: 100.0)
    running, most = [0], [0]

    def run() -> None:
        with memory.reserved(60, "the run", "wait"):
            running[0] += 1
            most[0] = max(most[0], running[0])
            time.sleep(0.02)
            running[0] -= 1

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    with pytest.raises(TooLarge, match=r"the run would take .* GiB of memory"):
        memory.require_memory(1e300, "the run", "wait")

"""Speed of the packet simulator, compared with ns-2 where it is installed.

    python -m benchmarks.packets [--json] [--full]

The figures are data packets through the bottleneck per CPU second of one core, on Weigle and Feng's
networks 2 and 4 (one way: 200 s, alpha 134 and 89, gentle start), on network 2 with two-way
traffic, and for 1000 flows with random round-trip times; the cost of a packet among 10 000 flows
relative to 100; and the time to compile an engine and to load a compiled one. ns-2 and vegasfluid
take turns, and the median of three counts; without ns-2 it is the best of two. `--full` takes six
turns, and the median of five.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numba
import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_cpu_seconds, ns2_rows
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import compiled
from vegasfluid.packet.simulate import executed

ONE_WAY = {
    2: "net2_oneway_a134_b139_gentle_start",
    4: "net4_oneway_a89_b94_gentle_start",
}
COMPILED = ("one_way", "two_way", "everything")


def best_of(task: Callable[[], float], repeats: int) -> float:
    """The smallest of a few, or the median of many."""
    found = [task() for _ in range(repeats)]
    return statistics.median(found) if repeats > 2 else min(found)


def prepared(network: Network, until: float) -> tuple[float, Callable[[], float]]:
    """Data packets that the links have sent in a run, and a task that reports its CPU seconds."""
    begin = initial_state(network, 1)
    times, kernel = np.array([0.0, until / 4, until]), compiled(begin.rules)
    with executed(network, begin, times, kernel) as sim:  # compiles, and counts
        packets = float(np.sum(sim.flows["sent"] - sim.flows["dropped"]))

    def task() -> float:
        before = time.process_time()
        with executed(network, begin, times, kernel):
            return time.process_time() - before

    return packets, task


def packets_and_seconds(network: Network, until: float, repeats: int) -> tuple[float, float]:
    """Data packets that the links have sent in a run, and its CPU seconds."""
    packets, task = prepared(network, until)
    return packets, best_of(task, repeats)


def both_ways(network: Network) -> Network:
    """Network with the same classes also in the reverse direction."""
    back = {
        f"{name}_back": replace(group, direction="reverse") for name, group in network.flows.items()
    }
    return replace(network, flows={**network.flows, **back})


def crowd(count: int) -> Network:
    """Flows with random round trips over a link that has room for 50 packets of each."""
    rtts = np.random.default_rng(3).uniform(0.02, 0.2, count)
    capacity = 500.0 * count
    aqm = Red(0.05 * capacity, 0.2 * capacity, max_drop=0.1, weight=2e-4)
    flows = Flows(count, Reno(), base_rtt=tuple(rtts), start=UniformStart(1.0), initial_ssthresh=32)
    return Network(Link(capacity, 0.3 * capacity, aqm), {"reno": flows})


def add_networks(figures: Figures, repeats: int) -> None:
    """Add the speed on Weigle and Feng's networks, with one-way and two-way data, and of ns-2."""
    rows = {row.name: row for row in ns2_rows()}
    for number, name in ONE_WAY.items():
        bounds = {"per_cpu_s": 20e6, "times_ns2": 40}
        add_beside_ns2(figures, rows[name], f"network{number}.one_way", bounds, repeats)
    bounds = {"per_cpu_s": 6e6, "times_ns2": 20}
    add_beside_ns2(figures, rows[ONE_WAY[2]], "network2.two_way", bounds, repeats)


def add_beside_ns2(
    figures: Figures, row: NS2Row, name: str, bounds: dict[str, float], repeats: int
) -> None:
    """Ours and ns-2 by turns, and the median of the turns: other load comes and goes."""
    model, two_way = model_of(row), name.endswith("two_way")
    network = both_ways(model.network) if two_way else model.network
    packets, task = prepared(network, model.duration)
    own, ratios = [], []
    for _ in range(repeats + 1):
        own.append(best_of(task, 2))
        if shutil.which("ns"):
            ratios.append(ns2_cpu_seconds(row, two_way=two_way) / own[-1])
    seconds = statistics.median(own)
    figures.add(f"{name}.per_cpu_s", packets / seconds, at_least=bounds["per_cpu_s"])
    if ratios:
        figures.add(f"{name}.times_ns2", statistics.median(ratios), at_least=bounds["times_ns2"])


def add_crowds(figures: Figures, repeats: int) -> None:
    """Many flows with random round trips."""
    costs = {}
    for count, until in ((100, 400.0), (1000, 40.0), (10_000, 8.0)):
        packets, seconds = packets_and_seconds(crowd(count), until, repeats)
        costs[count] = seconds / packets
    figures.add("flows1000.random_rtt.per_cpu_s", 1 / costs[1000], at_least=8e6)
    figures.add("flows10000.cost_over_flows100", costs[10_000] / costs[100], at_most=3)


def example(kind: str) -> Network:
    """A small network that asks for much, or for little."""
    from vegasfluid.congestion.vegas import Vegas
    from vegasfluid.traffic.poisson import Poisson
    from vegasfluid.traffic.sessions import Sessions

    red = Red(5, 15, ecn=kind == "everything")
    classes = {
        "reno": Flows(2, Reno(), base_rtt=0.04),
        "vegas": Flows(2, Vegas(dialect="ns2"), base_rtt=0.04),
    }
    network = Network(Link(1000.0, 20, red), classes)
    if kind == "one_way":
        return network
    network = both_ways(network)
    if kind == "two_way":
        return network
    more = {
        "linux": Flows(2, Vegas(dialect="linux"), base_rtt=0.04, delayed_ack=0.04),
        "brakmo": Flows(2, Vegas(), base_rtt=0.04, traffic=Poisson(0.01), send_overhead=0.001),
        "sack": Flows(2, Reno(recovery="sack"), base_rtt=0.04, traffic=Sessions(0.5, 0.1)),
    }
    link = replace(network.link, jitter=0.001, jitter_reorders=True)
    return replace(network, links={"bottleneck": link}, flows={**network.flows, **more})


def start_seconds(kind: str) -> float:
    """CPU seconds from a prepared network to the end of a run of a millisecond.

    Numba itself has started before: importing its parts is no work of ours.
    """
    numba.njit(lambda x: x + 1)(1)
    network = example(kind)
    begin = initial_state(network, 1)
    before = time.process_time()
    with executed(network, begin, np.array([0.0, 1e-3]), compiled(begin.rules)):
        return time.process_time() - before


def add_compilation(figures: Figures, repeats: int) -> None:
    """Add start times of new processes, with an empty cache and then with a filled one."""
    for kind in COMPILED:
        cold, warm = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(in_fresh_process(kind, folder))
                warm.append(in_fresh_process(kind, folder))
        figures.add(f"compile.{kind}.cold_cpu_s", min(cold), at_most=5)
        figures.add(f"compile.{kind}.kept_cpu_s", min(warm), at_most=0.3)


def in_fresh_process(kind: str, cache: str) -> float:
    """`start_seconds` in a separate process, with a separate cache folder."""
    program = f"from benchmarks.packets import start_seconds; print(start_seconds({kind!r}))"
    environment = {**os.environ, "VEGASFLUID_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def measure(full: bool) -> Figures:
    """All figures."""
    figures, repeats = Figures(), 5 if full else 2
    add_networks(figures, repeats)
    add_crowds(figures, repeats)
    add_compilation(figures, repeats)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

"""Queue disciplines compared with a real Linux kernel, and the fluid model with packets.

    python -m benchmarks.queues [--json] [--full]

The kernel's runs (Linux 6.1 in simulated time, 70 to 90 s; PIE with `tc`'s defaults or a target of
30 ms, CoDel with `tc`'s defaults or a target of 15 ms, `fq` and `fq_codel`; 6 to 20 flows) are in
`tests/agreement/linux_queues.jsonl`. Nothing is fitted to them. The kernel ran each scenario once.
Ours are means over 3 runs (with `--full` 8): over PIE, whose drops are random, with several seeds,
over the others with other start times.

- `NAME.share`: share of the goodput of the second congestion control, `.linux` in the kernel and
  `.packets` in the packet simulator; `NAME.queue` is the mean queue, packets, which is the mean
  queueing delay times the capacity; `NAME.utilisation` that of the link. Differences are relative,
  for the utilisation absolute. `shares.within10`, `queue.within15` and `utilisation.worst` sum up.
- `fluid.NAME`: ratio of the mean goodput of a flow of the second congestion control to that of the
  first one in the fluid model, relative to the packet simulator's; `fluid.pie_median`,
  `fluid.codel_median`, ... are medians of the absolute differences, for CoDel of the scenarios with
  ten flows or more. The scenarios are those with equal round-trip times; flows of one congestion
  control are one class here.
- `pi2.NAME`: the same with PI2 in place of PIE and with its target; there are no runs of a kernel.
  `pi2.median` is the median of the absolute differences.
- `tuned.NAME`: how much worse a recommendation without Vegas is than the best of all settings on
  packets (`benchmarks.queue_tuning`), relative; `tuned.within5` counts those within 5 %.
- `delay_ms.NAME`: mean queueing delay of CoDel and FQ-CoDel, whose target is 5 ms, with 1, 10 and
  50 Reno flows (`benchmarks.codel_delays`).
- `dctcp.NAME`: the sawtooth of DCTCP on step marking (`benchmarks.dctcp_sawtooth`): largest queue
  and amplitude, packets, and the fraction of marked packets, as published, in packets and in the
  fluid; `worst` are relative differences, for amplitude and fraction those of two flows, which are
  in step, and for the fluid those from packets.
- `ns3.NAME`: PIE and CoDel in ns-3 3.44 and in the packet simulator, with ns-3's hosts, 3 runs each
  (`tests/agreement/ns3_queues.jsonl`; `benchmarks.ns3_runs` writes it). `share` is CUBIC's in the
  goodput of a flow of each congestion control, `delay_ms` the mean queue over the capacity,
  `signals` the fraction of packets dropped or marked. `ns3.pie` and `ns3.codel` have the medians of
  the relative differences, and the fraction of scenarios within 10 % (share) and 15 % (delay); the
  difference of the utilisation is absolute. The scenarios were chosen before any run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.codel_delays import add_delays
from benchmarks.dctcp_sawtooth import add_sawteeth
from benchmarks.harness import Figures, run
from benchmarks.linux import Measured, measured
from benchmarks.linux_scenarios import network_of
from benchmarks.ns2_rows import ROOT
from benchmarks.ns2_scenarios import reference_runs
from benchmarks.ns3_queues import add_ns3
from benchmarks.queue_tuning import add_cases
from vegasfluid import Pi2, Pie, metrics, simulate_fluid, simulate_packets
from vegasfluid.network import Network

__all__ = ["QUEUES", "Pair", "compared", "name_of", "runs_of", "share_of"]

QUEUES: Path = ROOT / "tests" / "agreement" / "linux_queues.jsonl"
"""The kernel's runs."""
TEN = 10
"""Flows from which on the fluid model of CoDel is compared with packets."""
LARGEST = {"pie": 0.08, "codel": 0.12, "fq": 0.02, "fq_codel": 0.02}
"""Median difference of the fluid model's ratios of goodputs from packets that is allowed."""
SEEDS, FULL_SEEDS = 3, 8
"""Number of runs of the packet simulator."""
LATER = 0.02
"""How much later the second and further flows start from run to run where nothing is random, s
(chosen: less than a round-trip time)."""


class Pair(NamedTuple):
    """A value in the kernel and in the packet simulator."""

    linux: float
    packets: float

    @property
    def difference(self) -> float:
        """Relative difference of the packet simulator's value from the kernel's."""
        return self.packets / self.linux - 1


def name_of(scenario: Mapping[str, Any]) -> str:
    """Name of a scenario: queue, rate, round-trip time, congestion controls, Vegas's alpha, ECN."""
    queue, algos = scenario["queue"], [flow["algo"] for flow in scenario["flows"]]
    kinds = "_".join(f"{algos.count(algo)}{algo}" for algo in dict.fromkeys(algos))
    rtt = "mixed" if "rtt_ms" in scenario["flows"][0] else f"{scenario['rtt_ms']}ms"
    alpha = f"_alpha{scenario['vegas']['alpha']}" if "vegas" in algos else ""
    link = f"{queue['kind']}{queue.get('target', '')}_{scenario['mbps']}mbps_{rtt}"
    return f"{link}.{kinds}{alpha}{'_ecn' if scenario['ecn'] else ''}"


def means_of(algos: list[str], goodput: np.ndarray) -> np.ndarray:
    """Mean goodput of a flow of each congestion control, in the order in which they come; (2,)."""
    kinds = np.array(algos)
    return np.array([np.mean(goodput[kinds == kind]) for kind in dict.fromkeys(algos)])


def share_of(algos: list[str], goodput: np.ndarray) -> float:
    """Share of the second congestion control in the goodput of all flows."""
    means = means_of(algos, goodput)
    return float(means[1] / np.sum(means))  # as many flows of each


def compared(row: dict[str, Any], runs: list[Measured]) -> dict[str, Pair]:
    """Share of the second congestion control, mean queue and utilisation of kernel and packets.

    Args:
        row: a run of the kernel.
        runs: ours, with several seeds.
    """
    algos = [flow["algo"] for flow in row["scenario"]["flows"]]
    theirs = np.array([flow["goodput_mbps"] for flow in row["flows"]])
    ours = np.mean([each.goodput for each in runs], axis=0)
    queue = float(np.mean([each.queue for each in runs]))
    used = float(np.mean([each.utilisation for each in runs]))
    return {
        "share": Pair(share_of(algos, theirs), share_of(algos, ours)),
        "queue": Pair(row["queue"]["mean_pkts"], queue),
        "utilisation": Pair(row["queue"]["util"], used),
    }


def runs_of(row: dict[str, Any], count: int) -> list[Measured]:
    """As many runs of the packet simulator as in `count`, on the network of a run of the kernel.

    They have other seeds; over CoDel, where nothing is random, flows start at other times, too.
    """
    random = row["scenario"]["queue"]["kind"] == "pie"
    return [
        measured(row, late=0.0 if random else number * LATER, seed=number + 1)
        for number in range(count)
    ]


def grouped(scenario: Mapping[str, Any]) -> Network:
    """The network of a scenario with one class for each congestion control."""
    network = network_of(scenario)
    starts: dict[str, list[float]] = {}
    first = {}
    for flow, flows in zip(scenario["flows"], network.flows.values(), strict=True):
        starts.setdefault(flow["algo"], []).append(float(flow["start"]))
        first.setdefault(flow["algo"], flows)
    classes = {
        algo: replace(first[algo], count=len(times), start=tuple(times))
        for algo, times in starts.items()
    }
    return replace(network, flows=classes)


def fluid_ratio(network: Network, scenario: Mapping[str, Any]) -> float:
    """Ratio of the mean goodputs of both congestion controls, second to first, in the fluid.

    The network has a class for each, and the times are those of the scenario.
    """
    data = simulate_fluid(network, scenario["duration"], warmup=scenario["warmup"])
    first, second = metrics.goodput(data).values
    return float(second / first)


def over_pi2(scenario: Mapping[str, Any]) -> Network:
    """The network of a scenario with one class for each congestion control, over PI2."""
    network = grouped(scenario)
    links = {
        name: replace(link, aqm=Pi2(target=link.aqm.target)) if isinstance(link.aqm, Pie) else link
        for name, link in network.links.items()
    }
    return replace(network, links=links)


def pi2_difference(scenario: Mapping[str, Any], seeds: int) -> float:
    """Relative difference of the fluid's ratio of goodputs over PI2 from the packet simulator's.

    Packets are means over this number of seeds.
    """
    network, until, warmup = over_pi2(scenario), scenario["duration"], scenario["warmup"]
    packets = np.mean(
        [
            metrics.goodput(simulate_packets(network, until, warmup=warmup, seed=seed + 1)).values
            for seed in range(seeds)
        ],
        axis=0,
    )
    return float(fluid_ratio(network, scenario) / (packets[1] / packets[0]) - 1)


def measure(full: bool) -> Figures:
    """Return the comparison with the kernel, and that of the fluid model with packets."""
    figures = Figures()
    pairs: dict[str, dict[str, Pair]] = {}
    fluid, pi2, seeds = {}, {}, FULL_SEEDS if full else SEEDS
    kinds: dict[str, list[str]] = {}
    for row in reference_runs(QUEUES):
        scenario = row["scenario"]
        name, algos = name_of(scenario), [flow["algo"] for flow in scenario["flows"]]
        runs = runs_of(row, seeds)
        pairs[name] = compared(row, runs)
        if "rtt_ms" not in scenario["flows"][0]:
            means = means_of(algos, np.mean([each.goodput for each in runs], axis=0))
            fluid[name] = fluid_ratio(grouped(scenario), scenario) / (means[1] / means[0]) - 1
            kind = scenario["queue"]["kind"]
            if kind != "codel" or len(algos) >= TEN:
                kinds.setdefault(kind, []).append(name)
            if scenario["queue"]["kind"] == "pie":
                pi2[name] = pi2_difference(scenario, seeds)
    shares = np.abs([each["share"].difference for each in pairs.values()])
    queues = np.abs([each["queue"].difference for each in pairs.values()])
    used = [abs(each["utilisation"].packets - each["utilisation"].linux) for each in pairs.values()]
    figures.add("shares.within10", float(np.mean(shares < 0.1)), at_least=0.8)
    figures.add("queue.within15", float(np.mean(queues < 0.15)), at_least=0.9)
    figures.add("utilisation.worst", max(used), at_most=0.02)
    for kind, names in kinds.items():
        median = float(np.median([abs(fluid[name]) for name in names]))
        figures.add(f"fluid.{kind}_median", median, at_most=LARGEST[kind])
    figures.add("pi2.median", float(np.median(np.abs(list(pi2.values())))), at_most=0.08)
    for name, values in pairs.items():
        for what, pair in values.items():
            figures.add(f"{name}.{what}.linux", pair.linux)
            figures.add(f"{name}.{what}.packets", pair.packets)
    for name, difference in fluid.items():
        figures.add(f"fluid.{name}", difference)
    for name, difference in pi2.items():
        figures.add(f"pi2.{name}", difference)
    add_sawteeth(figures)
    add_cases(figures)
    add_delays(figures)
    add_ns3(figures)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

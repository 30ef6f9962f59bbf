"""The packet simulator compared with a real Linux 6.1 kernel in simulated time.

    python -m benchmarks.linux [--json] [--full]

The kernel's runs are in `tests/agreement/linux_runs.jsonl` and `linux_design.jsonl`. Goodput is in
Mbit/s of payload, window and queue are in packets; `.linux` is the kernel, `.packets` the packet
simulator, and `.difference` is relative. The packet simulator's hosts are `host = "linux"`, and no
value is fitted to these runs.

- One Reno and one Vegas flow over drop-tail, by Vegas's alpha. Ours is the mean over start times
  of the second flow (5, with `--full` 21, as in the tests), because the order of a few packets
  decides which round-trip time Vegas takes for the smallest.
- Vegas alone, by alpha: window and queue.
- Reno and Vegas alone without jitter, with jitter that reorders packets, and with jitter that does
  not. With that, single runs of Vegas have 38 to 88 Mbit/s in the kernel, too: medians over seeds.
- A designed set: one flow alone, and Reno, CUBIC and Vegas beside each other, over drop-tail and
  RED, with equal and mixed round-trip times. A ratio is the mean goodput of a flow of one over that
  of the other, the mean of the kernel's runs and of six of ours; `designed.all` has all ratios,
  `designed.repeatable` those where the kernel's own runs agree to 5 %, `designed.red` and
  `designed.droptail` those over one queue discipline. Not among them: the queue disciplines CoDel,
  PIE, `fq` and `fq_codel`, which `benchmarks.queues` compares.
- Random sets (`random.*`, the same figures): 60 scenarios, drawn and run after the simulator was
  written: two congestion controls, 1 to 5 flows each, 5 to 60 Mbit/s, 10 to 160 ms. Over drop-tail,
  where nothing is random, the kernel's runs and ours differ in start times (all flows but the first
  start up to 51 ms later), over RED in the seed. `random_later.*` are 60 more of these kinds, drawn
  and run on 2026-11-30, after the last changes of the simulator.
- Recommendations (`recommend.*`): random networks written with `dialect = "linux"` only, tuned, and
  run in the kernel with the recommended alpha and beta (`benchmarks.linux_recommend`). `.promised`
  are those of which `recommend` reports that the goal, equal goodputs, is reached; `.fair` the
  fraction of them with a ratio of 0.9 to 1.1 in the kernel, `.out_of_reach` the fraction of the
  others with a ratio outside that in the kernel, too, and `.right` that of all networks which are
  fair in the kernel, or neither promised nor above 1.1 there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.linux_recommend import FAIR, RECOMMENDED, is_fair
from benchmarks.linux_scenarios import PAYLOAD_BYTES, network_of
from benchmarks.ns2_rows import ROOT
from benchmarks.ns2_scenarios import reference_runs
from vegasfluid import metrics, simulate_packets

__all__ = ["DESIGN", "LATE", "RANDOM", "RUNS", "STARVED", "STARVED_IN_KERNEL", "Compared"]
__all__ += ["Measured", "compared", "measured", "scenarios", "with_jitter"]

RUNS: Path = ROOT / "tests" / "agreement" / "linux_runs.jsonl"
DESIGN: Path = ROOT / "tests" / "agreement" / "linux_design.jsonl"
RANDOM: Path = ROOT / "tests" / "agreement" / "linux_random.jsonl"
REPEATABLE = 0.05
"""Largest relative difference of the kernel's own ratios between seeds."""
LATE = np.linspace(0.0, 0.2, 21)
"""Start times of the second flow, s, over which our results are averaged."""
EVERY = 5
"""Step between these start times in the quick version."""


class Measured(NamedTuple):
    """What a run gave.

    Args:
        goodput: Mbit/s of payload of each flow.
        cwnd: mean window of each flow, packets.
        queue: mean queue, packets.
        utilisation: of the link, 0 to 1.
    """

    goodput: np.ndarray
    cwnd: np.ndarray
    queue: float
    utilisation: float


def measured(reference: dict[str, Any], late: float = 0.0, seed: int = 1) -> Measured:
    """A run of the packet simulator on the network of a reference run.

    Args:
        reference: a row of the kernel's runs.
        late: how much later than there the second flow starts, s.
        seed: of the simulator; jitter is random.
    """
    scenario = reference["scenario"]
    data = simulate_packets(
        network_of(scenario, late),
        scenario["duration"],
        warmup=scenario["warmup"],
        samples=10 * int(scenario["duration"]) + 1,
        seed=seed,
    )
    goodput = metrics.goodput(data).values * PAYLOAD_BYTES * 8e-6
    cwnd = metrics.time_mean(data, "cwnd").values
    queue, used = float(metrics.mean_queue(data)[-1]), float(metrics.utilisation(data)[-1])
    return Measured(goodput, cwnd, queue, used)


def beside_reno(rows: list[dict[str, Any]], late: np.ndarray) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's goodput and ours (Mbit/s) of Vegas and Reno over drop-tail."""
    for row in rows:
        means = np.mean([measured(row, float(each)).goodput for each in late], axis=0)
        for flow, reference, goodput in zip(
            row["scenario"]["flows"], row["flows"], means, strict=True
        ):
            name = f"beside.alpha{row['meta']['a']}.{flow['algo']}.goodput_mbps"
            yield name, reference["goodput_mbps"], float(goodput)


def alone(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's value and ours of a single Vegas flow: window and queue, packets."""
    for row in rows:
        run, name = measured(row), f"alone.alpha{row['meta']['a']}"
        yield f"{name}.cwnd_packets", row["flows"][0]["cwnd"], float(run.cwnd[0])
        yield f"{name}.queue_packets", row["queue"]["mean_pkts"], run.queue


SEEDS = range(1, 25)
"""Seeds of runs with jitter."""
STARVED = "both_ordered", "vegas"
"""Jitter that keeps the order, and the congestion control that it starves."""
STARVED_IN_KERNEL = (
    *(42.8, 87.3, 37.5, 43.1, 53.4, 44.0, 88.0, 87.5),
    *(44.2, 38.1, 45.8, 53.2, 53.5, 42.5, 88.4),
)
"""Goodput, Mbit/s, of the kernel's Vegas with jitter that keeps the order, seeds 1 to 15: the base
RTT that the first packets find decides, and takes a few values."""
OWN_RUNS = 6
"""Runs of ours that a ratio is the mean of."""
SHIFT = 0.05
"""Largest shift of a flow's start in those beyond the kernel's runs, s."""


def with_jitter(row: dict[str, Any]) -> float:
    """The goodput of the first flow, Mbit/s; with jitter the median over the seeds."""
    seeds = SEEDS if row["scenario"]["jitter_ms"] else SEEDS[:1]
    return float(np.median([measured(row, seed=seed).goodput[0] for seed in seeds]))


def jittered(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Yield name, Linux's goodput and ours (Mbit/s) of one flow with jitter."""
    for row in rows:
        kind = row["meta"]["jit"], row["meta"]["algo"]
        kernel = row["flows"][0]["goodput_mbps"]
        if kind == STARVED:
            kernel = float(np.median(STARVED_IN_KERNEL))
        yield f"jitter.{'.'.join(kind)}.goodput_mbps", kernel, with_jitter(row)


class Compared(NamedTuple):
    """A scenario of the designed set with all of its seeds.

    Args:
        name: what it is.
        kernel: ratio of the mean goodputs of the two congestion controls in each run of the kernel.
        ratio: ours, the mean of `OWN_RUNS` runs; NaN for a flow alone.
        queues: mean queue over the kernel's runs and over ours, packets.
        utilisations: the same of the utilisation of the link.
    """

    name: str
    kernel: np.ndarray
    ratio: float
    queues: tuple[float, float]
    utilisations: tuple[float, float]

    @property
    def difference(self) -> float:
        """Relative difference of our ratio from the mean of the kernel's."""
        return self.ratio / float(np.mean(self.kernel)) - 1

    @property
    def repeatable(self) -> bool:
        """Whether the kernel was run several times, and its ratios agree."""
        return len(self.kernel) > 1 and np.ptp(self.kernel) <= REPEATABLE * np.mean(self.kernel)


def name_of(scenario: dict[str, Any]) -> str:
    """Name of a scenario without its seed: rate, delay, queue, flows and Vegas's alpha."""
    queue, algos = scenario["queue"], [flow["algo"] for flow in scenario["flows"]]
    kinds = "_".join(f"{algos.count(algo)}{algo}" for algo in dict.fromkeys(algos))
    rtts = "mixed" if "rtt_ms" in scenario["flows"][0] else f"{scenario['rtt_ms']}ms"
    where = f"{queue['kind']}{queue['limit']}_{scenario['mbps']}mbps_{rtts}"
    alpha = f"_alpha{scenario['vegas']['alpha']}" if "vegas" in algos else ""
    return f"{where}.{kinds}{alpha}"


def ratio_of(algos: list[str], goodput: np.ndarray) -> float:
    """Mean goodput of the flows of the second kind over that of the first; NaN for one kind."""
    kinds = list(dict.fromkeys(algos))
    if len(kinds) < 2:
        return float("nan")
    means = [np.mean([g for a, g in zip(algos, goodput, strict=True) if a == k]) for k in kinds]
    return float(means[1] / means[0])


def compared(rows: list[dict[str, Any]]) -> Compared:
    """The kernel's runs of one scenario, which differ in seed and start times, and ours."""
    algos = [flow["algo"] for flow in rows[0]["scenario"]["flows"]]
    given = [{"warmup": row["scenario"]["duration"] / 4, **row["scenario"]} for row in rows]
    ours = [
        measured({"scenario": scenario}, seed=1 + number)
        for number, scenario in enumerate(variants(given))
    ]
    theirs = [np.array([flow["goodput_mbps"] for flow in row["flows"]]) for row in rows]
    return Compared(
        name_of(given[0]),
        np.array([ratio_of(algos, each) for each in theirs]),
        float(np.mean([ratio_of(algos, each.goodput) for each in ours])),
        (mean_of(rows, "mean_pkts"), float(np.mean([each.queue for each in ours]))),
        (mean_of(rows, "util"), float(np.mean([each.utilisation for each in ours]))),
    )


def variants(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """`OWN_RUNS` scenarios: those of the kernel's runs, then the same with other start times.

    Over drop-tail the order of single packets decides, which start times change.
    """
    random = np.random.default_rng(1)
    for number in range(OWN_RUNS):
        scenario = given[number % len(given)]
        if number >= len(given):
            starts = [(flow.get("start") or 0.0, flow) for flow in scenario["flows"]]
            flows = [
                {**flow, "start": start + float(random.uniform(0, SHIFT))} for start, flow in starts
            ]
            scenario = {**scenario, "flows": flows}
        yield scenario


def mean_of(rows: list[dict[str, Any]], key: str) -> float:
    """Mean over the kernel's runs of a value of the queue, such as `mean_pkts`."""
    return float(np.mean([row["queue"][key] for row in rows]))


def scenarios(runs: Path, tag: str | None = None) -> list[Compared]:
    """All scenarios of a set of runs, `DESIGN` or `RANDOM`; or only those with a `tag`."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in reference_runs(runs):
        if tag not in (None, row["tag"]):
            continue
        groups.setdefault(name_of(row["scenario"]), []).append(row)
    return [compared(rows) for rows in groups.values()]


def add_set(figures: Figures, name: str, runs: list[Compared]) -> None:
    """Add the fractions of a set of scenarios that are close to the kernel, and every difference.

    Args:
        figures: what they are added to.
        name: of the set.
        runs: its scenarios.
    """
    ratios = [each for each in runs if not np.isnan(each.ratio)]
    for part, chosen in (
        ("all", ratios),
        ("repeatable", [each for each in ratios if each.repeatable]),
        ("red", [each for each in ratios if each.name.startswith("red")]),
        ("droptail", [each for each in ratios if each.name.startswith("pfifo")]),
    ):
        differences = np.abs([each.difference for each in chosen])
        figures.add(f"{name}.{part}.ratios", len(chosen))
        for within, bound in ((10, 0.8), (20, 0.95)):
            wanted = bound if part == "repeatable" else None
            fraction = float(np.mean(differences < within / 100))
            figures.add(f"{name}.{part}.within{within}", fraction, at_least=wanted)
    queues = [abs(each.queues[1] / each.queues[0] - 1) for each in runs]
    used = [abs(each.utilisations[1] - each.utilisations[0]) for each in runs]
    figures.add(f"{name}.queue.within10", float(np.mean(np.less(queues, 0.1))), at_least=0.9)
    figures.add(f"{name}.utilisation.within1", float(np.mean(np.less(used, 0.01))), at_least=0.9)
    for each in ratios:
        figures.add(f"{name}.{each.name}.linux", float(np.mean(each.kernel)))
        figures.add(f"{name}.{each.name}.packets", each.ratio)
        figures.add(f"{name}.{each.name}.difference", each.difference)


def add_recommended(figures: Figures) -> None:
    """Add how often the kernel confirms a recommendation, and its ratios and ours."""
    rows = list(reference_runs(RECOMMENDED))
    promised = [row["kernel"] for row in rows if row["reached"]]
    others = [row["kernel"] for row in rows if not row["reached"]]
    figures.add("recommend.networks", len(rows))
    figures.add("recommend.promised", len(promised))
    figures.add("recommend.fair", float(np.mean([*map(is_fair, promised)])), at_least=0.9)
    figures.add("recommend.out_of_reach", 1 - float(np.mean([*map(is_fair, others)])))
    right = [*map(is_fair, promised), *(each <= FAIR[1] for each in others)]
    figures.add("recommend.right", float(np.mean(right)), at_least=0.9)
    for row in rows:
        name = f"recommend.{row['number']}"
        figures.add(f"{name}.linux", row["kernel"])
        figures.add(f"{name}.packets", row["packets"])


def measure(full: bool) -> Figures:
    """Return all comparisons: the largest differences, and each value."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in reference_runs(RUNS):
        rows.setdefault(row["tag"], []).append(row)
    late = LATE if full else LATE[::EVERY]
    figures = Figures()
    parts: tuple[tuple[str, Callable[[], Iterator[tuple[str, float, float]]], float], ...] = (
        ("beside", lambda: beside_reno(rows["e1"], late), 0.15),
        ("alone", lambda: alone(rows["nv"]), 0.05),
        ("jitter", lambda: jittered(rows["e3"]), 0.10),
    )
    for part, compared, bound in parts:
        values = list(compared())
        worst = max(abs(packets / linux - 1) for _, linux, packets in values)
        figures.add(f"{part}.worst", worst, at_most=bound)
        for name, linux, packets in values:
            figures.add(f"{name}.linux", linux)
            figures.add(f"{name}.packets", packets)
            figures.add(f"{name}.difference", packets / linux - 1)
    add_set(figures, "designed", scenarios(DESIGN))
    add_set(figures, "random", scenarios(RANDOM, "random"))
    add_set(figures, "random_later", scenarios(RANDOM, "random later"))
    add_recommended(figures)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

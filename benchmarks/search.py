"""The search for settings, compared with minimisers of other libraries on the same objective.

    python -m benchmarks.search [--json] [--full]

All times are CPU seconds of one process in which everything is compiled. Peers are SciPy's
Nelder-Mead (from the model's parameters, and as `nelder_mead_near` from our initial guess) and
differential evolution, and Optuna's TPE (dependency group `benchmarks`). They use runs without
derivatives, which are cheaper. NaN means not reached.

One parameter: (log ratio)^2 over log(alpha) on the papers' networks. `evaluations` and `cpu_s`
count until |log ratio| is first below 0.001, and `all_...` until the search ends by its own
criterion (TPE has none), after at most 200 evaluations (with `--full` 4000, TPE 200).
`ours_by_derivatives` is Newton's method from the same initial guess, `root_finder` is SciPy's
brentq for log(ratio) over the whole range, and `nelder_mead_wide` starts at alpha = 1 like
Nelder-Mead, but with a step of 1 in place of SciPy's 0.00025 (its choice where a number, here
log(1), is 0).

Four parameters: alpha, RED's thresholds and max_drop, for the smallest queueing delay at a ratio of
1 and a utilisation of 98 %, on small networks with round-trip times of 20 and 60 ms. Peers minimise
log(delay) with a penalty until they are within 1 % of our delay and satisfy the constraints, for at
most 1000 evaluations (`--full`: 4000). `times_faster` of those that fail counts what they used.
`delay_over_ours` is the best of a peer.

The papers' grid: Weigle and Feng search alpha and beta by brute force (LA-UR-01-3420, section 3)
without stating the size of the grid. They tried values up to 1000 (4.3), in pairs that differ by 5
(4.3, 4.4). Here the grid is (5, 10), (10, 15), ..., (1000, 1005) with one run each: the smallest of
its kind, with one beta. The CPU time of a run is the median of ns-2's reference runs; that of the
recommendation is of the whole process with compiled programs in the cache. `--full` does all of the
papers' networks.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.harness import Figures, child_seconds, run
from benchmarks.main_job import NETWORK_2, timed
from benchmarks.ns2_rows import ROOT, ns2_cpu_seconds, ns2_rows
from benchmarks.objectives import FourParameters, OneParameter, job_of, small
from benchmarks.peers import PEERS, Spent, Trace, optuna_is_there, spent_by
from vegasfluid import modelfile

TRIALS = 200
"""Largest number of evaluations of TPE with one parameter; in the quick version of the others,
too."""
QUICK = 1000
"""Largest number of evaluations with four parameters in the quick version."""
FULL = 4000
"""Largest number of evaluations with `--full`."""
GRID = len(range(5, 1001, 5))
"""Number of runs of the grid search."""
TIMES = 10
"""Target of our speed relative to the best peer's."""
TIMES_GRID = 100
"""Target of our speed relative to the grid search's."""
NETWORKS = (2, 3, 4)
"""Numbers of the papers' networks."""
NEAR = "_near"
"""Suffix of the peers that start at our initial guess."""


def add_spent(figures: Figures, name: str, spent: Spent) -> None:
    """Add the effort of one search."""
    figures.add(f"{name}.evaluations", spent.evaluations)
    figures.add(f"{name}.cpu_s", spent.cpu_s)
    figures.add(f"{name}.all_evaluations", spent.all_evaluations)
    figures.add(f"{name}.all_cpu_s", spent.all_cpu_s)


def add_comparison(figures: Figures, name: str, ours: Spent, peers: Mapping[str, Spent]) -> None:
    """Add our effort compared with the best of the peers with their own initial guess.

    A peer that was cut short counts with what it used, a lower bound. One that gave up by its own
    criterion does not count.
    """
    independent = [spent for peer, spent in peers.items() if not peer.endswith(NEAR)]
    reached = [effort for effort in independent if effort.reached]
    unfinished = [effort for effort in independent if not effort.reached and not effort.ended]
    counts = [effort.evaluations for effort in reached] + [
        effort.all_evaluations for effort in unfinished
    ]
    seconds = [effort.cpu_s for effort in reached] + [effort.all_cpu_s for effort in unfinished]
    fewest, soonest = min(counts, default=math.nan), min(seconds, default=math.nan)
    figures.add(f"{name}.times_fewer_evaluations", fewest / ours.evaluations, at_least=1)
    figures.add(f"{name}.times_faster", soonest / ours.cpu_s, at_least=TIMES)
    if ended := [effort.all_cpu_s for effort in reached if effort.ended]:
        figures.add(f"{name}.times_faster_to_the_end", min(ended) / ours.all_cpu_s)
    for peer, spent in peers.items():
        if peer.endswith(NEAR):
            figures.add(f"{name}.times_faster_than_{peer}", spent.cpu_s / ours.cpu_s)


def by_peers(
    objective: OneParameter | FourParameters, trace: Callable[[str], Trace]
) -> dict[str, Spent]:
    """Return the effort of every peer, and of Nelder-Mead from our initial guess, too."""
    starts = {"": objective.start, NEAR: objective.near()}
    names = ["nelder_mead", f"nelder_mead{NEAR}", *list(PEERS)[1:]]
    efforts = {}
    for name in names:
        if name == "tpe" and not optuna_is_there():
            continue
        start = starts[NEAR if name.endswith(NEAR) else ""]
        method = partial(PEERS[name.removesuffix(NEAR)], bounds=objective.bounds, start=start)
        efforts[name] = spent_by(method, trace(name))
    return efforts


def add_one_knob(figures: Figures, number: int, most: int) -> None:
    """Add all searches with one parameter on one of the papers' networks."""
    model = modelfile.load(ROOT / "models" / f"weigle_feng_network{number}.toml")
    objective = OneParameter(job_of(model.network, model.duration, model.warmup))

    def trace(name: str) -> Trace:
        is_tpe = name == "tpe"
        return Trace(objective.evaluate, TRIALS if is_tpe else most, until_good=is_tpe)

    methods = {
        "ours": objective.by_ours,
        "ours_by_derivatives": objective.by_newton,
        "root_finder": objective.by_root_finder,
        "nelder_mead_wide": objective.by_wide_simplex,
    }
    for method in methods.values():  # compiles
        spent_by(method, trace(""))
    efforts = {name: spent_by(method, trace(name)) for name, method in methods.items()}
    peers = by_peers(objective, trace)
    name = f"one_knob.network{number}"
    for each, spent in (efforts | peers).items():
        add_spent(figures, f"{name}.{each}", spent)
    add_comparison(figures, name, efforts["ours"], peers)
    for each in ("root_finder", "nelder_mead_wide"):
        figures.add(f"{name}.times_faster_than_{each}", efforts[each].cpu_s / efforts["ours"].cpu_s)


def add_four_knobs(figures: Figures, name: str, rtt: float, most: int) -> None:
    """Add all searches with four parameters on a small network."""
    objective = FourParameters(small(rtt), 60.0)
    objective.evaluate(objective.start)  # compiles
    best = objective.solved(Trace(objective.evaluate))
    objective.delay = objective.problem.log_delay(best)[0]
    ours = spent_by(objective.solved, Trace(objective.evaluate))
    peers = by_peers(objective, lambda name: Trace(objective.evaluate, most, until_good=True))
    add_spent(figures, f"{name}.ours", ours)
    for each, spent in peers.items():
        add_spent(figures, f"{name}.{each}", spent)
        ratio = math.exp(spent.least - objective.delay)
        figures.add(f"{name}.{each}.delay_over_ours", ratio)
    add_comparison(figures, name, ours, peers)


def recommendation_seconds(number: int, cache: str) -> tuple[float, float]:
    """Return the CPU and wall seconds of `vegasfluid recommend` with a filled cache."""
    path = NETWORK_2.replace("2", str(number))
    timed(["recommend", path, "--json"], cache)
    before = child_seconds()
    wall, _ = timed(["recommend", path, "--json"], cache)
    return child_seconds() - before, wall


def add_grid(figures: Figures, number: int, cache: str) -> None:
    """Add the CPU time of a recommendation and that of a grid search with ns-2."""
    rows = [row for row in ns2_rows() if row.network == number and not row.gentle_start]
    ns2 = statistics.median(row.cpu_s for row in rows)
    cpu, wall = recommendation_seconds(number, cache)
    name = f"grid.network{number}"
    figures.add(f"{name}.ns2_run_cpu_s", ns2)
    if number == 2 and shutil.which("ns"):
        row = next(row for row in rows if row.alpha == 134)
        figures.add(f"{name}.ns2_run_here_cpu_s", ns2_cpu_seconds(row, two_way=False))
    figures.add(f"{name}.ns2_runs", GRID)
    figures.add(f"{name}.ns2_cpu_s", GRID * ns2)
    figures.add(f"{name}.recommend_cpu_s", cpu)
    figures.add(f"{name}.recommend_wall_s", wall)
    figures.add(f"{name}.recommend_in_ns2_runs", cpu / ns2)
    figures.add(f"{name}.times_faster", GRID * ns2 / cpu, at_least=TIMES_GRID)


def measure(full: bool) -> Figures:
    """Return figures of both objectives, and of the grid."""
    figures = Figures()
    most = FULL if full else QUICK
    for number in NETWORKS if full else (2,):
        add_one_knob(figures, number, FULL if full else TRIALS)
    for rtt_ms in (20, 60):
        add_four_knobs(figures, f"four_knobs.{rtt_ms}ms", rtt_ms / 1000, most)
    with tempfile.TemporaryDirectory() as temporary:
        cache = os.environ.get("VEGASFLUID_CACHE_DIR", temporary)
        for number in NETWORKS:
            add_grid(figures, number, cache)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

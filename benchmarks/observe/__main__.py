"""`observe` compared with networks that a real Linux 6.1 kernel ran.

    python -m benchmarks.observe [--json] [--full]

The traces (`benchmarks.observe.traces`) are of random networks: 1 to 100 Mbit/s, 5 to 100 ms, 1 to
12 flows of one or two of Reno, CUBIC and Vegas, drop-tail, RED and CoDel, 60 s. Each is read in
three forms: a loop of `ss -tin` ten times a second at the measured senders (`ss.*`), the same with
`tc -s -j qdisc` once a second on the router (`tc.*`), and reports of iperf3 (`iperf3.*`).

`.within` are fractions of the known numbers near the true ones: capacity 2 %, mean base RTT of a
class 1 ms or 2 %, buffer of a drop-tail queue 15 %, flows that were not measured 1 or 20 %;
`.covered` fractions whose 90 % interval contains the true number; `.known` fractions of the
networks where the number is known. `later.*` are the same figures of 37 networks that were run
after the numbers of `observe` had been chosen, but those for base RTTs. `queue.right` is the
fraction of the classified queues that are drop-tail or drop early, as estimated, `others.kind` that
of the networks in which the congestion control that is assumed for flows that were not measured is
the commonest of them. `loop.*` are
recommendations from `ss` and `tc`, run in the kernel (`benchmarks.observe.closed_loop`): `.fair` is
the fraction with a ratio of 0.85 to 1.15 there, of those (`.promised`) of which `recommend` reports
that its goal, equal goodputs, is reached, `.kept` that with a ratio of 0.8 to 1.25, which it
promises for models with ranges, and `.all_fair` the fair ones of all. Without `--full`, every third
network.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.linux_recommend import is_fair
from benchmarks.observe.closed_loop import FAIR, PROMISED, rows
from benchmarks.observe.forms import FORMS, written
from benchmarks.observe.networks import PACKET_BITS
from benchmarks.observe.traces import Trace, traces
from vegasfluid import observe
from vegasfluid.errors import InvalidInput
from vegasfluid.observe import NetworkEstimate

__all__ = ["compared", "found_in", "measure"]

CAPACITY, BUFFER, COUNT = 0.02, 0.15, 0.2
"""Relative errors that count as right."""
DELAY, ONE = 1e-3, 1.0
"""Absolute errors that count as right, too: of a base RTT, s, and of a number of flows."""
CHOSEN_ON = 60
"""Number of the last network on which numbers of `observe` were chosen."""
EVERY = 3
"""Step between the networks of the quick version."""
DROP_TAIL = "droptail"
Outcome = tuple[str, bool]
"""Name of a figure and whether a network counts for it."""


def found_in(trace: Trace, form: str) -> NetworkEstimate:
    """What `observe` finds in a trace, read in one of `FORMS`.

    Raises:
        InvalidInput: if it finds nothing, as no flow has enough samples.
    """
    with TemporaryDirectory() as folder:
        return observe.estimate(observe.read_files(written(trace, form, Path(folder))))


def compared(trace: Trace, found: NetworkEstimate, form: str) -> Iterator[Outcome]:
    """Each number that the trace's network has, with whether the estimate from a form is right."""
    scenario = trace.scenario
    rate = scenario["mbps"] * 1e6 / PACKET_BITS
    yield from outcomes("capacity", found.capacity, rate, CAPACITY * rate)
    listed = trace.scenario["measured"] if form == "iperf3" else in_listed_order(trace)
    for each in found.classes:
        flows = [scenario["flows"][listed[flow]] for flow in each.flows]
        true = float(np.mean([flow["rtt_ms"] for flow in flows])) * 1e-3
        yield from outcomes("base_rtt", each.base_rtt, true, max(DELAY, CAPACITY * true))
    is_drop_tail = scenario["queue"]["kind"] == "pfifo"
    name = found.discipline.name
    yield "queue.known", bool(name)
    if name:
        yield "queue.right", (name in (DROP_TAIL, "pfifo")) == is_drop_tail
    if is_drop_tail and name == DROP_TAIL:
        limit = float(scenario["queue"]["limit"])
        yield from outcomes("buffer", found.buffer, limit, BUFFER * limit)
    hidden = Counter(
        flow["algo"]
        for number, flow in enumerate(scenario["flows"])
        if number not in scenario["measured"]
    )
    others = hidden.total()
    if found.competitors is None:
        yield "others.seen", others == 0
    elif others:
        yield "others.seen", True
        yield from outcomes("others", found.competitors.count, others, max(ONE, COUNT * others))
        yield "others.kind", hidden[found.competitors.control] == max(hidden.values())
    else:
        yield "others.seen", False


def in_listed_order(trace: Trace) -> list[int]:
    """Numbers of the measured flows in the order in which they are listed first."""
    begins = [float(samples["t"][0]) for samples in trace.flows]
    return [trace.scenario["measured"][k] for k in np.argsort(np.round(begins, 1), kind="stable")]


def outcomes(
    name: str, found: observe.estimated.Estimated, true: float, allowed: float
) -> Iterator[Outcome]:
    """Whether a number is known and, if so, near the true one and in its interval."""
    yield f"{name}.known", found.is_known
    if found.value is not None:
        yield f"{name}.within", abs(found.value - true) <= allowed
        yield f"{name}.covered", found.low <= true <= found.high


def add_estimates(
    figures: Figures, form: str, networks: tuple[Trace, ...], prefix: str = ""
) -> None:
    """Fractions of the networks whose estimates are right, for one form of measurements.

    The names of the figures begin with `prefix`.
    """
    counts: dict[str, list[bool]] = defaultdict(list)
    for trace in networks:
        try:
            found = found_in(trace, form)
        except InvalidInput:
            counts["read"].append(False)
            continue
        counts["read"].append(True)
        for name, right in compared(trace, found, form):
            counts[name].append(right)
    for name, right in sorted(counts.items()):
        target = TARGETS.get(name, {}) if form == "ss" else {}
        figures.add(f"{prefix}{form}.{name}", float(np.mean(right)), **target)
        figures.add(f"{prefix}{form}.{name}.of", len(right))


TARGETS = {
    **{
        name: {"at_least": 0.9}
        for name in (
            "capacity.within",
            "base_rtt.within",
            "buffer.within",
            "queue.right",
            "others.within",
        )
    },
    **{
        f"{name}.covered": {"at_least": 0.85, "at_most": 0.95}
        for name in ("capacity", "base_rtt", "buffer", "others")
    },
}
"""Targets of the figures."""


def measure(full: bool) -> Figures:
    """All figures."""
    figures = Figures()
    networks = traces()[:: 1 if full else EVERY]
    for form in FORMS:
        add_estimates(figures, form, tuple(t for t in networks if t.number <= CHOSEN_ON))
    for form in FORMS:
        add_estimates(figures, form, tuple(t for t in networks if t.number > CHOSEN_ON), "later.")
    loop = rows()
    promised = [row for row in loop if row["reached"]]
    figures.add("loop.networks", len(loop))
    figures.add("loop.promised", len(promised))
    every = [is_fair(row["kernel"], FAIR) for row in loop]
    figures.add("loop.all_fair", float(np.mean(every)) if every else float("nan"))
    fair = [is_fair(row["kernel"], FAIR) for row in promised]
    figures.add("loop.fair", float(np.mean(fair)) if fair else float("nan"), at_least=0.85)
    kept = [is_fair(row["kernel"], PROMISED) for row in promised]
    figures.add("loop.kept", float(np.mean(kept)) if kept else float("nan"))
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")

"""What has to be well: libraries, caches, both engines, and that they agree."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from vegasfluid.cli.doctor.environment import missing
from vegasfluid.cli.doctor.short_runs import FLOWS, QUEUE, Outcome, outcome

__all__ = ["Check", "checks", "ran"]

FULL = 0.99
"""Of the link's rate: flows that are never idle use so much of it."""
ALIKE = 0.02
"""By so much the goodputs of the two engines may differ; both fill the link."""
REPORT = "report it with the output of `vegasfluid doctor --json`"
REINSTALL = "pip install --upgrade vegasfluid, in an environment of its own"


class Check(NamedTuple):
    """Something that has to be well.

    Args:
        name: what it is.
        ok: whether it is well.
        told: what was found.
        remedy: what to do where it is not.
        seconds: how long it took; None: no time.
    """

    name: str
    ok: bool
    told: str
    remedy: str
    seconds: float | None = None


def ran() -> dict[str, Outcome]:
    """The outcome of every trial, side by side."""
    with ThreadPoolExecutor(2) as both:
        started = {name: both.submit(outcome, name) for name in ("fluid", "packets")}
        return {name: one.result() for name, one in started.items()}


def checks(
    packages: list[dict[str, Any]], caches: list[dict[str, Any]], trials: dict[str, Outcome]
) -> list[Check]:
    """Everything that was looked at, in the order in which one thing rests on another."""
    found = [
        library_check(packages),
        cache_check(caches),
        engine_check("fluid model", trials["fluid"]),
        engine_check("packet simulator", trials["packets"]),
        agreement(trials),
    ]
    wrong = trials["packets"].numbers.get("files", "no run to write")
    told = wrong or "a run is written, read and drawn"
    return [*found, Check("files and pictures", not wrong, told, REINSTALL)]


def library_check(packages: list[dict[str, Any]]) -> Check:
    """Whether the libraries that vegasfluid asks for are here, and new enough."""
    lacking = missing(packages)
    well = f"{len(packages)} are here" if packages else "not looked at: run from sources"
    return Check("libraries", not lacking, "; ".join(lacking) or well, REINSTALL)


def cache_check(caches: list[dict[str, Any]]) -> Check:
    """Whether compiled code can be kept; without that each command compiles anew, or cannot."""
    shut = [f"{one['path']}: {one['why_not']}" for one in caches if not one["writable"]]
    remedy = "set VEGASFLUID_CACHE_DIR to a folder that you may write to"
    return Check("caches", not shut, "; ".join(shut) or "can be written", remedy)


def engine_check(name: str, of: Outcome) -> Check:
    """Whether an engine gives what theory says."""
    if of.failed:
        return Check(name, False, of.failed, f"{REINSTALL}; if that does not help, {REPORT}")
    queue, used = of.numbers["queue_packets"], of.numbers["utilisation"]
    low, high = QUEUE
    told = f"{FLOWS} flows use {used:.1%} and queue {queue:.1f} packets"
    if not (low <= queue <= high and used >= FULL):
        return Check(name, False, f"{told}; {FULL:.0%} and {low} to {high} are right", REPORT)
    return Check(name, True, told, REPORT, of.seconds)


def agreement(trials: dict[str, Outcome]) -> Check:
    """Whether both engines give flows the same goodput."""
    name, key = "the two agree", "goodput_packets_per_s"
    if any(of.failed for of in trials.values()):
        return Check(name, False, "one of them gave nothing", "see above")
    fluid, packets = (trials[of].numbers[key] for of in ("fluid", "packets"))
    told = f"{fluid:.1f} and {packets:.1f} packets/s a flow"
    return Check(name, abs(fluid / packets - 1) <= ALIKE, told, REPORT)

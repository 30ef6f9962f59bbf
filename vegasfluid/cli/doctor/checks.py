"""Checks of the installation: libraries, caches, both engines and their agreement."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from vegasfluid.cli.doctor.environment import missing
from vegasfluid.cli.doctor.short_runs import QUEUE, Outcome, run_in_process

__all__ = ["Check", "checks", "run_engines"]

MIN_UTILISATION = 0.99
"""Smallest utilisation, 0 to 1, of a link shared by flows that always have data."""
MAX_DIFFERENCE = 0.02
"""Largest relative difference of the goodputs of the two engines, which both fill the link."""
REPORT = "please report this with the output of `vegasfluid doctor --json`"
"""Remedy for what should not happen."""
CACHE_REMEDY = (
    "set VEGASFLUID_CACHE_DIR to a writable folder that is yours alone (chmod go-w), and delete "
    "compiled code that others could have changed by vegasfluid doctor --clear-caches"
)
"""Remedy for a cache that cannot be written, or that others can write to."""
REINSTALL = "pip install --upgrade vegasfluid, in a separate environment"
"""Remedy for broken or old libraries."""


class Check(NamedTuple):
    """Result of one check of the installation: whether it passed, and a remedy.

    Args:
        name: what was checked.
        ok: whether the check passed.
        finding: what was found.
        remedy: what to do if the check failed.
        seconds: computing time of the check, s; None: negligible.
    """

    name: str
    ok: bool
    finding: str
    remedy: str
    seconds: float | None = None


def run_engines() -> dict[str, Outcome]:
    """Short runs of the fluid model and the packet simulator, at the same time.

    Returns:
        `Outcome` of each run by `fluid` and `packets`: its means, or the failure, and its wall
        time (s).
    """
    with ThreadPoolExecutor(2) as both:
        started = {name: both.submit(run_in_process, name) for name in ("fluid", "packets")}
        return {name: future.result() for name, future in started.items()}


def checks(
    packages: list[dict[str, Any]], caches: list[dict[str, Any]], outcomes: dict[str, Outcome]
) -> list[Check]:
    """Results of all checks, in the order in which they depend on each other.

    Args:
        packages: JSON entries of the required libraries, from `environment.packages`.
        caches: JSON entries of the caches of compiled code, from `environment.caches`.
        outcomes: short run of each engine, from `run_engines`.
    """
    found = [
        library_check(packages),
        cache_check(caches),
        engine_check("fluid model", outcomes["fluid"]),
        engine_check("packet simulator", outcomes["packets"]),
        agreement(outcomes),
    ]
    wrong = outcomes["packets"].numbers.get("files", "no run to write")
    finding = wrong or "a run can be written, read and plotted"
    return [*found, Check("files and plots", not wrong, finding, REINSTALL)]


def library_check(packages: list[dict[str, Any]]) -> Check:
    """Check that all required libraries are installed and recent enough.

    `packages` are their JSON entries; if there are none, the check passes.
    """
    lacking = missing(packages)
    finding = f"{len(packages)} found" if packages else "not checked: not installed as a package"
    return Check("libraries", not lacking, "; ".join(lacking) or finding, REINSTALL)


def cache_check(caches: list[dict[str, Any]]) -> Check:
    """Check that the folders for compiled code can be written, and by the user alone.

    Otherwise each command compiles again. `caches` are the JSON entries of the folders.
    """
    failures = [cache["why_not"] for cache in caches if not cache["writable"]]
    finding = "; ".join(dict.fromkeys(failures)) or "writable only by you"
    return Check("caches", not failures, finding, CACHE_REMEDY)


def engine_check(name: str, outcome: Outcome) -> Check:
    """Check that the short run of an engine succeeded, and agrees with theory.

    Its mean queue must be 5 to 25 packets, and the utilisation at least 99 %. `name` is the label
    of the check.
    """
    if outcome.failed:
        return Check(name, False, outcome.failed, f"{REINSTALL}; if that does not help, {REPORT}")
    queue, used = outcome.numbers["queue_packets"], outcome.numbers["utilisation"]
    low, high = QUEUE
    finding = f"utilisation {used:.1%}, mean queue {queue:.1f} packets"
    if not (low <= queue <= high and used >= MIN_UTILISATION):
        return Check(
            name, False, f"{finding}; expected {MIN_UTILISATION:.0%} and {low} to {high}", REPORT
        )
    return Check(name, True, finding, REPORT, outcome.seconds)


def agreement(outcomes: dict[str, Outcome]) -> Check:
    """Check that the fluid goodput of a flow differs from that of the packet run by at most 2 %.

    If one engine failed, so does this check. `outcomes` has `fluid` and `packets`.
    """
    name, key = "engines agree", "goodput_packets_per_s"
    if any(outcome.failed for outcome in outcomes.values()):
        return Check(name, False, "one engine failed", "see above")
    fluid, packets = (outcomes[engine].numbers[key] for engine in ("fluid", "packets"))
    finding = f"{fluid:.1f} and {packets:.1f} packets/s per flow"
    return Check(name, abs(fluid / packets - 1) <= MAX_DIFFERENCE, finding, REPORT)

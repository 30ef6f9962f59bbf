"""Accuracy of the simulators, compared with each other, with ns-2 and with theory.

    python -m benchmarks.agreement [--json] [--full]

Runs `benchmarks.ns2`, `benchmarks.overshoot`, `benchmarks.solo`, `benchmarks.hollot` and
`benchmarks.design` (only the summary of the last); each also runs alone. `--full` takes more seeds,
and the density model where it takes minutes.
"""

from __future__ import annotations

from benchmarks import design, hollot, ns2, overshoot, solo
from benchmarks.harness import Figures, run


def measure(full: bool) -> Figures:
    """All of them."""
    figures = Figures()
    for part in (ns2, overshoot, solo, hollot):
        add_all(figures, part.measure(full))
    summaries = tuple(f"{engine}." for engine in design.ENGINES)
    add_all(figures, design.measure(full), "design.", summaries)
    return figures


def add_all(
    figures: Figures, more: Figures, prefix: str = "", starting: tuple[str, ...] = ("",)
) -> None:
    """Add the figures of another benchmark, or those whose names start with one of some words."""
    for name, value in more.values.items():
        if name.startswith(starting):
            figures.add(prefix + name, value, **more.targets.get(name, {}))


if __name__ == "__main__":
    run(measure, __doc__ or "")

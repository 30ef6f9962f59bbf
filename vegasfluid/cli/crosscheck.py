"""`vegasfluid crosscheck`: a model in independent simulators and Linux kernels, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vegasfluid import modelfile
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.export import operating_points_for
from vegasfluid.cli.output import console, print_json, progress, table
from vegasfluid.crosscheck import Comparison, Crosscheck, own_runs, reference_runs, references
from vegasfluid.quantities import mbps
from vegasfluid.version import package_version

__all__ = ["run"]

INTERVAL = (
    "Interval: the mean of our packet runs, plus or minus the largest of 10% of it, half the "
    "95% confidence interval of the difference of the two means (Welch), and 1 packet (queue) or "
    "0.001 (loss ratio). Undecided: inside the interval, but half the confidence interval is more "
    "than 30% of our mean; increase --runs."
)
"""How an interval is made, in one line."""


def run(
    name: str,
    *,
    against: Sequence[str],
    kernel: Path | None,
    runs: int,
    until: float | None,
    warmup: float | None,
    seed: int,
    as_json: bool,
) -> bool:
    """Cross-check a model; print the comparisons, and return whether none has verdict `outside`.

    Args:
        name: path of a model file, or name of a built-in model.
        against: some of `ns2`, `ns3` and `linux`; empty: all that are installed, `linux` only with
            a kernel.
        kernel: path of a User Mode Linux kernel; None: `linux` is the kernel of this machine.
        runs: packet runs, and runs of each reference.
        until: simulated time, s; None: that of the model.
        warmup: warm-up, s; None: that of the model.
        seed: first seed.
        as_json: whether to print one JSON document instead of text.

    Raises:
        InvalidInput: for an unknown reference, or a kernel that no reference uses.
        NotInstalled: for a reference that is not installed, or if none is.
    """
    chosen = references(against, kernel)
    model = modelfile.read_model(name).with_times(until, warmup)
    seeds = range(seed, seed + runs)
    points = {
        key: operating_points_for(model, reference.format, seed)
        for key, reference in chosen.items()
    }
    keep_compiled_equations()
    with progress("crosscheck") as report:
        others = {}
        for key, reference in chosen.items():
            report(f"{reference.title}, {runs} runs")
            others[key] = reference_runs(model, reference, seeds, points[key])
        report("packet simulator and fluid model")
        own = own_runs(model, seeds)
    checked = {key: Crosscheck(model.network, own, each) for key, each in others.items()}
    if as_json:
        head = {"model": name, "version": package_version(), "seed": seed, "runs": runs}
        times = {"duration_s": model.duration, "warmup_s": model.warmup}
        documents = {key: one.as_json() for key, one in checked.items()}
        print_json(head | times | {"references": documents})
    else:
        console().print(model.title or "model", style="bold")
        console().print(
            f"{runs} runs each, seeds {seed} to {seed + runs - 1}, averages from {model.warmup:g} "
            f"to {model.duration:g} s"
        )
        for one in checked.values():
            show(one)
        console().print(f"\n{INTERVAL}")
    return all(one.worst != "outside" for one in checked.values())


def show(checked: Crosscheck) -> None:
    """Print one reference beside our simulators, its notes, and a verdict on each class."""
    out, network, own = console(), checked.network, checked.own.fluid
    title = checked.others.reference.title
    rows = table("", "fluid", "packets", "interval", title, "verdict", texts=["verdict"])

    def add(label: str, compared: Comparison, fluid: float, scale: float = 1.0) -> None:
        """Add a row; numbers are multiplied by `scale`."""
        low, high = compared.low * scale, compared.high * scale
        rows.add_row(
            label,
            f"{fluid * scale:.4g}",
            f"{compared.packets * scale:.4g}",
            f"{low:.3g} to {high:.3g}",
            f"{compared.reference * scale:.4g}",
            compared.verdict,
        )

    one_mbps = mbps(1.0, network.packet_bytes)
    for index, name in enumerate(network.flows):
        compared = checked.class_comparisons(name)
        add(f"{name}, Mbit/s per flow", compared["goodput"], own.goodput[index], 1 / one_mbps)
        if "ratio" in compared:
            add(f"{name}, ratio to others", compared["ratio"], own.ratio[index])
    for index, name in enumerate(network.links):
        compared = checked.link_comparisons(name)
        add(f"{name}, queue in packets", compared["queue"], own.queue[index])
        add(f"{name}, loss ratio", compared["drop_share"], own.drop_share[index])
    out.print()
    out.print(rows)
    for name, vegas in checked.others.exported.vegas.items():
        if vegas.translated:
            values = ", ".join(f"{key} = {value:g}" for key, value in vegas.values.items())
            out.print(f"Vegas class {name} in {title}: {values}; {vegas.origin}.")
    for note in checked.others.exported.notes:
        out.print(f"Note: {note}")
    for name in network.flows:
        out.print(f"{title}, {name}: {sentence(checked, name)}", style="bold")


def sentence(checked: Crosscheck, name: str) -> str:
    """Verdict on class `name`, with the quantities that are not inside their intervals."""
    misses = checked.misses(name)
    parts = [f"{what} {difference(one)}" for what, one in misses.items()]
    verdict = checked.verdict(name)
    return f"{verdict} ({'; '.join(parts)})." if parts else f"{verdict}."


def difference(compared: Comparison) -> str:
    """How far the reference is from our packet mean, as a phrase such as `12% above ours`.

    `undecided` if that is the verdict; both values if our mean is 0.
    """
    if compared.verdict == "undecided":
        return "undecided"
    if not compared.packets:
        return f"is {compared.reference:.3g}, ours 0"
    relative = compared.reference / compared.packets - 1
    return f"{abs(relative):.0%} {'above' if relative > 0 else 'below'} ours"

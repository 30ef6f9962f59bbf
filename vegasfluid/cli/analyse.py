"""`vegasfluid analyse`: equilibrium, fair alpha, stability, closed forms and proof."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from vegasfluid import modelfile
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium
from vegasfluid.analysis.report import AnalysedEquilibrium, Analysis, NearestAlpha, analyse
from vegasfluid.analysis.simulation_checks import LimitCycle, PacketRatio
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.analysed_formulas import show_formulas, show_latex
from vegasfluid.cli.next_steps import show_tries, show_written
from vegasfluid.cli.output import COMPILING, console, print_json, progress, table
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.errors import Unsupported
from vegasfluid.quantities import mbps
from vegasfluid.trajectory import link_names
from vegasfluid.version import package_version

__all__ = ["packets_line", "run"]

TRIES = (
    "a smaller --ratio; without --ratio the closed forms show the largest",
    "RED thresholds that drop later (recommend --tune-queue), as losses limit the windows",
)
"""Suggestions for a ratio that no alpha gives."""


def run(
    name: str,
    *,
    tune: str | None,
    ratio: float | None,
    latex: bool,
    plot: Path | None,
    certificate: Path | None,
    as_json: bool,
    force: bool = False,
) -> bool:
    """Analyse model `name`, print the result, and write the picture `plot` or the `certificate`.

    `ratio` is the target goodput of a flow of class `tune` (None: the only Vegas class) divided by
    that of a flow of the other classes; None: 1, which need not be reached. `latex` prints the
    closed forms only, `as_json` one JSON document. With `force` files that vegasfluid has not
    written are replaced. Returns False only if `ratio` is given and no alpha reaches it.
    """
    check_target("analyse", "--plot", plot, PICTURES, model=name, force=force)
    check_target("analyse", "--certificate", certificate, (".json",), model=name, force=force)
    model = modelfile.read_model(name)
    keep_compiled_equations()
    with progress("analyse", COMPILING) as report:
        analysis = analyse(model.network, tune, 1.0 if ratio is None else ratio, tell=report)
    if certificate is not None:
        if analysis.certificate is None:
            raise Unsupported(
                "analyse", "--certificate for this model", analysis.certificate_missing.rstrip(".")
            )
        analysis.certificate.save(certificate)
    if plot is not None:
        draw(analysis, plot)
    if as_json:
        print_json({"model": name, "version": package_version(), **document(analysis)})
    elif latex:
        show_latex(analysis)
    else:
        console().print(model.title or "model", style="bold")
        show(analysis)
        if ratio is not None and analysis.nearest is not None:
            show_tries(TRIES)
    if not as_json:
        show_written(plot, certificate)
    return ratio is None or analysis.tuned is None or analysis.fair_alpha is not None


def draw(analysis: Analysis, target: Path) -> None:
    """Save the stability charts as a picture; flow classes at equilibrium are points in them."""
    from vegasfluid.analysis.charts import points_at
    from vegasfluid.plot import stability_charts

    points = {
        f"{label}{name}": point
        for label, equilibrium in labelled_equilibria(analysis)
        for name, point in points_at(equilibrium).items()
    }
    save_picture(stability_charts(points), target)


def document(analysis: Analysis) -> dict[str, Any]:
    """JSON document of an analysis: equilibria, fair alpha, stability, formulas and proof.

    Keys end in their unit (`_packets`, `_s`, `_packets_per_s`). Without such an ending, `alpha` is
    in packets, `until` in s, `rightmost_root` in 1/s; other numbers have no unit. None: not known.
    """
    value = {form.name: form.value for form in analysis.formulas}
    upper = None if analysis.present is None else analysis.present.equilibrium.upper
    equilibria = [] if analysis.present is None else [equilibrium_document(analysis.present)]
    equilibria += [] if upper is None else [equilibrium_document(AnalysedEquilibrium(upper, None))]
    equilibria += map(equilibrium_document, analysis.others)
    several, fair = analysis.equilibria, analysis.at_fair_alpha
    return {
        "closure": "theory: mean windows, independent of packets",
        "equilibria": equilibria,
        "no_equilibrium": analysis.no_equilibrium or None,
        "cycle": None if analysis.cycle is None else cycle_document(analysis.cycle),
        "set_valued": upper is not None,
        "equilibria_proven_to_be_all": None if several is None else several.complete,
        "equilibria_missing": analysis.equilibria_missing or None,
        "tuned": analysis.tuned,
        "goal": {"ratio": analysis.ratio},
        "fair_alpha_packets": analysis.fair_alpha,
        "nearest_alpha": None if analysis.nearest is None else asdict(analysis.nearest),
        "on_packets": None if analysis.packets is None else asdict(analysis.packets),
        "caveats": list(analysis.caveats),
        "at_fair_alpha": None if fair is None else equilibrium_document(fair),
        "saturation_alpha_packets": value.get("alpha at saturation"),
        "red_min_over_n_packets": value.get("fair alpha, RED_min / N"),
        "largest_ratio": value.get("largest ratio"),
        "closed_forms": {
            form.name: {
                "latex": form.formula.latex(),
                "value": form.value,
                "unit": form.formula.unit,
                "arguments": form.values,
                "source": form.formula.source,
            }
            for form in analysis.formulas
        },
        "published_formulas": {
            formula.name: {
                "source": formula.source,
                "unit": formula.unit,
                "value": formula.value,
                "model_value": formula.model_value,
                "valid": formula.valid,
                "violated_conditions": list(formula.violated),
            }
            for formula in analysis.published
        },
        "certificate": None if analysis.certificate is None else analysis.certificate.document(),
        "certificate_missing": analysis.certificate_missing or None,
    }


def equilibrium_document(result: AnalysedEquilibrium) -> dict[str, Any]:
    """JSON of an equilibrium: queues, drops, classes and stability; units end the keys.

    The first two keys are those of the first link. Queues in the reverse direction of links follow
    in `links`, with the suffix `_reverse`. Values of a class are means over its flows.
    `rightmost_root` is [real, imaginary], 1/s. Without a known stability its values are None.
    """
    equilibrium, verdict = result.equilibrium, result.stability
    root = None if verdict is None else verdict.rightmost_root
    network = equilibrium.network
    return {
        "queue_packets": float(equilibrium.values.queue[0]),
        "drop_prob": float(equilibrium.values.drop_prob[0]),
        "links": {
            name: {
                "queue_packets": float(equilibrium.values.queue[number]),
                "drop_prob": float(equilibrium.values.drop_prob[number]),
            }
            for number, name in enumerate(queue_names(equilibrium))
        },
        "classes": {
            name: {
                "count": flows.count,
                "cwnd_packets": equilibrium.mean(name, "cwnd"),
                "rtt_s": equilibrium.mean(name, "rtt"),
                "goodput_packets_per_s": equilibrium.mean(name, "goodput"),
                "backlog_packets": equilibrium.mean(name, "backlog"),
            }
            for name, flows in network.flows.items()
        },
        "stable": None if verdict is None else verdict.stable,
        "rightmost_root": None if root is None else [root.real, root.imag],
        "delay_margin_s": None if verdict is None else verdict.delay_margin,
        "gain_margin": None if verdict is None else verdict.gain_margin,
        "hopf_frequency_rad_per_s": None if verdict is None else verdict.hopf_frequency,
        "stability_missing": result.stability_missing or None,
    }


def cycle_document(cycle: LimitCycle) -> dict[str, Any]:
    """JSON of a limit cycle: period (None: hardly oscillates), means by class, queues by link."""
    return {
        "until_s": cycle.until,
        "period_s": cycle.period,
        "classes": {
            name: {
                "cwnd_packets": cwnd,
                "rtt_s": cycle.rtt[name],
                "goodput_packets_per_s": cycle.goodput[name],
            }
            for name, cwnd in cycle.cwnd.items()
        },
        "links": {
            name: dict(
                zip(("queue_packets", "lowest_packets", "highest_packets"), queue, strict=True)
            )
            for name, queue in cycle.queue.items()
        },
    }


def show(analysis: Analysis) -> None:
    """Print an analysis as text and tables: equilibria, fair alpha, formulas and proof."""
    out = console()
    if analysis.present is None:
        out.print(f"No equilibrium of the mean-field equations: {analysis.no_equilibrium}")
    else:
        show_equilibria(analysis)
    if analysis.cycle is not None:
        out.print(cycle_line(analysis, analysis.cycle))
    if analysis.at_fair_alpha is not None:
        out.print(fair_line(analysis))
        out.print(
            stability_line(analysis.at_fair_alpha, f"With alpha = {analysis.fair_alpha:.6g}: ")
        )
    elif analysis.nearest is not None:
        out.print(nearest_line(analysis, analysis.nearest))
    if analysis.packets is not None:
        out.print(packets_line(analysis.packets))
    show_formulas(analysis)
    if analysis.certificate is not None:
        out.print(f"\nProven for the mean-field equations: {analysis.certificate.statement}")
    elif analysis.tuned is not None:
        out.print(f"\nNot proven: {analysis.certificate_missing}")
    for caveat in analysis.caveats:
        out.print(f"Caveat, theory and packets may differ: {caveat}.")


def show_equilibria(analysis: Analysis) -> None:
    """Print tables of the equilibria of an analysis, their number and their stability."""
    out = console()
    out.print("Equilibrium of the mean-field equations\n")
    out.print(class_table(analysis))
    out.print()
    out.print(queue_table(analysis))
    out.print(f"\n{count_line(analysis)}")
    assert analysis.present is not None
    for number, place in enumerate((analysis.present, *analysis.others), 1):
        out.print(stability_line(place, f"{number}: " if analysis.others else ""))


def cycle_line(analysis: Analysis, cycle: LimitCycle) -> str:
    """Sentence with means over a limit cycle: queues, windows (packets), goodput (Mbit/s)."""
    per_packet = 1 / mbps(1.0, analysis.network.packet_bytes)
    period = (
        "" if cycle.period is None else f", which oscillates with a period of {cycle.period:.3g} s"
    )
    queues = [
        f"{name}: queue {mean:.4g} packets ({lowest:.4g} to {highest:.4g})"
        for name, (mean, lowest, highest) in cycle.queue.items()
    ]
    classes = [
        f"{name}: window {cwnd:.4g} packets, {cycle.goodput[name] * per_packet:.4g} Mbit/s per flow"
        for name, cwnd in cycle.cwnd.items()
    ]
    head = f"Averages of a fluid run of {cycle.until:.3g} s{period}:"
    return f"{head} {'; '.join([*queues, *classes])}."


def nearest_line(analysis: Analysis, nearest: NearestAlpha) -> str:
    """Sentences on why no alpha gives the ratio, and which alpha (packets) comes nearest."""
    return (
        f"In theory no alpha of {analysis.tuned} gives a ratio of {analysis.ratio:g}. As alpha "
        f"grows, the ratio approaches {nearest.largest:.3g}, because losses then limit "
        f"{analysis.tuned} as they limit its competitors. With alpha = {nearest.alpha:.4g} the "
        f"ratio is {nearest.ratio:.3g}."
    )


def packets_line(packets: PacketRatio) -> str:
    """Sentence on the goodput ratio that packet runs measure at the theoretical alpha (packets)."""
    return (
        f"Packet simulation with alpha = {packets.alpha:.4g}: ratio {packets.ratio:.3g} "
        f"({packets.lowest:.3g} to {packets.highest:.3g} in {packets.runs} runs of "
        f"{packets.until:.3g} s). To tune alpha in the packet simulator, run vegasfluid recommend."
    )


def class_table(analysis: Analysis) -> Any:
    """Table of each class's means at each equilibrium: packets, ms, and Mbit/s per flow."""
    rows = table("class", "flows", "cwnd", "RTT, ms", "Mbit/s per flow", "backlog")
    for label, equilibrium in labelled_equilibria(analysis):
        for name, flows in equilibrium.network.flows.items():
            rows.add_row(f"{label}{name}", str(flows.count), *class_cells(equilibrium, name))
    return rows


def queue_table(analysis: Analysis) -> Any:
    """Table of links at each equilibrium: queue (packets), its delay (ms), drop probability.

    A link in whose other direction packets wait, too, has a second row, with the suffix `_reverse`.
    """
    rows = table("link", "queue, packets", "queueing delay, ms", "drop probability")
    for label, equilibrium in labelled_equilibria(analysis):
        values = equilibrium.values
        columns = (queue_names(equilibrium), values.queue, values.delay, values.drop_prob)
        for name, queue, delay, prob in zip(*columns, strict=True):
            rows.add_row(f"{label}{name}", f"{queue:.6g}", f"{delay * 1e3:.4g}", f"{prob:.3g}")
    return rows


def queue_names(equilibrium: Equilibrium) -> list[str]:
    """Names of an equilibrium's queues: of the links, and of their reverse directions."""
    return link_names(equilibrium.network, equilibrium.values.queue.size)


def labelled_equilibria(analysis: Analysis) -> list[tuple[str, Equilibrium]]:
    """Equilibria to print, each with a prefix for the names in the tables, such as `fair alpha: `.

    The prefix of a single one is empty. The list is empty if there is no present equilibrium.
    """
    if analysis.present is None:
        return []
    present = analysis.present.equilibrium
    others = [(f"{number}: ", place.equilibrium) for number, place in enumerate(analysis.others, 2)]
    states = [("1: " if others else "", present), *others]
    if present.upper is not None:
        states = [("from below: ", present), ("from above: ", present.upper)]
    fair = analysis.at_fair_alpha
    return states if fair is None else [*states, ("fair alpha: ", fair.equilibrium)]


def class_cells(equilibrium: Equilibrium, name: str) -> tuple[str, str, str, str]:
    """Table cells of a class: window (packets), RTT (ms), goodput (Mbit/s), backlog (packets)."""
    per_packet = 1 / mbps(1.0, equilibrium.network.packet_bytes)
    goodput = equilibrium.mean(name, "goodput") * per_packet
    cwnd, rtt, backlog = (equilibrium.mean(name, key) for key in ("cwnd", "rtt", "backlog"))
    return f"{cwnd:.5g}", f"{rtt * 1e3:.4g}", f"{goodput:.4g}", f"{backlog:.5g}"


def count_line(analysis: Analysis) -> str:
    """Sentence on how many equilibria were found, and whether there may be others."""
    if analysis.equilibria is None:
        reason = analysis.equilibria_missing
        return f"Equilibria: one found. Whether there are others is unknown: {reason}"
    return f"Equilibria: {analysis.equilibria.summary}."


def fair_line(analysis: Analysis) -> str:
    """Sentence on the alpha (packets) that gives the requested ratio in theory."""
    assert analysis.tuned is not None
    assert analysis.at_fair_alpha is not None
    goal = (
        "its fair share"
        if analysis.ratio == 1
        else f"{analysis.ratio:g} times the rate of a competitor"
    )
    present = ""
    if analysis.present is not None:
        ratio = analysis.present.equilibrium.ratio(analysis.tuned)
        present = f"; the present alpha gives it {ratio:.3g} times the rate of a competitor"
    return (
        f"In theory a {analysis.tuned} flow gets {goal} with "
        f"alpha = {analysis.fair_alpha:.6g} packets{present}."
    )


def stability_line(place: AnalysedEquilibrium, label: str = "") -> str:
    """Sentence on stability after `label`: rightmost root (1/s), gain and delay margin (ms)."""
    verdict = place.stability
    if place.equilibrium.upper is not None:
        return f"{label}every backlog between alpha and beta is an equilibrium: flows stay there."
    if verdict is None:
        return f"{label}stability unknown: {place.stability_missing}"
    return f"{label}{verdict.text}"

"""`vegasfluid analyse`: rest, fair alpha, stability, closed forms and a proof, on one screen."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vegasfluid import modelfile
from vegasfluid.analysis.applicable_formulas import Applied
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium
from vegasfluid.analysis.report import Analysis, Nearest, Place, analyse
from vegasfluid.analysis.simulation_checks import LimitCycle, PacketRatio
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.next_steps import show_tries
from vegasfluid.cli.output import PICTURES, check_target, console, print_json, progress, table
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import mbps
from vegasfluid.version import package_version

__all__ = ["packets_line", "run"]

TRIES = (
    "a smaller --ratio; without --ratio the closed forms tell the largest",
    "RED that drops later (recommend --tune-queue), for losses hold the windows",
)
"""What could be asked for instead of a ratio that no alpha gives."""
LONGEST = 36
"""Characters of a formula on the screen; `--latex` shows all of it."""


def run(
    name: str,
    *,
    tune: str | None,
    ratio: float | None,
    latex: bool,
    plot: Path | None,
    certificate: Path | None,
    as_json: bool,
) -> bool:
    """Analyse a model file and show what was found; whether the ratio that was asked for exists."""
    check_target("analyse", "--plot", plot, PICTURES)
    check_target("analyse", "--certificate", certificate, (".json",))
    model = modelfile.read_model(name)
    keep_compiled_equations()
    with progress("analyse") as tell:
        found = analyse(model.network, tune, 1.0 if ratio is None else ratio, tell=tell)
    if certificate is not None:
        if found.certificate is None:
            raise InvalidInput("analyse", "--certificate", "left out here", found.unproven)
        found.certificate.save(certificate)
    if plot is not None:
        draw(found, plot)
    if as_json:
        print_json({"model": name, "version": package_version(), **document(found)})
    elif latex:
        show_latex(found)
    else:
        console().print(model.title or "model", style="bold")
        show(found)
        if ratio is not None and found.nearest is not None:
            show_tries(TRIES)
    return ratio is None or found.tuned is None or found.fair_alpha is not None


def draw(found: Analysis, target: Path) -> None:
    """Save the charts, with the flows as points on them where they have a place there."""
    from vegasfluid.analysis.charts import points_at
    from vegasfluid.plot import stability_charts

    points = {
        f"{label}{name}": place
        for label, rest in states_of(found)
        for name, place in points_at(rest).items()
    }
    stability_charts(points).savefig(target, dpi=150)


def document(found: Analysis) -> dict[str, Any]:
    """Everything as one document."""
    value = {form.name: form.value for form in found.formulas}
    upper = None if found.here is None else found.here.rest.upper
    places = [] if found.here is None else [told(found.here)]
    places += [] if upper is None else [told(Place(upper, None))]
    places += map(told, found.others)
    several = found.equilibria
    return {
        "closure": "theory: mean windows, independent of packets",
        "equilibria": places,
        "no_equilibrium": found.no_equilibrium or None,
        "cycle": None if found.cycle is None else cycle_document(found.cycle),
        "set_valued": upper is not None,
        "equilibria_proven_to_be_all": None if several is None else several.complete,
        "equilibria_missing": found.uncounted or None,
        "tuned": found.tuned,
        "goal": {"ratio": found.ratio},
        "fair_alpha_packets": found.fair_alpha,
        "nearest_alpha": None if found.nearest is None else asdict(found.nearest),
        "on_packets": None if found.packets is None else asdict(found.packets),
        "caveats": list(found.caveats),
        "at_fair_alpha": None if found.there is None else told(found.there),
        "saturation_alpha_packets": value.get("alpha at saturation"),
        "red_min_over_n_packets": value.get("fair alpha, RED_min / N"),
        "largest_ratio": value.get("largest ratio"),
        "closed_forms": {
            form.name: {
                "latex": form.formula.latex(),
                "value": form.value,
                "unit": form.formula.unit,
                "takes": form.values,
                "source": form.formula.source,
            }
            for form in found.formulas
        },
        "certificate": None if found.certificate is None else found.certificate.document(),
        "certificate_missing": found.unproven or None,
    }


def told(place: Place) -> dict[str, Any]:
    """An equilibrium as a document."""
    rest, verdict = place.rest, place.stability
    root = None if verdict is None else verdict.rightmost_root
    network = rest.network
    return {
        "queue_packets": float(rest.values.queue[0]),
        "drop_prob": float(rest.values.drop_prob[0]),
        "links": {
            name: {
                "queue_packets": float(rest.values.queue[number]),
                "drop_prob": float(rest.values.drop_prob[number]),
            }
            for number, name in enumerate(network.links)
        },
        "classes": {
            name: {
                "count": flows.count,
                "cwnd_packets": rest.mean(name, "cwnd"),
                "rtt_s": rest.mean(name, "rtt"),
                "goodput_packets_per_s": rest.mean(name, "goodput"),
                "backlog_packets": rest.mean(name, "backlog"),
            }
            for name, flows in network.flows.items()
        },
        "stable": None if verdict is None else verdict.stable,
        "rightmost_root": None if root is None else [root.real, root.imag],
        "delay_margin_s": None if verdict is None else verdict.delay_margin,
        "gain_margin": None if verdict is None else verdict.gain_margin,
        "hopf_frequency_rad_per_s": None if verdict is None else verdict.hopf_frequency,
        "stability_missing": place.untold or None,
    }


def cycle_document(cycle: LimitCycle) -> dict[str, Any]:
    """The means of a run as a document."""
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
            name: dict(zip(("queue_packets", "lowest_packets", "highest_packets"), of, strict=True))
            for name, of in cycle.queue.items()
        },
    }


def show(found: Analysis) -> None:
    """Everything in words and tables."""
    out = console()
    if found.here is None:
        out.print(f"Theory's mean-field equations: {found.no_equilibrium}")
    else:
        show_rest(found)
    if found.cycle is not None:
        out.print(cycle_line(found, found.cycle))
    if found.there is not None:
        out.print(f"{fair_line(found)}\n{stability_line(found.there, 'With it: ')}")
    elif found.nearest is not None:
        out.print(nearest_line(found, found.nearest))
    if found.packets is not None:
        out.print(packets_line(found.packets))
    if found.formulas:
        out.print()
        out.print(formula_table(found.formulas))
    if found.certificate is not None:
        out.print(f"\nProven, of theory's equations: {found.certificate.statement}")
    elif found.tuned is not None:
        out.print(f"\nNot proven: {found.unproven}")
    for caveat in found.caveats:
        out.print(f"Theory and packets may differ: {caveat}.")


def show_rest(found: Analysis) -> None:
    """The equilibria of a network, their number and their stability."""
    out = console()
    out.print("Equilibrium of theory's mean-field equations\n")
    out.print(rest_table(found))
    out.print()
    out.print(queue_table(found))
    out.print(f"\n{count_line(found)}")
    assert found.here is not None
    for number, place in enumerate((found.here, *found.others), 1):
        out.print(stability_line(place, f"{number}: " if found.others else ""))


def cycle_line(found: Analysis, cycle: LimitCycle) -> str:
    """The means of a run of the fluid model."""
    per_packet = 1 / mbps(1.0, found.network.packet_bytes)
    often = "" if cycle.period is None else f", with a period of {cycle.period:.3g} s"
    queues = [
        f"{name}: {mean:.4g} packets wait ({lowest:.4g} to {highest:.4g})"
        for name, (mean, lowest, highest) in cycle.queue.items()
    ]
    classes = [
        f"{name}: a window of {cwnd:.4g}, {cycle.goodput[name] * per_packet:.4g} Mbit/s a flow"
        for name, cwnd in cycle.cwnd.items()
    ]
    head = f"In the mean of a run of the fluid model of {cycle.until:.3g} s{often}:"
    return f"{head} {'; '.join([*queues, *classes])}."


def nearest_line(found: Analysis, nearest: Nearest) -> str:
    """Why no alpha gives the ratio, and what the largest does."""
    return (
        f"In theory no alpha of {found.tuned} gives a ratio of {found.ratio:g}: as alpha grows the "
        f"ratio nears {nearest.largest:.3g}, where losses hold {found.tuned} as they hold its "
        f"competitors. With alpha = {nearest.alpha:.4g} it is {nearest.ratio:.3g}."
    )


def packets_line(packets: PacketRatio) -> str:
    """What packets give with the alpha that theory names."""
    return (
        f"On packets alpha = {packets.alpha:.4g} gives a ratio of {packets.ratio:.3g} "
        f"({packets.lowest:.3g} to {packets.highest:.3g} in {packets.runs} runs of "
        f"{packets.until:.3g} s); recommend finds the alpha that packets want."
    )


def rest_table(found: Analysis) -> Any:
    """Each class, as it is and with the fair alpha."""
    rows = table("class", "flows", "cwnd", "rtt, ms", "Mbit/s a flow", "own in queue")
    for label, rest in states_of(found):
        for name, flows in rest.network.flows.items():
            rows.add_row(f"{label}{name}", str(flows.count), *numbers_of_class(rest, name))
    return rows


def queue_table(found: Analysis) -> Any:
    """Each queue, as it is and with the fair alpha."""
    rows = table("link", "queue, packets", "delay, ms", "drop probability")
    for label, rest in states_of(found):
        for number, (name, link) in enumerate(rest.network.links.items()):
            queue, prob = rest.values.queue[number], rest.values.drop_prob[number]
            delay = queue / float(link.capacity) * 1e3
            rows.add_row(f"{label}{name}", f"{queue:.6g}", f"{delay:.4g}", f"{prob:.3g}")
    return rows


def states_of(found: Analysis) -> list[tuple[str, Equilibrium]]:
    """What is shown of rest, with a label each."""
    if found.here is None:
        return []
    here = found.here.rest
    beside = [(f"{number}: ", place.rest) for number, place in enumerate(found.others, 2)]
    states = [("1: " if beside else "", here), *beside]
    if here.upper is not None:
        states = [("from below: ", here), ("from above: ", here.upper)]
    return states if found.there is None else [*states, ("fair: ", found.there.rest)]


def numbers_of_class(rest: Equilibrium, name: str) -> tuple[str, str, str, str]:
    """Window, round trip, goodput and backlog of a class, as text."""
    per_packet = 1 / mbps(1.0, rest.network.packet_bytes)
    goodput = rest.mean(name, "goodput") * per_packet
    cwnd, rtt, own = (rest.mean(name, of) for of in ("cwnd", "rtt", "backlog"))
    return f"{cwnd:.5g}", f"{rtt * 1e3:.4g}", f"{goodput:.4g}", f"{own:.5g}"


def count_line(found: Analysis) -> str:
    """How many equilibria there are, in words."""
    if found.equilibria is None:
        return f"Equilibria: one found; not counted: {found.uncounted}"
    return f"Equilibria: {found.equilibria.says}."


def fair_line(found: Analysis) -> str:
    """The fair alpha in words."""
    assert found.tuned is not None
    assert found.there is not None
    goal = "its fair share" if found.ratio == 1 else f"{found.ratio:g} times a competitor's rate"
    present = ""
    if found.here is not None:
        present = f" (ratio as it is: {found.here.rest.ratio(found.tuned):.3g})"
    return (
        f"In theory a flow of {found.tuned} gets {goal} with alpha = {found.fair_alpha:.6g} packets"
        f"{present}."
    )


def stability_line(place: Place, label: str = "") -> str:
    """A verdict in words."""
    verdict = place.stability
    if place.rest.upper is not None:
        return f"{label}windows rest anywhere between alpha and beta: a set, neither lost nor left."
    if verdict is None:
        return f"{label}no verdict: {place.untold}"
    root = verdict.rightmost_root
    words = [f"rightmost root {root.real:.3g} {root.imag:+.3g}i /s"]
    if verdict.gain_margin is not None:
        words.append(f"gain margin {verdict.gain_margin:.3g}")
    if verdict.delay_margin is not None:
        words.append(f"delay margin {verdict.delay_margin * 1e3:.3g} ms")
    if verdict.hopf_frequency is not None:
        period = 2 * math.pi / verdict.hopf_frequency
        words.append(f"oscillation at the boundary every {period:.3g} s")
    return f"{label}{'stable' if verdict.stable else 'unstable'}: {', '.join(words)}."


def formula_table(formulas: tuple[Applied, ...]) -> Any:
    """The closed forms with their values."""
    rows = table("closed form", "value", "formula", texts=("formula",))
    for form in formulas:
        text = form.formula.text()
        shown = text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."
        rows.add_row(form.name, f"{form.value:.7g}", shown)
    return rows


def show_latex(found: Analysis) -> None:
    """The closed forms as LaTeX, each with what it is, and with its value."""
    out = console()
    for form in found.formulas:
        out.print(f"% {form.name}: {form.formula.says}", soft_wrap=True)
        out.print(f"\\[ {form.formula.latex()} = {form.value:.10g} \\]", soft_wrap=True)

"""`vegasfluid recommend`: tune the parameters and print the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vegasfluid import modelfile
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.last_recommendation import keep
from vegasfluid.cli.measured_rows import add_measured_rows, show_caveats
from vegasfluid.cli.next_steps import after_recommend, show_next, show_tries, show_written
from vegasfluid.cli.output import COMPILING, console, print_json, progress, table
from vegasfluid.cli.request import single_class
from vegasfluid.cli.robustness import recommend_over_ranges, show_robustness
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.cli.tuned_numbers import show_numbers
from vegasfluid.errors import Unsupported
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.output_files import write_text
from vegasfluid.tuning import (
    JointRecommendation,
    NumberRecommendation,
    Recommendation,
    Request,
    RobustRecommendation,
    ShareRatio,
    numbers_to_tune,
    recommend,
    vegas_classes,
)
from vegasfluid.tuning.own_queues import has_own_queues
from vegasfluid.tuning.parameters import has_tunable_queue
from vegasfluid.tuning.result import red_numbers
from vegasfluid.version import package_version

if TYPE_CHECKING:
    from vegasfluid.tuning import Explanation

__all__ = ["run"]

NOTICEABLE = 1.05
"""Factor of the queueing delay above which a sentence states what fairness costs (chosen)."""
LINUX_UNITS = (
    "linux multiplies its estimate of queued packets by RTT / base RTT, so its numbers are larger"
)
"""Why alpha and beta of Linux are larger than those of other systems."""


def run(
    name: str,
    *,
    runs: int,
    seed: int,
    explain_result: bool,
    out: Path | None,
    plot: Path | None,
    until: float | None,
    warmup: float | None,
    as_json: bool,
    command: str,
    force: bool = False,
    **request: Any,
) -> bool:
    """Tune the parameters of a model, print them, and return whether the goal was reached.

    Args:
        name: path of a model file, or name of a built-in model.
        runs: packet runs per setting.
        seed: first of the runs' seeds.
        explain_result: whether to explain the result.
        out: file for the model with the recommended parameters; None: none.
        plot: picture of the result; None: none.
        until: simulated time, s; None: that of the model.
        warmup: warm-up, s; None: that of the model.
        as_json: whether to print JSON.
        command: the command line that repeats the search.
        force: whether a file that vegasfluid has not written is replaced.
        request: further arguments of `recommend`.
    """
    check_target("recommend", "--out", out, (".toml",), model=name, force=force)
    check_target("recommend", "--plot", plot, PICTURES, model=name, force=force)
    given = modelfile.read_model(name)
    model = given.with_times(until, warmup)
    solve, request = solver_and_request(model, request, explain_result)
    keep_compiled_equations()
    trial = {"until": model.duration, "warmup": model.warmup, "runs": runs, "seed": seed}
    with progress("recommend", COMPILING) as report:
        result = solve(**request, **trial, report=report)
        parts = parts_of(result)
        why = {}
        if explain_result:
            from vegasfluid.tuning import explain

            why = {name: explain(part, **trial, report=report) for name, part in parts.items()}
    text = model_text(replace(given, network=result.network))
    if keep(command, text, exportable(parts)):
        command = "vegasfluid recommend --last"
    if out is not None:
        write_text(out, text)
    if plot is not None:
        draw(model, result.network, list(parts.values()), plot)
    if as_json:
        print_json(heading(name) | result.as_json() | explanations(why))
    else:
        show_all(model, result, parts, why)
        show_written(out, plot)
        show_further_steps(command, out, parts)
    return result.reached


def heading(name: str) -> dict[str, str]:
    """The first keys of the JSON output: the model's name and our version."""
    return {"model": name, "version": package_version()}


def parts_of(result: Any) -> dict[str, Recommendation]:
    """Recommendation for each tuned class by name; empty if other numbers were tuned."""
    if isinstance(result, NumberRecommendation):
        return {}
    return dict(result.parts) if isinstance(result, JointRecommendation) else {result.tuned: result}


def model_text(model: Model) -> str:
    """The recommended model as a TOML file, with a comment on its origin."""
    head = f"# Written by vegasfluid {package_version()}, recommend: with the new parameters."
    return f"{head}\n{modelfile.dumps(model)}"


def exportable(parts: Mapping[str, Recommendation]) -> set[str]:
    """Names of systems with equivalent settings for all tuned classes; empty for no classes."""
    each = [set(result.settings) for result in parts.values()]
    return set.intersection(*each) if each else set[str]()


def draw(
    model: Model, tuned: Network, recommendations: Sequence[Recommendation], target: Path
) -> None:
    """Save a picture of the model and of its tuned network, by the fluid model, and of the results.

    Args:
        model: the given model, with the times of the runs.
        tuned: the network with the recommended parameters.
        recommendations: one for each tuned class; empty: goodputs only.
        target: the picture.
    """
    from vegasfluid.fluid import simulate_fluid
    from vegasfluid.plot import before_and_after

    before, after = (
        simulate_fluid(network, model.duration, warmup=model.warmup)
        for network in (model.network, tuned)
    )
    save_picture(before_and_after(before, after, *recommendations), target)


def show_further_steps(command: str, out: Path | None, parts: Mapping[str, Recommendation]) -> None:
    """Print commands to continue with, or suggestions if a class missed its goal.

    Args:
        command: the command line that writes the result with `--out`.
        out: file to which the result was saved; None: not saved.
        parts: recommendation for each tuned class; none where numbers were tuned.
    """
    for result in parts.values():
        if not result.reached:
            show_tries(suggestions(result))
            return
    show_next(*after_recommend(command, out, exportable(parts)))


def suggestions(result: Recommendation) -> list[str]:
    """Sentences on what to try after a goal that was not reached."""
    if isinstance(result, RobustRecommendation):
        return ["narrower ranges, or a separate model and alpha for each part of the ranges"]
    if result.constraints.each:
        first = "looser constraints; --pareto shows the trade-off between fairness and delay"
    else:
        first = f"a --ratio nearer to {result.after.packets.ratio:.3g}, the ratio that was reached"
    if has_tunable_queue(result.network):
        queue = ["--tune-queue, which also tunes RED's thresholds"] * (not result.queue_tuned)
    else:
        queue = ["another queue discipline in the model (aqm), such as red, which shares losses"]
    why = "vegasfluid analyse, which shows where alpha stops mattering, or --explain for the reason"
    return [first, *queue, why]


def solver_and_request(
    model: Model, request: dict[str, Any], explain_result: bool
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Function that solves the request (classes, numbers, or ranges) and its arguments.

    Args:
        model: network, and ranges if it has any.
        request: arguments from the command line; `tune` is a list of classes and numbers.
        explain_result: whether an explanation is wanted.

    Raises:
        Unsupported: if the model has ranges and the request is not only for a ratio, or if an
            explanation is wanted for other numbers than Vegas's.
    """
    asked = Request(*(request[key] for key in Request._fields))
    if numbers_to_tune(model.network, request["tune"], asked, bool(model.ranges)):
        if explain_result:
            reason = "it explains alpha only"
            raise Unsupported("recommend", "--explain with named parameters", reason)
        return partial(recommend, model.network), request
    tune = tuple(request["tune"]) or all_tunable(model.network)
    if model.ranges:
        return partial(recommend_over_ranges, model), ratio_request(request)
    if len(set(tune)) > 1:
        return partial(recommend, model.network), request | {"tune": tune}
    return partial(recommend, model.network), request | {"tune": next(iter(tune), None)}


def all_tunable(network: Network) -> tuple[str, ...]:
    """Names of all Vegas classes; empty if there is no other class to compare with."""
    vegas = tuple(vegas_classes(network))
    return vegas if len(vegas) < len(network.flows) else ()


def explanations(why: dict[str, Explanation]) -> dict[str, Any]:
    """JSON entries of explanations by class: `explanation` is that of the first class.

    With several classes, `explanations` has each.
    """
    if not why:
        return {}
    documents = {name: explanation.as_json() for name, explanation in why.items()}
    more = {"explanations": documents} if len(documents) > 1 else {}
    return {"explanation": next(iter(documents.values()))} | more


def show_all(
    model: Model,
    result: Any,
    parts: Mapping[str, Recommendation],
    why: Mapping[str, Explanation],
) -> None:
    """Print the recommendation for each class, its explanation, and the computing time (s).

    If other numbers than Vegas's were tuned (`parts` is empty), their values are printed instead.
    """
    if isinstance(result, NumberRecommendation):
        show_numbers(model.title, result)
        return
    out = console()
    out.print(model.title or "model", style="bold")
    for name, result in parts.items():
        show(model, result)
        if why:
            from vegasfluid.cli.show_explanation import show_explanation

            show_explanation(result, why[name])
        if len(parts) > 1 and name != list(parts)[-1]:
            out.print()
    seconds = next(iter(parts.values())).seconds
    out.print(
        f"Computed in {seconds['total']:.1f} s: fluid {seconds['fluid']:.1f} s, "
        f"packets {seconds['packets']:.1f} s, partly in parallel."
    )


def ratio_request(request: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `recommend` (`tune`, `ratio`) for a model with ranges.

    Only a goodput ratio can be the goal there.

    Raises:
        Unsupported: if another goal, a constraint or another parameter is requested.
    """
    others = {
        "--goal other than ratio": not isinstance(request["objective"], ShareRatio),
        "a constraint": bool(request["constraints"].each),
        "--tune-queue": request["tune_queue"],
        "--tune-gamma": request["tune_gamma"],
    }
    for option, given in others.items():
        if given:
            reason = "over ranges, only alpha is tuned, for a ratio"
            raise Unsupported("recommend", f"{option} for a model with ranges", reason)
    return {
        "tune": single_class(request["tune"], "if the model has ranges"),
        "ratio": request["ratio"],
    }


def show(model: Model, result: Recommendation) -> None:
    """Print the recommendation for one class as a table and sentences."""
    out, document = console(), result.as_json()
    law = result.after.law
    values = f"alpha = {law.alpha:.6g}, beta = {law.beta:.6g}, gamma = {law.gamma:.6g}"
    out.print(f"For {result.tuned} ({law.dialect}): {values} packets\n", style="bold")
    out.print(comparison(model, result, document))
    low, high = document["packets"]["ratio_ci95"]
    wanted = f"goal {result.ratio:g}, " if isinstance(result.objective, ShareRatio) else ""
    out.print(
        f"\nRatio: goodput of a {result.tuned} flow / goodput of {competitor(result)} flow; "
        f"{wanted}95 % interval {low:.3f} to {high:.3f} over "
        f"{document['packets']['runs']} runs."
    )
    if cost := delay_cost(result):
        out.print(cost)
    show_caveats(document)
    show_further(result)
    show_settings(result)
    if isinstance(result, RobustRecommendation):
        show_robustness(result)
    if result.reached:
        near = "" if has_own_queues(result.network, result.tuned) else " within 10 %"
        out.print(f"Goal reached{near}: {result.reason}." if result.reason else "Goal reached.")
    else:
        out.print(f"Goal not reached: {result.reason}.", style="bold")


def delay_cost(result: Recommendation) -> str:
    """A sentence on the queueing delay (ms) that the setting adds; empty if it adds at most 5 %."""
    delays = [
        1e3 * run.packets.means()["queueing_delay_s"] for run in (result.before, result.after)
    ]
    if delays[1] <= NOTICEABLE * delays[0]:
        return ""
    added = delays[1] - delays[0]
    ranges = isinstance(result, RobustRecommendation)  # --pareto is for models without ranges
    more = "" if ranges else "; --pareto shows the trade-off between delay and fairness"
    return f"The recommendation adds {added:.3g} ms of queueing delay{more}."


def competitor(result: Recommendation) -> str:
    """Flows that a tuned flow is compared with, in words, such as `a reno` or `another`."""
    return f"a {' or '.join(result.others)}" if result.others else "another"


def comparison(model: Model, result: Recommendation, document: dict[str, Any]) -> Any:
    """Table of parameters and means before and with the recommendation.

    Alpha, beta and RED's thresholds in packets; fluid and packet means from the JSON `document`.
    """
    rows = table("", "before", "recommended")
    before, after = result.before.law, result.after.law
    queue = red_numbers(model.network) if result.queue else {}
    rows.add_row("alpha, packets", f"{before.alpha:.6g}", f"{after.alpha:.6g}")
    rows.add_row("beta, packets", f"{before.beta:.6g}", f"{after.beta:.6g}")
    for key, value in result.queue.items():
        name = key.removesuffix("_packets")
        unit = ", packets" if key != name else ""
        rows.add_row(f"RED's {name}{unit}", f"{queue[key]:.6g}", f"{value:.6g}")
    add_measured_rows(rows, document)
    return rows


def show_further(result: Recommendation) -> None:
    """Print the value of a goal that is not a ratio, the start-up ratio, and constraints.

    Measured values are means over packet runs.
    """
    out, means = console(), result.after.packets.means()
    if not isinstance(result.objective, ShareRatio):
        before, after = (
            result.objective_value(run.packets) for run in (result.before, result.after)
        )
        out.print(
            f"Goal: largest {result.objective.key.replace('_', ' ')} ({result.objective.unit}): "
            f"{after:.3f}, before {before:.3f}."
        )
    if result.start is not None:
        start = result.start
        out.print(
            f"Start: in the first {start.until:g} s the ratio is {start.after.ratio:.3f}; with "
            f"gamma = {start.given:g} as before it is {start.before.ratio:.3f}."
        )
    for constraint in result.constraints.each:
        out.print(f"Constraint: {constraint.text_with(means)}.")


def show_settings(result: Recommendation) -> None:
    """Print equivalent alpha, beta and gamma for other systems, in the units of each system."""
    out = console()
    rows = table("equivalent settings", "alpha", "beta", "gamma")
    for name, values in result.settings.items():
        rows.add_row(name, *(f"{values[key]:.6g}" for key in ("alpha", "beta", "gamma")))
    out.print()
    out.print(rows)
    if "linux" in result.settings:
        out.print(f"{LINUX_UNITS}.")
    for name, reason in result.settings_missing.items():
        out.print(f"No settings for {name}: {reason}.")
    out.print()

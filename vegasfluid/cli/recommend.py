"""`vegasfluid recommend`: run the job and show what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vegasfluid import modelfile
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.next_steps import after_recommend, show_next, show_tries
from vegasfluid.cli.output import check_model_target, console, print_json, progress, table
from vegasfluid.cli.request import only_one
from vegasfluid.cli.robustness import recommended, show_robustness
from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.tuning import (
    JointRecommendation,
    Recommendation,
    RobustRecommendation,
    ShareRatio,
    recommend,
    vegas_classes,
)
from vegasfluid.tuning.result import red_numbers
from vegasfluid.version import package_version

if TYPE_CHECKING:
    from vegasfluid.tuning import Explanation

__all__ = ["run"]

ROWS = (
    ("ratio on the fluid model", "fluid", "ratio", "{:.3f}"),
    ("ratio on packets", "packets", "ratio", "{:.3f}"),
    ("Jain index", "packets", "jain_index", "{:.3f}"),
    ("utilisation", "packets", "utilisation", "{:.1%}"),
    ("mean queue, packets", "packets", "queue_packets", "{:.0f}"),
    ("queueing delay, ms", "packets", "queueing_delay_s", "{:.1f}"),
    ("drop share", "packets", "drop_share", "{:.2e}"),
    ("retransmit share", "packets", "retransmit_share", "{:.2e}"),
)
MILLISECONDS = {"queueing_delay_s": 1e3}


def run(
    name: str,
    *,
    runs: int,
    seed: int,
    explained: bool,
    out: Path | None,
    as_json: bool,
    **asked: Any,
) -> bool:
    """Recommend parameters for a model file, and print them; whether the goal was reached.

    Args:
        name: a model file, or the name of a shipped model.
        runs: packet runs at each setting.
        seed: the first of their seeds.
        explained: whether to say why.
        out: where to write the model with what was found; None: nowhere.
        as_json: whether to print JSON.
        asked: what else `recommend` takes: `tune`, `ratio`, `objective`, `constraints`,
            `tune_queue`, `tune_gamma`.
    """
    check_model_target("recommend", name, out)
    model = modelfile.read_model(name)
    job, asked = job_of(model, asked)
    keep_compiled_equations()
    trial = {"until": model.duration, "warmup": model.warmup, "runs": runs, "seed": seed}
    with progress("recommend") as report:
        found = job(**asked, **trial, report=report)
        parts = found.parts if isinstance(found, JointRecommendation) else {found.tuned: found}
        why = {}
        if explained:
            from vegasfluid.tuning import explain

            why = {name: explain(of, **trial, report=report) for name, of in parts.items()}
    if out is not None:
        keep(replace(model, network=found.network), out)
    if as_json:
        head = {"model": name, "version": package_version()}
        print_json(head | found.as_json() | explanations(why))
    else:
        show_all(model, parts, why)
        show_further_steps(name, out, parts)
    return found.reached


def keep(model: Model, out: Path) -> None:
    """Write the model with what was found."""
    head = f"# Written by vegasfluid {package_version()}, recommend: its numbers are in the laws."
    out.write_text(f"{head}\n{modelfile.dumps(model)}", encoding="utf-8")


def show_further_steps(name: str, out: Path | None, parts: Mapping[str, Recommendation]) -> None:
    """What to do with what was found, or what to try where the goal was not reached."""
    if out is not None:
        console().print(f"Written: {out}", soft_wrap=True)
    for found in parts.values():
        if not found.reached:
            show_tries(tries(found))
            return
    systems = set.intersection(*(set(found.settings) for found in parts.values()))
    show_next(*after_recommend(name, out, systems))


def tries(found: Recommendation) -> list[str]:
    """What could be asked for instead, after a goal that was out of reach."""
    if isinstance(found, RobustRecommendation):
        return ["narrower ranges, or a model and an alpha for each part of them"]
    if found.constraints.each:
        first = "looser limits; --pareto shows which delay goes with which fairness"
    else:
        first = f"--ratio nearer to {found.after.packets.ratio:.3g}, which is what packets gave"
    queue = () if found.queue_tuned else ("--tune-queue: RED's thresholds decide, too",)
    why = "vegasfluid analyse says where alpha ends to matter, and --explain why"
    return [first, *queue, why]


def job_of(model: Model, asked: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What is to be done: for one class, for several at once, or over ranges; and how it is asked.

    Raises:
        InvalidInput: where the model has ranges, and more than a ratio is asked for.
    """
    tune = tuple(asked["tune"]) or all_tunable(model.network)
    if model.ranges:
        return partial(recommended, model), plainly(asked)
    if len(set(tune)) > 1:
        return partial(recommend, model.network), asked | {"tune": tune}
    return partial(recommend, model.network), asked | {"tune": next(iter(tune), None)}


def all_tunable(network: Network) -> tuple[str, ...]:
    """All Vegas classes, where there is another class to compare them with."""
    vegas = tuple(vegas_classes(network))
    return vegas if len(vegas) < len(network.flows) else ()


def explanations(why: dict[str, Explanation]) -> dict[str, Any]:
    """The block of reasons: that of the first class, and where there are more, of each."""
    if not why:
        return {}
    documents = {name: of.as_json() for name, of in why.items()}
    more = {"explanations": documents} if len(documents) > 1 else {}
    return {"explanation": next(iter(documents.values()))} | more


def show_all(
    model: Model, parts: Mapping[str, Recommendation], why: Mapping[str, Explanation]
) -> None:
    """The result of each class, and its reasons."""
    out = console()
    out.print(model.title or "model", style="bold")
    for name, found in parts.items():
        show(model, found)
        if why:
            from vegasfluid.cli.explanation import show_explanation

            show_explanation(found, why[name])
        if len(parts) > 1 and name != list(parts)[-1]:
            out.print()
    spent = next(iter(parts.values())).seconds
    out.print(
        f"{spent['total']:.1f} s: fluid {spent['fluid']:.1f} s, packets {spent['packets']:.1f} s, "
        f"partly side by side."
    )


def plainly(asked: dict[str, Any]) -> dict[str, Any]:
    """What is asked for over ranges, which is a ratio and nothing else.

    Raises:
        InvalidInput: where something else is asked for.
    """
    others = {
        "--goal": not isinstance(asked["objective"], ShareRatio),
        "a limit": bool(asked["constraints"].each),
        "--tune-queue": asked["tune_queue"],
        "--tune-gamma": asked["tune_gamma"],
    }
    for option, given in others.items():
        if given:
            allowed = "left out where the model has ranges (only a ratio can be asked for)"
            raise InvalidInput("recommend", option, allowed, "given")
    return {"tune": only_one(asked["tune"], "over ranges"), "ratio": asked["ratio"]}


def show(model: Model, found: Recommendation) -> None:
    """The result as a table and a few sentences."""
    out, document = console(), found.as_json()
    law = found.after.law
    values = f"alpha = {law.alpha:.6g}, beta = {law.beta:.6g}, gamma = {law.gamma:.6g}"
    out.print(f"For {found.tuned} ({law.dialect}): {values} packets\n", style="bold")
    out.print(comparison(model, found, document))
    low, high = document["packets"]["ratio_ci95"]
    wanted = f"goal {found.ratio:g}, " if isinstance(found.objective, ShareRatio) else ""
    out.print(
        f"\nratio: goodput of a {found.tuned} flow over that of {beside(found)} flow; "
        f"{wanted}95 % interval {low:.3f} to {high:.3f} over "
        f"{document['packets']['runs']} runs."
    )
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    for sentence in document["disagreements"]:
        out.print(f"Fluid and packets: {sentence}")
    show_further(found)
    show_settings(found)
    if isinstance(found, RobustRecommendation):
        show_robustness(found)
    if found.reached:
        out.print(f"Goal reached. {_sentence(found.reason)}".strip())
    else:
        out.print(f"Goal not reached: {found.reason}.", style="bold")


def beside(found: Recommendation) -> str:
    """With whose flow a tuned one is compared."""
    return f"a {' or '.join(found.others)}" if found.others else "another"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def comparison(model: Model, found: Recommendation, document: dict[str, Any]) -> Any:
    """Before and after, side by side."""
    rows = table("", "before", "recommended")
    before, after = found.before.law, found.after.law
    queue = red_numbers(model.network) if found.queue else {}
    rows.add_row("alpha, packets", f"{before.alpha:.6g}", f"{after.alpha:.6g}")
    rows.add_row("beta, packets", f"{before.beta:.6g}", f"{after.beta:.6g}")
    for key, value in found.queue.items():
        name = key.removesuffix("_packets")
        unit = ", packets" if key != name else ""
        rows.add_row(f"RED's {name}{unit}", f"{queue[key]:.6g}", f"{value:.6g}")
    for name, block, key, form in ROWS:
        scale = MILLISECONDS.get(key, 1)
        values = (document["before"][block][key], document[block][key])
        rows.add_row(name, *(form.format(value * scale) for value in values))
    return rows


def show_further(found: Recommendation) -> None:
    """The goal, where it is another one, and the limits."""
    out, means = console(), found.after.packets.means()
    if not isinstance(found.objective, ShareRatio):
        before, after = (found.objective_value(of.packets) for of in (found.before, found.after))
        out.print(
            f"Goal: the largest {found.objective.key.replace('_', ' ')} ({found.objective.unit}): "
            f"{after:.3f}, before {before:.3f}."
        )
    if found.start is not None:
        start = found.start
        out.print(
            f"Start: up to {start.until:g} s the ratio is {start.after.ratio:.3f}; with the given "
            f"gamma, {start.given:g}, it is {start.before.ratio:.3f}."
        )
    for limit in found.constraints.each:
        is_now = f": it is {means[limit.quantity]:.4g}" if limit.quantity in means else ""
        out.print(f"Limit: {limit.text}{is_now}.")


def show_settings(found: Recommendation) -> None:
    """The same behaviour in other systems' words."""
    out = console()
    rows = table("settings for", "alpha", "beta", "gamma")
    for name, values in found.settings.items():
        rows.add_row(name, *(f"{values[key]:.6g}" for key in ("alpha", "beta", "gamma")))
    out.print()
    out.print(rows)
    for name, reason in found.settings_missing.items():
        out.print(f"No settings for {name}: {reason}.")
    out.print()

"""The closed forms that apply to a network, with their values.

These are the windows of each class at equilibrium; for one link with RED that Vegas flows share
with Reno flows, the fair alpha and what it is derived from; for one Reno flow at a drop-tail
buffer, alone or with one Vegas flow, the formulas of the sawtooth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vegasfluid.analysis import closed_forms
from vegasfluid.analysis.closed_forms.formula import Formula
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network

__all__ = ["ApplicableFormula", "applicable_formulas", "drop_tail_formulas"]

Values = dict[str, float]
"""Arguments of formulas by name, each in its unit in `closed_forms.SYMBOLS`."""


@dataclass(frozen=True)
class ApplicableFormula:
    """A closed form with the values of its arguments for one network.

    Args:
        name: the quantity that it gives, such as `window of reno`.
        formula: the closed form, with the unit of its result.
        values: its arguments by name, in the units of the formula.
    """

    name: str
    formula: Formula
    values: Values

    @property
    def value(self) -> float:
        """The formula evaluated with `values`: one number in `formula.unit`, such as packets."""
        return float(self.formula(**self.values))


def applicable(name: str, formula: Formula, values: Values) -> Iterator[ApplicableFormula]:
    """Yield one `ApplicableFormula` with the arguments that the formula takes from `values`.

    Yields nothing if `values` (by argument name, in the formula's units) lacks one of them.
    """
    if set(formula.arguments) <= set(values):
        yield ApplicableFormula(name, formula, {key: values[key] for key in formula.arguments})


def applicable_formulas(
    point: Equilibrium, tuned: str | None, ratio: float
) -> list[ApplicableFormula]:
    """The closed forms that apply to an equilibrium of a network with one link, with their values.

    Args:
        point: the equilibrium. For the formulas of the fair alpha it should be the equilibrium at
            which class `tuned` has the ratio `ratio`.
        tuned: name of the Vegas class whose alpha is varied; None: no formulas for the fair alpha.
        ratio: goodput of a flow of class `tuned` divided by that of a flow of the other classes.

    Returns:
        The window of each class that has losses and a formula. If class `tuned` shares RED with
        Reno flows only, also the fair alpha, the queue and the largest ratio. Empty for several
        links.
    """
    network, process = point.network, point.options.loss_process
    if len(network.links) != 1:
        return []
    formulas = list(window_formulas(point, process))
    if tuned is not None and isinstance(network.link.aqm, Red):
        formulas += list(fair_alpha_formulas(point, tuned, ratio, process))
    return formulas


def drop_tail_formulas(network: Network) -> list[ApplicableFormula]:
    """The closed forms of the sawtooth of one Reno flow at one drop-tail buffer.

    Args:
        network: one drop-tail link with one Reno flow, alone or with one Vegas flow.

    Returns:
        For Reno alone the utilisation (a fraction). With Vegas: the queue after a halving
        (packets), Vegas's share of the link (a fraction) and the fair backlogs (packets); the
        backlog of Vegas is the equilibrium backlog of its alpha. Empty for any other network, for
        flows in the reverse direction, and for a backlog that is not below the buffer.
    """
    if len(network.links) != 1 or network.two_way or not network.link.aqm.shares_full_buffer:
        return []
    laws = {name: flows.law for name, flows in network.flows.items() if flows.count == 1}
    vegas = {name: law for name, law in laws.items() if isinstance(law, Vegas)}
    renos = [name for name, law in laws.items() if isinstance(law, Reno)]
    if len(renos) != 1 or len(vegas) > 1 or len(network.flows) != len(renos) + len(vegas):
        return []
    capacity, buffer = float(network.link.capacity), float(network.link.buffer)
    base_rtt = float(np.mean([network.mean_base_rtt(name) for name in network.flows]))
    if not vegas:
        filling = {"filling": min(buffer / (capacity * base_rtt), 1.0)}
        formula = closed_forms.reno_utilisation()
        return [ApplicableFormula("utilisation of the saw-tooth", formula, filling)]
    ((name, law),) = vegas.items()
    backlog = float(law.equilibrium_backlogs[0])
    if not 0 < backlog < buffer:
        return []
    values = {"capacity": capacity, "base_rtt": base_rtt, "buffer": buffer, "backlog": backlog}
    formula = closed_forms.queue_after_halving()
    lowest = ApplicableFormula("queue after a halving", formula, values)
    share, buffers = values | {"lowest": lowest.value}, {"buffer": buffer}
    small = closed_forms.fair_backlog_of_small_buffer()
    large = closed_forms.fair_backlog_of_large_buffer()
    return [
        lowest,
        ApplicableFormula(f"share of {name}", closed_forms.vegas_share(), share),
        ApplicableFormula("fair backlog, small buffer", small, buffers),
        ApplicableFormula("fair backlog, large buffer", large, buffers),
    ]


def window_formulas(point: Equilibrium, process: str) -> Iterator[ApplicableFormula]:
    """Yield the closed form of each class's window (packets) at an equilibrium with one link.

    Each takes drop probability, round-trip times and parameters from `point`; `process` is a name
    in `LOSS_PROCESSES`. Classes without losses or without a formula are left out.
    """
    for name, flows in point.network.flows.items():
        law = flows.law.plain if isinstance(flows.law, VegasRerouting) else flows.law
        values = class_values(point, name) | law_values(law, process)
        formula = window_formula(law, process, values["drop_prob"])
        if formula is not None:
            label = "saturated window" if isinstance(law, Vegas) else "window"
            yield from applicable(f"{label} of {name}", formula, values)


def window_formula(law: CongestionControl, process: str, prob: float) -> Formula | None:
    """The closed form of a congestion control's window (packets) at equilibrium.

    None if the drop probability `prob` is 0 or there is no formula for this congestion control and
    loss process (a name in `LOSS_PROCESSES`).
    """
    if prob <= 0:
        return None
    if isinstance(law, Vegas):
        return closed_forms.vegas_saturated_window()
    try:
        return closed_forms.equilibrium_window(law, process)
    except InvalidInput:
        return None


def red_queue_formula(red: Red) -> Formula:
    """Formula for the equilibrium queue over RED (packets) that fits how `red` spaces its drops."""
    if red.is_linux:
        return closed_forms.red_queue_linux()
    return closed_forms.red_queue_spaced() if red.waits else closed_forms.red_queue()


def fair_alpha_formulas(
    point: Equilibrium, tuned: str, ratio: float, process: str
) -> Iterator[ApplicableFormula]:
    """Yield the closed forms for a Vegas class that shares one RED link with Reno flows.

    They are the queue and the fair alphas (packets) with which a flow of class `tuned` has `ratio`
    times the goodput of a Reno flow, alpha at saturation (packets), and the largest ratio.
    `process` is a name in `LOSS_PROCESSES`. Yields nothing if the queue is not RED, class `tuned`
    is not Vegas, another class is neither Reno nor NewReno, or flows are in the reverse direction.
    """
    network = point.network.resolved()
    law, red = network.flows[tuned].law, network.link.aqm
    others = [flows for name, flows in network.flows.items() if name != tuned]
    if not isinstance(law, Vegas) or not isinstance(red, Red):
        return
    if network.two_way or not all(isinstance(flows.law, Reno) for flows in others):
        return
    values = class_values(point, tuned) | law_values(law, process)
    competitors, count = sum(flows.count for flows in others), network.flows[tuned].count
    values |= {"ratio": ratio, "tuned": float(count), "competitors": float(competitors)}
    values |= {"count": competitors + ratio * count, "min_thresh": red.min_thresh}
    values |= {"max_thresh": red.max_thresh, "max_drop": red.max_drop}
    values["loss_constant"] = float(closed_forms.loss_constant(others[0].law, process))
    values["slope"] = closed_forms.red_slope(red.waits)(
        min_thresh=red.min_thresh, max_thresh=red.max_thresh, max_drop=red.max_drop
    )
    dialect = Vegas(dialect=law.dialect)
    formulas = {
        "queue at this ratio": red_queue_formula(red),
        "fair alpha, RED_min / N": closed_forms.fair_alpha_heuristic(),
        "fair alpha, first order": closed_forms.fair_alpha_expanded(1),
        "fair alpha, no losses": closed_forms.fair_alpha_lossless(dialect),
        "fair alpha, with losses": closed_forms.fair_alpha_with_losses(dialect, process),
        "alpha at saturation": closed_forms.vegas_alpha_at_saturation(),
        "largest ratio": closed_forms.largest_ratio(),
    }
    for name, formula in formulas.items():
        yield from applicable(name, formula, values)


def class_values(point: Equilibrium, name: str) -> Values:
    """Arguments of formulas from class `name` and the one link of an equilibrium.

    Keys: `capacity` (packets/s) and `buffer` (packets) of the link; `queue` (packets) and
    `drop_prob` (probability of a drop or mark) of the queue in which the class's data wait; means
    over the class's flows: `rtt` and `base_rtt` (s), `backlog` (packets of one flow).
    """
    link, ([queue], _) = point.network.link, point.network.queue_indices(name)
    return {
        "capacity": float(link.capacity),
        "buffer": float(link.buffer),
        "queue": float(point.values.queue[queue]),
        "drop_prob": float(point.values.drop_prob[queue]),
        "rtt": point.mean(name, "rtt"),
        "base_rtt": float(np.mean(point.network.base_rtts(name))),
        "backlog": point.mean(name, "backlog"),
    }


def law_values(law: Any, process: str) -> Values:
    """Arguments of formulas from a congestion control's parameters, with a loss process.

    `process` is a name in `LOSS_PROCESSES`. Keys: `loss_factor` (without unit) always; for Vegas
    `alpha` (packets) and `cut` (fraction of the window that a loss takes); for CUBIC `cut` and
    `cubic_c` (packets/s^3); for Scalable TCP `cut` and `increase` (packets per ACK).
    """
    values = {"loss_factor": loss_factor(law, process)}
    if isinstance(law, Vegas):
        cut = law.implementation.loss_cut
        return values | {"alpha": float(law.alpha), "cut": cut}  # type: ignore[arg-type]
    if isinstance(law, Cubic):
        values |= {"cut": 1 - law.beta, "cubic_c": law.C}
    if isinstance(law, Scalable):
        values |= {"cut": law.decrease, "increase": law.increase}
    return values


def loss_factor(law: CongestionControl, process: str) -> float:
    """The dimensionless factor on the loss rate in a law's drift, for a loss process.

    It is evaluated at a window of 10 packets and a round-trip time of 0.1 s.
    """
    return float(law.loss_factor(process, law.init(np.float64(10.0), np.float64(0.1))))

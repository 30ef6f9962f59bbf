"""Which closed forms speak of a network, and what they say of it.

For one link with RED that Vegas flows share with Reno (a window of c / sqrt(p)), as the papers
have it, and for the windows of any law at the rest that was found.
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

__all__ = ["Applied", "applied", "drop_tail_forms"]


@dataclass(frozen=True)
class Applied:
    """A closed form with the numbers of a network.

    Args:
        name: by which it is found.
        formula: the closed form.
        values: what it takes, by name.
    """

    name: str
    formula: Formula
    values: dict[str, float]

    @property
    def value(self) -> float:
        """What it gives."""
        return float(self.formula(**self.values))


def applied(rest: Equilibrium, tuned: str | None, ratio: float) -> list[Applied]:
    """The closed forms of a network, at an equilibrium where the tuned class has its ratio.

    Args:
        rest: the equilibrium.
        tuned: the Vegas class; None: none.
        ratio: of a tuned flow's rate to a competitor's.
    """
    network, process = rest.network, rest.options.loss_process
    if len(network.links) != 1:
        return []
    found = list(windows(rest, process))
    if tuned is not None and isinstance(network.link.aqm, Red):
        found += list(over_red(rest, tuned, ratio, process))
    return found


def drop_tail_forms(network: Network) -> list[Applied]:
    """The closed forms of a saw-tooth at a drop-tail buffer: of one Reno flow beside one Vegas flow
    with its alpha for its backlog, or alone; none of other networks.
    """
    if len(network.links) != 1 or network.link.aqm.drops_by_chance:
        return []
    laws = {name: flows.law for name, flows in network.flows.items() if flows.count == 1}
    vegas = {name: law for name, law in laws.items() if isinstance(law, Vegas)}
    renos = [name for name, law in laws.items() if isinstance(law, Reno)]
    if len(renos) != 1 or len(vegas) > 1 or len(network.flows) != len(renos) + len(vegas):
        return []
    base_rtt = float(np.mean([network.mean_base_rtt(of) for of in network.flows]))
    own = {"capacity": float(network.link.capacity), "base_rtt": base_rtt}
    own["buffer"] = float(network.link.buffer)
    if not vegas:
        filling = own["buffer"] / (own["capacity"] * base_rtt)
        form = closed_forms.reno_utilisation()
        return [Applied("utilisation of the saw-tooth", form, {"filling": min(filling, 1.0)})]
    ((name, law),) = vegas.items()
    backlog = float(law.equilibrium_backlogs[0])
    if not 0 < backlog < own["buffer"]:
        return []
    lowest = Applied(
        "queue after a halving", closed_forms.queue_after_halving(), own | {"backlog": backlog}
    )
    share = own | {"backlog": backlog, "lowest": lowest.value}
    forms = [lowest, Applied(f"share of {name}", closed_forms.vegas_share(), share)]
    small = {"buffer": own["buffer"]}
    return [
        *forms,
        Applied("fair backlog, small buffer", closed_forms.fair_backlog_of_small_buffer(), small),
        Applied("fair backlog, large buffer", closed_forms.fair_backlog_of_large_buffer(), small),
    ]


def windows(rest: Equilibrium, process: str) -> Iterator[Applied]:
    """Each class's window at rest."""
    known = of_rest(rest)
    for name, flows in rest.network.flows.items():
        law = flows.law.plain if isinstance(flows.law, VegasRerouting) else flows.law
        own = known | of_class(rest, name) | of_law(law, process)
        for form in forms_of_window(law, process, own["drop_prob"]):
            if set(form.takes) <= set(own):
                kind = "saturated window" if isinstance(law, Vegas) else "window"
                yield Applied(f"{kind} of {name}", form, {key: own[key] for key in form.takes})


def forms_of_window(law: CongestionControl, process: str, prob: float) -> list[Formula]:
    """The window of a law where it is told by losses, or by none; none where it has no form."""
    if isinstance(law, Vegas):
        return [closed_forms.vegas_saturated_window()] if prob > 0 else []
    try:
        return [closed_forms.equilibrium_window(law, process)] if prob > 0 else []
    except InvalidInput:
        return []


def over_red(rest: Equilibrium, tuned: str, ratio: float, process: str) -> Iterator[Applied]:
    """The fair alpha beside Reno over RED, and what leads to it."""
    network = rest.network
    law, red = network.flows[tuned].law, network.link.aqm
    others = [flows for name, flows in network.flows.items() if name != tuned]
    if not isinstance(law, Vegas) or not isinstance(red, Red):
        return
    if not all(isinstance(flows.law, Reno) for flows in others):
        return
    own = of_rest(rest) | of_class(rest, tuned) | of_law(law, process)
    rivals, count = sum(flows.count for flows in others), network.flows[tuned].count
    own |= {"ratio": ratio, "tuned": float(count), "competitors": float(rivals)}
    own |= {"count": rivals + ratio * count, "min_thresh": red.min_thresh}
    own |= {"max_thresh": red.max_thresh, "max_drop": red.max_drop}
    own["loss_constant"] = float(closed_forms.loss_constant(others[0].law, process))
    own["slope"] = closed_forms.red_slope(red.wait)(
        min_thresh=red.min_thresh, max_thresh=red.max_thresh, max_drop=red.max_drop
    )
    dialect = Vegas(dialect=law.dialect)
    queue = closed_forms.red_queue_spaced() if red.wait else closed_forms.red_queue()
    forms = {
        "queue at the share": queue,
        "fair alpha, RED_min / N": closed_forms.fair_alpha_heuristic(),
        "fair alpha, first order": closed_forms.fair_alpha_expanded(1),
        "fair alpha, no losses": closed_forms.fair_alpha_lossless(dialect),
        "fair alpha, with losses": closed_forms.fair_alpha_with_losses(dialect, process),
        "alpha at saturation": closed_forms.vegas_alpha_at_saturation(),
        "largest ratio": closed_forms.largest_ratio(),
    }
    for name, form in forms.items():
        if set(form.takes) <= set(own):
            yield Applied(name, form, {key: own[key] for key in form.takes})


def of_rest(rest: Equilibrium) -> dict[str, float]:
    """What all classes share."""
    network: Network = rest.network
    return {
        "capacity": float(network.link.capacity),
        "buffer": float(network.link.buffer),
        "queue": float(rest.values.queue[0]),
        "drop_prob": float(rest.values.drop_prob[0]),
    }


def of_class(rest: Equilibrium, name: str) -> dict[str, float]:
    """What a class has, in the mean."""
    trips = rest.network.base_rtts(name)
    return {
        "rtt": rest.mean(name, "rtt"),
        "base_rtt": float(np.mean(trips)),
        "backlog": rest.mean(name, "backlog"),
    }


def of_law(law: Any, process: str) -> dict[str, float]:
    """What a law's formulas take of it."""
    if isinstance(law, Vegas):
        cut = law.implementation.loss_cut
        return {"alpha": float(law.alpha), "cut": cut, "loss_factor": factor(law, process)}  # type: ignore[arg-type]
    named = {"loss_factor": factor(law, process)}
    if isinstance(law, Cubic):
        named |= {"cut": 1 - law.beta, "cubic_c": law.C}
    if isinstance(law, Scalable):
        named |= {"cut": law.decrease, "increase": law.increase}
    return named


def factor(law: CongestionControl, process: str) -> float:
    """The law's `loss_factor`, where it is one number."""
    return float(law.loss_factor(process, law.init(np.float64(10.0), np.float64(0.1))))

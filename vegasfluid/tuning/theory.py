"""Theory of a recommended alpha: regime, terms, elasticities, distance to saturation.

All of it is of the equilibrium of the mean-field equations (`vegasfluid.analysis`), with the alpha
that reaches the target ratio there; where none does, with the recommended one.

Sources:
    Derived for this project. In equilibrium a Vegas flow that loses packets recovers during a
    fraction f of its round trips (`Vegas.recovering_fraction`). Losses make f grow as the square of
    the window W, so that a flow that always recovers, f = 1, has the window W / sqrt(f)
    (`analysis.closed_forms.windows_vegas` has it as formulas).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.analysis.equilibria.equilibrium import (
    Equilibrium,
    equilibrium,
    equilibrium_model,
    quantities_near,
)
from vegasfluid.analysis.equilibria.fair_alpha import fair_alpha, network_with_alpha
from vegasfluid.analysis.linear_stability.stability import Stability, stability
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Flows, Link, Network
from vegasfluid.tuning.parameters import largest_alpha
from vegasfluid.tuning.result import Recommendation

__all__ = ["EquilibriumTheory", "explain_by_equilibrium"]

FLAT = 0.1
"""Above saturation, an elasticity of the window below this is called a plateau."""
NO_RECOVERY = 1e-9
"""A smaller fraction of round trips in recovery counts as none."""
ROUNDING = 1e-9
"""Relative rounding error of a ratio."""
SMALLEST_ELASTICITY = 1e-3
"""With a smaller d log(ratio) / d log(alpha), alpha does not follow from the ratio."""


@dataclass(frozen=True)
class EquilibriumTheory:
    """Why a recommended alpha is what it is, from the mean-field equilibrium.

    Args:
        alpha: alpha of the equilibrium that all this describes, packets.
        ratio: goodput of a tuned flow over that of another, there.
        target_missed: why no alpha reaches the target in equilibrium; empty where `alpha` does.
        regime: "below saturation"; "loss-dominated" above it, as long as alpha still moves the
            windows; "plateau" where it hardly does.
        recovering_fraction: fraction of the round trips in which a tuned flow recovers from losses.
        window_elasticity: d log(window) / d log(alpha) at constant round-trip time and losses.
        ratio_elasticity: d log(ratio) / d log(alpha) of the whole network; None where every window
            between alpha and beta is an equilibrium.
        terms: packets by name; their sum is the recommended alpha.
        elasticities: d log(alpha) / d log of each number of the network, at a constant ratio; empty
            where alpha does not follow from the ratio.
        saturation_alpha: alpha above which losses limit the windows more than alpha does, packets;
            None without losses.
        largest_ratio: goodput ratio with the largest alpha that the path can contain; None if there
            is no equilibrium with it.
        stability: of the equilibrium; None where the linear system does not decide it.
        stability_missing: why it does not.
    """

    alpha: float
    ratio: float
    target_missed: str
    regime: str
    recovering_fraction: float
    window_elasticity: float
    ratio_elasticity: float | None
    terms: dict[str, float]
    elasticities: dict[str, float]
    saturation_alpha: float | None
    largest_ratio: float | None
    stability: Stability | None
    stability_missing: str


def explain_by_equilibrium(recommendation: Recommendation) -> EquilibriumTheory:
    """Explain a recommended alpha by the equilibrium of the mean-field equations.

    Args:
        recommendation: for a network of one link.

    Returns:
        Terms and elasticities of alpha, what limits the windows, saturation and stability.

    Raises:
        InvalidInput: for a network that has no equilibrium, or several links.
        SolveFailed: where the equilibrium is not found.
    """
    network, tuned = recommendation.network, recommendation.tuned
    _ = network.link  # several links are an error
    largest = largest_ratio(network, tuned)
    state, missed = equilibrium_at_target(recommendation, largest)
    alpha = alpha_of(state, tuned)
    fraction, elasticity = recovery_and_elasticity(state, tuned)
    saturation = saturation_alpha(state, tuned, fraction)
    slopes = log_ratio_slopes(state, tuned)
    verdict, stability_missing = stability_or_reason(state)
    terms = terms_of_alpha(state, tuned)
    if not missed:
        terms["packets"] = alpha_of(recommendation, tuned) - alpha
    return EquilibriumTheory(
        alpha=alpha,
        ratio=state.ratio(tuned),
        target_missed=missed,
        regime=regime_name(alpha, saturation, elasticity),
        recovering_fraction=fraction,
        window_elasticity=elasticity,
        ratio_elasticity=slopes.get("alpha"),
        terms=terms,
        elasticities={} if missed else alpha_elasticities(slopes),
        saturation_alpha=saturation,
        largest_ratio=largest,
        stability=verdict,
        stability_missing=stability_missing,
    )


def equilibrium_at_target(
    recommendation: Recommendation, largest: float | None
) -> tuple[Equilibrium, str]:
    """The equilibrium in which the class has its target ratio, and an empty text.

    Where no alpha gives it: the equilibrium with the recommended alpha, and why.

    Args:
        recommendation: gives network, tuned class and target ratio.
        largest: goodput ratio with the largest alpha; None where that has no equilibrium.
    """
    network, target = recommendation.network, recommendation.ratio
    try:
        fair = fair_alpha(network, recommendation.tuned, target)
    except SolveFailed as failed:
        reason = f"the alpha with a ratio of {target:g} was not found ({failed})"
        return equilibrium(network), reason
    if fair is not None:
        return fair.equilibrium, ""
    if largest is not None and largest > target * (1 + ROUNDING):
        reason = f"even the smallest alpha gives more than a ratio of {target:g}"
        return equilibrium(network), reason
    most = "" if largest is None else f", it is at most {largest:.3g}"
    return equilibrium(network), f"no alpha gives a ratio of {target:g}{most}"


def law_of(state: Equilibrium | Recommendation, tuned: str) -> Vegas:
    """Vegas congestion control of the tuned class in a state's network."""
    return cast(Vegas, state.network.flows[tuned].law)


def alpha_of(state: Equilibrium | Recommendation, tuned: str) -> float:
    """Alpha of the tuned class in a state's network, packets."""
    return float(cast(Any, law_of(state, tuned).alpha))


def regime_name(alpha: float, saturation: float | None, elasticity: float) -> str:
    """Name of what limits the windows: `below saturation`, `loss-dominated` or `plateau`.

    Args:
        alpha: packets.
        saturation: alpha above which losses limit the windows, packets; None without losses.
        elasticity: d log(window) / d log(alpha) at constant losses; a plateau if below 0.1.
    """
    if saturation is None or alpha < saturation:
        return "below saturation"
    return "plateau" if elasticity < FLAT else "loss-dominated"


def estimated_backlog(state: Equilibrium, tuned: str) -> float:
    """Backlog of a tuned flow in equilibrium as its Vegas dialect estimates it, packets."""
    cwnd, rtt = state.mean(tuned, "cwnd"), state.mean(tuned, "rtt")
    base = float(np.mean(state.network.base_rtts(tuned)))
    by_base = law_of(state, tuned).implementation.divides_by_base_rtt
    return cwnd * (rtt - base) / (base if by_base else rtt)


def recovery_and_elasticity(state: Equilibrium, tuned: str) -> tuple[float, float]:
    """Fraction of round trips in recovery, and d log(window) / d log(alpha) at constant losses.

    At equilibrium Vegas's increase f(alpha, d), with d its estimate of its backlog (packets),
    balances its losses k W^2, where k is a constant. d is in proportion to the window W, so that
    d log W / d log alpha = alpha f_alpha / (2 f - d f_d). Without losses it is 1.
    """
    law = law_of(state, tuned)

    def fraction_at(alpha: Any, backlog: Any) -> Any:
        """Fraction of round trips in recovery; arguments in packets."""
        return replace(law, alpha=alpha, beta=alpha + 1.0).recovering_fraction(backlog)

    alpha = jnp.asarray(law.alpha, float)
    backlog = jnp.asarray(estimated_backlog(state, tuned), float)
    fraction, slopes = jax.value_and_grad(fraction_at, argnums=(0, 1))(alpha, backlog)
    if fraction < NO_RECOVERY:
        return 0.0, 1.0
    by_alpha, by_backlog = slopes
    return float(fraction), float(alpha * by_alpha / (2 * fraction - backlog * by_backlog))


def saturation_alpha(state: Equilibrium, tuned: str, fraction: float) -> float | None:
    """Alpha at which losses limit the windows as much as alpha does, packets; None without losses.

    Args:
        state: the equilibrium.
        tuned: the Vegas class.
        fraction: of the round trips in recovery.
    """
    if fraction == 0.0:
        return None
    offset = law_of(state, tuned).implementation.alpha_offset
    return estimated_backlog(state, tuned) / math.sqrt(fraction) - offset


def largest_ratio(network: Network, tuned: str) -> float | None:
    """Goodput ratio of class `tuned` in equilibrium with the largest alpha of the path.

    None where there is no equilibrium.
    """
    try:
        return equilibrium(network_with_alpha(network, tuned, largest_alpha(network))).ratio(tuned)
    except SolveFailed:
        return None


def stability_or_reason(state: Equilibrium) -> tuple[Stability | None, str]:
    """Linear stability of the equilibrium and an empty text; or None and why it is undecided."""
    if state.upper is not None:
        return None, "every window between alpha and beta is an equilibrium"
    try:
        return stability(state), ""
    except (InvalidInput, SolveFailed) as error:
        return None, str(error)


def terms_of_alpha(state: Equilibrium, tuned: str) -> dict[str, float]:
    """Terms whose sum is alpha in equilibrium, packets, by name.

    Two are a flow's part of the queue, in proportion to its goodput: up to `red_min`, `target` or
    `buffer` (see `lower_queue`), and above it. `estimate` is the backlog that the dialect estimates
    minus the true one. `own_losses` is how far alpha must exceed the estimate because of losses.
    """
    network, law = state.network, law_of(state, tuned)
    direction, goodput = network.flows[tuned].direction, state.mean(tuned, "goodput")
    total = sum(
        flows.count * state.mean(name, "goodput")
        for name, flows in network.flows.items()
        if flows.direction == direction
    )
    name, low = lower_queue(network.link)
    backlog = state.mean(tuned, "backlog")
    part = min(low * goodput / total, backlog)
    estimate, offset = estimated_backlog(state, tuned), law.implementation.alpha_offset
    return {
        name: part,
        f"queue_above_{name}": backlog - part,
        "estimate": estimate - offset - backlog,
        "own_losses": alpha_of(state, tuned) + offset - estimate,
    }


def lower_queue(link: Link) -> tuple[str, float]:
    """Name and length (packets) of the queue beyond which the rest is a separate term.

    It is RED's lower threshold `red_min`, the queue at a discipline's `target`, or the `buffer`.
    """
    if isinstance(link.aqm, Red):
        return "red_min", float(link.aqm.min_thresh)
    target = link.aqm.target_queue(link.capacity)
    return ("buffer", float(link.buffer)) if target is None else ("target", float(target))


def log_ratio_slopes(state: Equilibrium, tuned: str) -> dict[str, float]:
    """Derivatives of log(goodput ratio) by the logarithms of alpha and the network's numbers.

    By name (`alpha`, `flows`, `capacity`, `base_rtt`, numbers of the queue discipline or `buffer`),
    by implicit differentiation; `flows` scales every class. Empty where the equilibrium is a set.
    """
    if state.upper is not None:
        return {}
    aqm = state.network.link.aqm.sets_queue or ("buffer",)
    names: tuple[str, ...] = ("alpha", "flows", "capacity", "base_rtt", *aqm)
    index = list(state.network.flows).index(tuned)

    def log_ratio(logs: Any) -> Any:
        """log(goodput ratio) in equilibrium, with the network's numbers times exp(logs)."""
        factor: dict[str, Any] = dict(zip(names, jnp.exp(logs), strict=True))
        model = equilibrium_model(scaled_network(state.network, tuned, factor), state.options)
        parameters, slices = model.parameters, list(model.structure.class_slices)
        count = parameters.groups.count
        groups = parameters.groups._replace(count=count * factor["flows"])
        scaled = replace(model, parameters=parameters._replace(groups=groups))
        goodput = count * quantities_near(scaled, state.solution).goodput
        sums = [jnp.sum(goodput[part]) for part in slices]
        flows = [jnp.sum(count[part]) for part in slices]
        tuned_sum, tuned_flows = sums.pop(index), flows.pop(index)
        return jnp.log(tuned_sum / tuned_flows) - jnp.log(sum(sums) / sum(flows))

    slopes = np.asarray(jax.jacfwd(log_ratio)(jnp.zeros(len(names))))
    return dict(zip(names, map(float, slopes), strict=True))


def alpha_elasticities(slopes: dict[str, float]) -> dict[str, float]:
    """Elasticities d log(alpha) / d log(quantity) at a constant goodput ratio, by quantity.

    Empty where alpha has hardly any effect on the ratio.

    Args:
        slopes: d log(ratio) / d log(quantity) by name of a network quantity; one is `alpha`.
    """
    by_alpha = slopes.get("alpha", 0.0)
    if by_alpha < SMALLEST_ELASTICITY:
        return {}
    return {name: -slope / by_alpha for name, slope in slopes.items() if name != "alpha"}


def scaled_network(network: Network, tuned: str, factor: dict[str, Any]) -> Network:
    """The network with alpha of class `tuned` and its numbers times factors, given by name.

    The names are `alpha`, `capacity`, `base_rtt` (scales all delays), and what sets the queue.
    """
    ((name, link),) = network.links.items()
    longer = factor["base_rtt"]
    changes = {"capacity": link.capacity * factor["capacity"], "delay": link.delay * longer}
    if known := link.aqm.sets_queue:
        values = {key: getattr(link.aqm, key) * factor[key] for key in known}
        link = replace(link, aqm=replace(link.aqm, **values), **changes)
    else:
        link = replace(link, buffer=link.buffer * factor["buffer"], **changes)
    flows = {key: with_longer_delays(one, longer) for key, one in network.flows.items()}
    alpha = cast(Any, network.flows[tuned].law).alpha * factor["alpha"]
    return network_with_alpha(replace(network, links={name: link}, flows=flows), tuned, alpha)


def with_longer_delays(flows: Flows, factor: Any) -> Flows:
    """A class of flows with its base RTTs or access delay times a factor."""
    if flows.access_delay is not None:
        return replace(flows, access_delay=flows.access_delay * factor)
    given = flows.base_rtt
    if isinstance(given, tuple):
        times = {rtt: rtt * factor for rtt in dict.fromkeys(given)}  # equal RTTs share one value
        return replace(flows, base_rtt=tuple(times[rtt] for rtt in given))
    return replace(flows, base_rtt=cast(Any, given) * factor)

"""What theory says of a recommended alpha: regime, terms, sensitivities, distance to saturation.

All of rest in the mean-field equations (`vegasfluid.analysis`), with the alpha that has the goal
there; where none has, with the recommended one.

Sources:
    Derived for this project. At rest a Vegas flow that loses packets climbs back in a share f of
    its round trips (`Vegas.recovering_fraction`). Losses make f grow as the square of the
    window W, so that a flow that only climbs, f = 1, has the window W / sqrt(f)
    (`analysis.closed_forms.windows_vegas` has it as formulas).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, arrays, equilibrium, polished
from vegasfluid.analysis.equilibria.fair_alpha import fair_alpha, with_alpha
from vegasfluid.analysis.linear_stability.stability import Stability, stability
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Flows, Network
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.thresholds import largest_alpha

__all__ = ["EquilibriumTheory", "reasons"]

FLAT = 0.1
"""Where less than this part of a change in alpha reaches the window, hardly anything does."""
NONE = 1e-9
"""A share of climbing flows below this is none."""
ROUNDING = 1e-9
NO_SLOPE = 1e-3
"""A slope d log(ratio) / d log(alpha) below this tells nothing of alpha."""
THRESHOLDS = ("min_thresh", "max_thresh", "max_drop")


@dataclass(frozen=True)
class EquilibriumTheory:
    """Why alpha is what it is, at rest.

    Args:
        alpha: at which all this is told, packets.
        ratio: goodput of a tuned flow over that of another, there.
        missed: why no alpha has the goal at rest; empty where `alpha` has it.
        regime: "below saturation"; "loss-dominated" above it, as long as alpha moves the windows
            still; "plateau" where it hardly does.
        climbing: share of the round trips in which a tuned flow climbs back after losses.
        grip: d log(window) / d log(alpha) with the round-trip time and the losses as they are.
        slope: d log(ratio) / d log(alpha) of the whole network; None where rest is a set.
        terms: that alpha is the sum of, packets, by name.
        sensitivities: d log(alpha) / d log of each number of the network, at a constant ratio;
            empty where alpha has none.
        saturation: alpha above which losses hold the windows more than alpha does, packets: where
            the law of the minimum of the two turns; None without losses.
        largest_ratio: with the largest alpha that the path holds; None where it has no rest.
        stability: of rest; None where the linear system does not tell.
        untold: why it does not.
    """

    alpha: float
    ratio: float
    missed: str
    regime: str
    climbing: float
    grip: float
    slope: float | None
    terms: dict[str, float]
    sensitivities: dict[str, float]
    saturation: float | None
    largest_ratio: float | None
    stability: Stability | None
    untold: str


def reasons(found: Recommendation) -> EquilibriumTheory:
    """What rest says of a recommendation.

    Args:
        found: the recommendation.

    Raises:
        InvalidInput: for a network in which something never rests, or has several links.
        SolveFailed: where rest is not found.
    """
    network, tuned = found.network, found.tuned
    _ = network.link  # refuses several
    largest = largest_ratio(network, tuned)
    rest, missed = place(found, largest)
    alpha = alpha_of(rest, tuned)
    climbing, grip = climbing_and_grip(rest, tuned)
    saturation = saturation_of(rest, tuned, climbing)
    slopes, verdict = log_slopes(rest, tuned), judged(rest)
    slope = slopes.get("alpha")
    terms = terms_of(rest, tuned)
    if not missed:
        terms["packets"] = alpha_of(found, tuned) - alpha
    return EquilibriumTheory(
        alpha=alpha,
        ratio=rest.ratio(tuned),
        missed=missed,
        regime=regime_of(alpha, saturation, grip),
        climbing=climbing,
        grip=grip,
        slope=slope,
        terms=terms,
        sensitivities={} if missed else sensitivities(slopes),
        saturation=saturation,
        largest_ratio=largest,
        stability=verdict[0],
        untold=verdict[1],
    )


def place(found: Recommendation, largest: float | None) -> tuple[Equilibrium, str]:
    """Rest with the goal, or with the recommended alpha and why it is not with the goal."""
    network, goal = found.network, found.ratio
    try:
        fair = fair_alpha(network, found.tuned, goal)
    except SolveFailed as failed:
        return equilibrium(network), f"the alpha with a ratio of {goal:g} was not found ({failed})"
    if fair is not None:
        return fair.rest, ""
    if largest is not None and largest > goal * (1 + ROUNDING):
        return equilibrium(network), f"even the smallest alpha gives more than a ratio of {goal:g}"
    most = "" if largest is None else f", it is at most {largest:.3g}"
    return equilibrium(network), f"no alpha gives a ratio of {goal:g}{most}"


def law_of(there: Equilibrium | Recommendation, tuned: str) -> Vegas:
    """The law of the tuned class."""
    return cast(Vegas, there.network.flows[tuned].law)


def alpha_of(there: Equilibrium | Recommendation, tuned: str) -> float:
    """Its alpha, packets."""
    return float(cast(Any, law_of(there, tuned).alpha))


def regime_of(alpha: float, saturation: float | None, grip: float) -> str:
    """A name for what holds the windows."""
    if saturation is None or alpha < saturation:
        return "below saturation"
    return "plateau" if grip < FLAT else "loss-dominated"


def estimate(rest: Equilibrium, tuned: str) -> float:
    """The backlog as the dialect estimates it, packets."""
    cwnd, rtt, base = rest.mean(tuned, "cwnd"), rest.mean(tuned, "rtt"), base_rtt(rest, tuned)
    by_base = law_of(rest, tuned).implementation.divides_by_base_rtt
    return cwnd * (rtt - base) / (base if by_base else rtt)


def base_rtt(rest: Equilibrium, tuned: str) -> float:
    """The mean round-trip time of a class with nothing in the queues, s."""
    return float(np.mean(rest.network.base_rtts(tuned)))


def climbing_and_grip(rest: Equilibrium, tuned: str) -> tuple[float, float]:
    """The share of flows that climb back, and how a window follows alpha beside losses.

    At rest f(alpha, d) = k W^2 with d, the estimate, in proportion to W: so
    d log W / d log alpha = alpha f_alpha / (2 f - d f_d). Without losses it is 1.
    """
    law, backlog = law_of(rest, tuned), estimate(rest, tuned)

    def share(alpha: Any, backlog: Any) -> Any:
        return replace(law, alpha=alpha, beta=alpha + 1.0).recovering_fraction(backlog)

    alpha, here = jnp.asarray(law.alpha, float), jnp.asarray(backlog, float)
    climbing, slopes = jax.value_and_grad(share, argnums=(0, 1))(alpha, here)
    if climbing < NONE:
        return 0.0, 1.0
    by_alpha, by_backlog = slopes
    return float(climbing), float(alpha * by_alpha / (2 * climbing - here * by_backlog))


def saturation_of(rest: Equilibrium, tuned: str, climbing: float) -> float | None:
    """The alpha at which losses as they are hold the windows as low as alpha does, packets."""
    if climbing == 0.0:
        return None
    offset = law_of(rest, tuned).implementation.alpha_offset
    return estimate(rest, tuned) / math.sqrt(climbing) - offset


def largest_ratio(network: Network, tuned: str) -> float | None:
    """The ratio at rest with the largest alpha that the path holds; None where there is no rest."""
    try:
        return equilibrium(with_alpha(network, tuned, largest_alpha(network))).ratio(tuned)
    except SolveFailed:
        return None


def judged(rest: Equilibrium) -> tuple[Stability | None, str]:
    """Whether rest lasts; or why nothing tells."""
    if rest.upper is not None:
        return None, "windows rest anywhere between alpha and beta, neither lost nor left"
    try:
        return stability(rest), ""
    except (InvalidInput, SolveFailed) as refused:
        return None, str(refused)


def terms_of(rest: Equilibrium, tuned: str) -> dict[str, float]:
    """What alpha is made of at rest, packets; the sum is alpha.

    A flow's part of what stands in the queue up to RED_min, or to a full buffer (the N-th part
    where rates are equal), and of what is there above; what the dialect's estimate has besides (its
    divisor, its rounding, other queues on the way); and what alpha has to be above the estimate
    because of losses.
    """
    network, law = rest.network, law_of(rest, tuned)
    way, own = network.flows[tuned].direction, rest.mean(tuned, "goodput")
    total = sum(
        flows.count * rest.mean(name, "goodput")
        for name, flows in network.flows.items()
        if flows.direction == way
    )
    red, backlog = network.link.aqm, rest.mean(tuned, "backlog")
    low = red.min_thresh if isinstance(red, Red) else network.link.buffer
    name = "red_min" if isinstance(red, Red) else "buffer"
    part = min(low * own / total, backlog)
    counted, rise = estimate(rest, tuned), law.implementation.alpha_offset
    return {
        name: part,
        f"queue_above_{name}": backlog - part,
        "estimate": counted - rise - backlog,
        "own_losses": alpha_of(rest, tuned) + rise - counted,
    }


def log_slopes(rest: Equilibrium, tuned: str) -> dict[str, float]:
    """The slopes of log(ratio) by the logarithms of alpha and of the network's numbers.

    Implicit gradients; flows are more or fewer in every class. None are there where rest is a set.
    """
    if rest.upper is not None:
        return {}
    aqm = THRESHOLDS if isinstance(rest.network.link.aqm, Red) else ("buffer",)
    names: tuple[str, ...] = ("alpha", "flows", "capacity", "base_rtt", *aqm)
    number = list(rest.network.flows).index(tuned)

    def log_ratio(logs: Any) -> Any:
        factor: dict[str, Any] = dict(zip(names, jnp.exp(logs), strict=True))
        posed, plan = arrays(scaled(rest.network, tuned, factor))
        count = posed.groups.count
        more = posed._replace(groups=posed.groups._replace(count=count * factor["flows"]))
        goodput = count * polished(more, plan, rest.options, rest.solved).goodput
        sent = [jnp.sum(goodput[part]) for part in plan.classes]
        flows = [jnp.sum(count[part]) for part in plan.classes]
        own, own_flows = sent.pop(number), flows.pop(number)
        return jnp.log(own / own_flows) - jnp.log(sum(sent) / sum(flows))

    found = np.asarray(jax.grad(log_ratio)(jnp.zeros(len(names))))
    return dict(zip(names, map(float, found), strict=True))


def sensitivities(slopes: dict[str, float]) -> dict[str, float]:
    """By how much alpha follows each number at a constant ratio; nothing where alpha is idle."""
    slope = slopes.get("alpha", 0.0)
    if slope < NO_SLOPE:
        return {}
    return {name: -of / slope for name, of in slopes.items() if name != "alpha"}


def scaled(network: Network, tuned: str, factor: dict[str, Any]) -> Network:
    """The network with alpha and its numbers times factors; delays all by that of the base RTT."""
    ((name, link),) = network.links.items()
    longer = factor["base_rtt"]
    changes = {"capacity": link.capacity * factor["capacity"], "delay": link.delay * longer}
    if isinstance(link.aqm, Red):
        values = {key: getattr(link.aqm, key) * factor[key] for key in THRESHOLDS}
        link = replace(link, aqm=replace(link.aqm, **values), **changes)
    else:
        link = replace(link, buffer=link.buffer * factor["buffer"], **changes)
    flows = {key: farther(of, longer) for key, of in network.flows.items()}
    alpha = cast(Any, network.flows[tuned].law).alpha * factor["alpha"]
    return with_alpha(replace(network, links={name: link}, flows=flows), tuned, alpha)


def farther(flows: Flows, factor: Any) -> Flows:
    """A class with its delays times a factor."""
    if flows.access_delay is not None:
        return replace(flows, access_delay=flows.access_delay * factor)
    given = flows.base_rtt
    if isinstance(given, tuple):
        times = {of: of * factor for of in dict.fromkeys(given)}  # those alike share the value
        return replace(flows, base_rtt=tuple(times[of] for of in given))
    return replace(flows, base_rtt=cast(Any, given) * factor)

"""Published formulas at an equilibrium, beside the values of the fluid model there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vegasfluid.analysis.literature.assumptions import TIMEOUT_IN_ROUND_TRIPS, Path
from vegasfluid.analysis.literature.recovery import recovery_time
from vegasfluid.analysis.literature.throughput import (
    MATHIS_RANGE,
    PFTK_RANGE,
    cubic_response,
    highspeed_response,
    mathis,
    pftk,
)
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.network import Flows, Network

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["PublishedValue", "published_formulas"]


@dataclass(frozen=True)
class PublishedValue:
    """The value of a published formula, beside that of the fluid model.

    Args:
        name: quantity and flow class, such as "rate of reno, no timeouts".
        source: key of the source in `docs/references.bib`.
        unit: unit of both values.
        value: value by the formula, in `unit`.
        model_value: value in the fluid model, in `unit`, at the same equilibrium.
        violated: conditions of the formula that do not hold here, in words; empty if all hold.
    """

    name: str
    source: str
    unit: str
    value: float
    model_value: float
    violated: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether all conditions of the formula hold for the class at its equilibrium."""
        return not self.violated


class ClassState(NamedTuple):
    """A flow class at equilibrium.

    Args:
        name: name of the class.
        flows: the class.
        cwnd: mean window, packets.
        path: the formulas' parameters: drop probability of the data path, mean round-trip time
            and retransmission timeout (s), packets per ACK, largest window (packets).
        base_rtt: mean base RTT, s.
        violated: conditions of all formulas that do not hold for the class, in words.
    """

    name: str
    flows: Flows
    cwnd: float
    path: Path
    base_rtt: float
    violated: tuple[str, ...]


def published_formulas(
    equilibrium: Equilibrium, tuned: str | None = None, fair_alpha: float | None = None
) -> tuple[PublishedValue, ...]:
    """Published formulas for the flow classes of a network, at its equilibrium.

    Rates of Reno and NewReno (Mathis et al., Padhye et al.) and of Vegas (Low et al.), windows of
    CUBIC (RFC 9438) and HighSpeed TCP (RFC 3649), the recovery of Reno from a loss (Feng and
    Tinnakornsrisuphap), and RED_min / N for alpha (Weigle and Feng).

    Args:
        equilibrium: the equilibrium.
        tuned: name of the Vegas class that `fair_alpha` belongs to; None: no class.
        fair_alpha: the class's alpha for equal goodputs, packets; None: unknown. Without both, the
            formula for alpha is left out.

    Returns:
        For each formula its value and that of the fluid model, their unit, and the conditions of
        the formula that do not hold.

    >>> from vegasfluid import Flows, Link, Red, equilibrium
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> state = equilibrium(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)}))
    >>> for formula in published_formulas(state):
    ...     print(f"{formula.name}: {formula.value:.1f}, {formula.model_value:.1f} {formula.unit}")
    rate of reno, no timeouts: 87.8, 101.4 packets/s
    rate of reno, with timeouts: 78.3, 101.4 packets/s
    recovery of reno: 6.1, 6.1 round trips
    """
    values = [value for state in class_states(equilibrium) for value in formulas_of_class(state)]
    if tuned is not None and fair_alpha is not None:
        values += red_min_over_n(equilibrium.network, tuned, fair_alpha)
    return tuple(values)


def class_states(equilibrium: Equilibrium) -> Iterator[ClassState]:
    """Yield the state of each class with a congestion window at equilibrium, for the formulas.

    It has the class's mean window (packets), mean RTT (s), and drop probability along its data
    path. Classes without a window (UDP) are left out.
    """
    network = equilibrium.network.resolved()
    _, structure = build_parameters(network)
    pass_prob = 1 - np.asarray(equilibrium.values.drop_prob)
    slices = dict(zip(network.flows, structure.class_slices, strict=True))
    for name, flows in network.flows.items():
        if not flows.law.rules.reliable:
            continue
        group = slices[name].start
        queues = [hop.queue for hop in structure.hops if hop.group == group and not hop.is_ack]
        rtt, base_rtts = equilibrium.mean(name, "rtt"), network.base_rtts(name)
        byte_counting = getattr(flows.law, "byte_counting", False)
        path = Path(
            drop_prob=float(1 - np.prod(pass_prob[queues])),
            rtt=rtt,
            rto=max(TIMEOUT_IN_ROUND_TRIPS * rtt, float(flows.settings.min_rto)),
            ack_every=2.0 if flows.settings.delayed_ack and not byte_counting else 1.0,
            max_window=float(flows.max_window),
        )
        violated = ()
        if np.ptp(base_rtts) > 0:
            violated = ("flows have different round-trip times: evaluated at their mean",)
        yield ClassState(
            name,
            flows,
            equilibrium.mean(name, "cwnd"),
            path,
            float(np.mean(base_rtts)),
            violated,
        )


def formulas_of_class(state: ClassState) -> Iterator[PublishedValue]:
    """Yield the published formulas for a class's congestion control, beside the model's values.

    Formulas for loss-based controls are yielded only if the class has losses at equilibrium. There
    are none for controls other than Vegas, Reno, NewReno, CUBIC and HighSpeed TCP.
    """
    law, loss = state.flows.law, state.path.drop_prob > 0
    if isinstance(law, Vegas):
        yield from vegas_rate(state, law)
    elif isinstance(law, Reno) and loss:
        yield from reno_rates(state)
        yield reno_recovery(state)
    elif isinstance(law, Cubic) and loss:
        yield cubic_window(state, law)
    elif isinstance(law, HighSpeed) and loss:
        yield highspeed_window(state)


def reno_rates(state: ClassState) -> Iterator[PublishedValue]:
    """Yield the sending rate of a Reno flow (packets/s) by Mathis et al., and by Padhye et al.

    The formula of Padhye et al. includes timeouts and the maximum window. The model's value is
    window / RTT.
    """
    path, rate = state.path, state.cwnd / state.path.rtt
    yield PublishedValue(
        f"rate of {state.name}, no timeouts",
        "mathis1997",
        "packets/s",
        mathis(path.drop_prob, path.rtt, path.ack_every),
        rate,
        (*state.violated, *MATHIS_RANGE.fails(*path)),
    )
    yield PublishedValue(
        f"rate of {state.name}, with timeouts",
        "padhye1998",
        "packets/s",
        pftk(*path),
        rate,
        (*state.violated, *PFTK_RANGE.fails(*path)),
    )


def reno_recovery(state: ClassState) -> PublishedValue:
    """Number of round trips in which Reno regains a window W after a loss.

    W is the class's mean window at equilibrium, packets. The formula gives W / 2; the model's value
    follows the growth of the window (`recovery_time`).
    """
    delayed = state.path.ack_every > 1
    return PublishedValue(
        f"recovery of {state.name}",
        "feng2000",
        "round trips",
        state.cwnd / 2,
        recovery_time(state.flows.law, state.cwnd, state.path.rtt).round_trips,
        (*state.violated, *(["delayed ACKs slow the growth"] if delayed else [])),
    )


def cubic_window(state: ClassState, law: Cubic) -> PublishedValue:
    """CUBIC's mean window in its cubic region by RFC 9438, packets, beside the model's window.

    It is marked as violated if Reno's window is larger, so that CUBIC is Reno-friendly.
    """
    path, violated = state.path, state.violated
    window = cubic_response(path.drop_prob, path.rtt, law.C, law.beta)
    reno = mathis(path.drop_prob, path.rtt) * path.rtt
    if law.friendly and reno > window:
        reason = f"Reno's window, {reno:.4g} packets, is larger: CUBIC is in its Reno-friendly"
        violated = (*violated, f"{reason} region")
    return PublishedValue(
        f"window of {state.name}", "rfc9438", "packets", window, state.cwnd, violated
    )


def highspeed_window(state: ClassState) -> PublishedValue:
    """HighSpeed TCP's mean window by RFC 3649, packets, beside the model's window.

    The formula is marked as violated for drop probabilities above 1e-3.
    """
    prob, violated = state.path.drop_prob, state.violated
    if prob > HIGHSPEED_PROB:
        reason = f"drop_prob is {prob:.3g}, above {HIGHSPEED_PROB:g}: HighSpeed TCP behaves as Reno"
        violated = (*violated, reason)
    window = highspeed_response(prob)
    return PublishedValue(
        f"window of {state.name}", "rfc3649", "packets", window, state.cwnd, violated
    )


ROUNDING = 1e-9
"""A window above the smallest one by less than this relative distance counts as at that limit."""
HIGHSPEED_PROB = 1e-3
"""Largest drop probability of the response function of RFC 3649, section 5 (Low_P)."""


def vegas_rate(state: ClassState, law: Vegas) -> Iterator[PublishedValue]:
    """Yield the rate of a Vegas flow without losses, packets/s: alpha over the queueing delay.

    The model's value is window / RTT. Yields nothing if there is no queueing delay, or if alpha is
    None.
    """
    delay = state.path.rtt - state.base_rtt
    if law.alpha is None or not delay > 0:
        return
    violated = list(state.violated)
    if state.path.drop_prob > 0:
        violated.append(f"drop_prob is {state.path.drop_prob:.3g}, above 0: losses reduce windows")
    if state.cwnd <= SMALLEST_SSTHRESH * (1 + ROUNDING):
        violated.append(f"the window is at its lower limit, {SMALLEST_SSTHRESH:g} packets")
    if law.implementation.divides_by_base_rtt:
        violated.append(f"{law.dialect} divides by the base RTT in its backlog estimate")
    yield PublishedValue(
        f"rate of {state.name}, no losses",
        "low2001",
        "packets/s",
        float(law.alpha) / delay,
        state.cwnd / state.path.rtt,
        tuple(violated),
    )


def red_min_over_n(network: Network, tuned: str, fair_alpha: float) -> Iterator[PublishedValue]:
    """Yield the rule of thumb for a fair alpha on one RED link, packets: min_thresh over N flows.

    N is the number of flows, of all classes, in the direction of the tuned class.

    Args:
        network: the network; without exactly one link, and RED on it, nothing is yielded.
        tuned: name of the Vegas class.
        fair_alpha: the model's alpha for equal goodputs, packets.
    """
    if len(network.links) > 1 or not isinstance(network.link.aqm, Red):
        return
    direction = network.flows[tuned].direction
    flows = {name: group for name, group in network.flows.items() if group.direction == direction}
    count = sum(group.count for group in flows.values())
    others = {
        group.law.name for name, group in flows.items() if not isinstance(group.law, Reno)
    } - {"vegas"}
    violated = tuple(f"competitor {name}: the rule is for Reno" for name in sorted(others))
    yield PublishedValue(
        f"fair alpha of {tuned}, RED_min / N",
        "weigle2001",
        "packets",
        network.link.aqm.min_thresh / count,
        fair_alpha,
        violated,
    )

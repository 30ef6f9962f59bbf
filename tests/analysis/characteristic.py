"""The characteristic function of one link by SymPy: an oracle for JAX's linearisation.

With s for d/dt, a queue that is longer by dq, and losses that are more frequent by dp, make a
window smaller:

    dW = -(A dq + B dp) / D = -H dq,   dp = P dq

A, B and D follow from the partial derivatives of the law's drift, P from the queue discipline's
curve and its average: p' K / (s + K) where it averages at the rate K. For classes of any laws at
one queue the characteristic function is

    s + sum N (1 - p) (W / (R^2 C) + H / R) + sum N (W / R) P

times every D, and times s + K. (Where packets are marked, none is lost: no 1 - p, no last sum. A
queue discipline that looks at arrivals has one more term.) The linearisation by JAX leaves out
states that do not couple to the others; their roots are here.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (Reno; abstract read). The form for any laws: derived for this project.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from vegasfluid.analysis import Equilibrium
from vegasfluid.analysis.charts.drift_derivatives import (
    C,
    DriftDerivatives,
    R,
    StateValues,
    W,
    drift_derivatives,
    evaluate,
    p,
    s,
    substitutions,
)
from vegasfluid.analysis.charts.flow_groups import FlowGroup, flow_groups, link_drop_prob
from vegasfluid.analysis.closed_forms.formula import Expression
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.errors import InvalidInput

P = sp.Symbol("P")
DELAY = sp.Dummy("delay")
"""exp(-s R), until determinants are taken."""
NEWTON_STEPS = 3
SAME = 1e-8
"""Relative difference of a window from the zero of its law's drift, for a law at no limit."""


class WindowResponse(NamedTuple):
    """How a window responds: dW = -(delay dq + losses dp) / denominator, in s."""

    denominator: Expression
    delay: Expression
    losses: Expression

    @property
    def transfer(self) -> Expression:
        """H(s) in dW = -H dq, with P for dp/dq."""
        return (self.delay + self.losses * P) / self.denominator


def determinant(matrix: Any) -> Any:
    """The determinant of a matrix of long expressions: a symbol for each, else SymPy expands."""
    names: dict[Any, Any] = {}
    plain = matrix.applyfunc(lambda x: names.setdefault(x, sp.Dummy()) if x else x)
    return plain.det(method="berkowitz").subs({name: item for item, name in names.items()})


def window_response(derivatives: DriftDerivatives, delayed_rtt: bool) -> WindowResponse:
    """The response of a window, from the partial derivatives of its drift.

    The flow sends W / R: at this rate ACKs come now, and times p losses, a round trip later. In
    place of an inverse, c' M^-1 b det M = -det [[M, b], [c', 0]].
    """
    loss_feedback = derivatives.acks + DELAY * p * derivatives.losses
    size = len(derivatives.states)
    matrix = s * sp.eye(size) - derivatives.state - loss_feedback * derivatives.cwnd / R
    delay = derivatives.rtt * (DELAY if delayed_rtt else 1) / C - loss_feedback * W / (R**2 * C)
    bordered = (
        sp.Matrix(sp.BlockMatrix([[matrix, column], [derivatives.cwnd, sp.zeros(1)]]))
        for column in (delay, DELAY * derivatives.losses * W / R)
    )
    parts = map(determinant, (matrix, *bordered))
    whole = (sp.sympify(sp.expand(part)) if size == 1 else part for part in parts)
    return WindowResponse(*(part.subs(DELAY, sp.exp(-s * R)) for part in whole))  # type: ignore[union-attr]


def law_response(
    law: CongestionControl,
    values: StateValues | None = None,
    loss_process: str = "meanfield",
    delayed_rtt: bool = True,
) -> WindowResponse:
    """The response of a law's window to the queue, in symbols."""
    return window_response(drift_derivatives(law, values or {}, loss_process), delayed_rtt)


def group_response(group: FlowGroup, equilibrium: Equilibrium) -> WindowResponse:
    """The response of a group's window, of numbers and s."""
    ack_every = 2 if group.flows.settings.delayed_ack else 1
    options, capacity = equilibrium.options, equilibrium.network.link.capacity
    found = drift_derivatives(group.flows.law, group.values, options.loss_process, ack_every)
    numbers = substitutions({**refined(found, group), "capacity": capacity})
    parts = (evaluate(part, numbers) for part in found[1:])
    response = window_response(DriftDerivatives(found.states, *parts), options.delayed_rtt)
    return WindowResponse(*(evaluate(part, numbers) for part in response))


def refined(derivatives: DriftDerivatives, group: FlowGroup) -> StateValues:
    """The group's values, with the states where the law's drift is zero to all digits."""
    slope = derivatives.state + (derivatives.acks + p * derivatives.losses) * derivatives.cwnd / R
    values = dict(group.values)
    for _ in range(NEWTON_STEPS):
        numbers = substitutions(values)
        drift, matrix = (
            np.array(evaluate(part, numbers), float) for part in (derivatives.drift, slope)
        )
        steps = np.linalg.solve(matrix, drift)[:, 0]
        values |= {
            name: values[name] - step for name, step in zip(derivatives.states, steps, strict=True)
        }
    if abs(values["cwnd"] / group.values["cwnd"] - 1) > SAME:
        allowed = "at the zero of its drift, and not at a limit"
        raise InvalidInput(f"flows.{group.name}", "cwnd", allowed, group.values["cwnd"])
    return values


def check_covered(equilibrium: Equilibrium) -> None:
    """Refuse networks that the characteristic function does not cover."""
    name, options, link = "characteristic", equilibrium.options, equilibrium.network.link
    queue = float(equilibrium.values.queue[0])
    if equilibrium.upper is not None:
        raise InvalidInput(name, "equilibrium", "one point, and no set of them", "a set")
    if options.recovery or options.timeouts or options.whole_packets:
        raise InvalidInput(name, "options", "as in THEORY but for its losses", options)
    if link.jitter > 0:
        raise InvalidInput(name, "jitter", "0 here", link.jitter)
    if not 0 < queue < link.buffer - link.aqm.losses_follow_growth:
        raise InvalidInput(name, "queue", "above 0, and below where the buffer loses", queue)
    for group in flow_groups(equilibrium):
        if group.flows.direction != "forward":
            raise InvalidInput(f"flows.{group.name}", "direction", "forward here", "reverse")
        if group.window_limited and group.rate >= group.limit:
            allowed = f"below what limits it, {group.limit:g} packets/s"
            raise InvalidInput(f"flows.{group.name}", "rate", allowed, group.rate)


def rate_reduction(group: FlowGroup, response: WindowResponse, prob: Any, capacity: float) -> Any:
    """Transfer functions from (queue, arrival rate) to the fall of one flow's rate; (1, 2)."""
    rtt = group.values["rtt"]
    by_queue = group.rate / (rtt * capacity) + response.delay / response.denominator / rtt
    return sp.Matrix([[by_queue, 0]]) + response.losses / response.denominator / rtt * prob


def characteristic(equilibrium: Equilibrium) -> Expression:
    """The characteristic function of a network with one link; its zeros are the network's roots.

    Returns:
        An expression in `sympy.Symbol("s")`, 1/s: a product, whose last factor is the sum.

    Raises:
        InvalidInput: for several links, data both ways or other options, and where a flow or
            the queue stands at a limit.
    """
    check_covered(equilibrium)
    drop_prob = link_drop_prob(equilibrium)
    dropped = {item: link_drop_prob(equilibrium, item) for item in ("drop_prob", "forced_prob")}
    balance, denominators = sp.Matrix([[s, 0], [0, 1]]), [drop_prob.denominator]
    for group in flow_groups(equilibrium):
        reduction, lost = sp.zeros(1, 2), dropped[group.drop_field]
        if group.window_limited:
            response = group_response(group, equilibrium)
            capacity = equilibrium.network.link.capacity
            reduction = rate_reduction(group, response, drop_prob.gradient, capacity)
            denominators.append(response.denominator)
        admitted = (1 - lost.value) * reduction + group.rate * lost.gradient
        balance += group.count * sp.Matrix.vstack(admitted, reduction)
    (queue, queue_by_y), (y_by_queue, y) = balance.tolist()
    return sp.Mul(*denominators, queue * y - queue_by_y * y_by_queue, evaluate=False)

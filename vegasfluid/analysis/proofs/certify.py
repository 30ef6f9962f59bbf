"""The prover: finds what a certificate claims, and says why where there is nothing to claim.

Queues come from interval Newton, whose step into itself shows that there is a root and only one
near by; so they do not depend on the bisection, nor on the monotonicity, that the checker relies
on. What is found is then handed to the checker as everybody else's certificates are.

Sources:
    Interval Newton: R. E. Moore, "Interval Analysis", 1966 (not checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, ctx

from vegasfluid.analysis.proofs.certificate import Certificate
from vegasfluid.analysis.proofs.intervals import variable
from vegasfluid.analysis.proofs.single_link import Equations
from vegasfluid.analysis.proofs.supported_networks import (
    DEFAULT_EPSILON,
    DEFAULT_LOSS_PROCESS,
    problem_of,
)
from vegasfluid.analysis.proofs.theorem import NotProven, Proof, require_limits, slope
from vegasfluid.analysis.proofs.verify import verify
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.network import Network

__all__ = ["certify_alpha"]

SEARCH_BITS = 160
BISECTIONS = 80
"""Before Newton's method."""
NEWTON_STEPS, FIRST_RADIUS = 12, 2.0**-40
PARTS = 24
"""Into how many the queues from q- to q+ are divided: fewer than the checker takes, so that its
enclosures lie within these."""
CLOSE = 1e-9
"""Ratios so near to the largest one, relative, are not told from it."""
WIDER = 1e-3
"""A slope is claimed so much wider, relative."""


def certify_alpha(
    network: Network,
    tuned: str = "vegas",
    ratio: float = 1.0,
    *,
    epsilon: float = DEFAULT_EPSILON,
    loss_process: str = DEFAULT_LOSS_PROCESS,
) -> Certificate:
    """Certify the alpha at which a Vegas flow sends `ratio` times what the others send.

    The certificate claims an enclosure of that alpha to some twenty digits, that no other alpha
    gives this ratio, and how far alpha may be off for the logarithm of the ratio to be off by
    less than `epsilon`. It holds for the fluid model at rest (see `theorem`), and has been
    proven by `verify` when it is returned.

    Args:
        network: one link with RED; see `posing` for what is refused.
        tuned: the name of the Vegas class; its alpha, beta and gamma do not count.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: the unfairness `abs(ln(ratio achieved / ratio))` to bound alpha by, above 0 to 1.
        loss_process: how losses come: meanfield, periodic or iid.

    Raises:
        InvalidInput: for a network that the proof does not cover, and a ratio out of reach.
        SolveFailed: where the checker does not bear out what was found.

    >>> from vegasfluid import Flows, Link, Red, Reno, Vegas
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> flows = {
    ...     "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.04),
    ...     "reno": Flows(5, Reno(), base_rtt=0.04),
    ... }
    >>> found = certify_alpha(Network(link, flows))
    >>> round(float(found.alpha), 6), found.alpha.digits > 10
    (4.860127, True)
    """
    problem = problem_of(network, tuned, ratio, epsilon=epsilon, loss_process=loss_process)
    with ctx.workprec(SEARCH_BITS):
        certificate = Certificate.of(problem, find(Equations(problem)))
    verdict = verify(certificate)
    if not verdict.valid:
        raise SolveFailed("no certificate: " + "; ".join(verdict.refused))
    return certificate


def find(equations: Equations) -> Proof:
    """What can be claimed of a problem.

    Raises:
        InvalidInput: where there is nothing to claim.
    """
    problem, top = equations.problem, equations.top.lower()
    if not equations.low < equations.top:
        allowed = f"below {float(top):g}, where the buffer is full, or nothing is dropped early"
        raise InvalidInput("Red", "min_thresh", allowed, problem.red.min_thresh)
    require_reach(equations, top)
    ratio, spread = arb(problem.ratio), arb(problem.epsilon).exp()
    first = queue_of_ratio(equations, ratio / spread)
    queue = queue_of_ratio(equations, ratio)
    last = queue_of_ratio(equations, ratio * spread)
    require_positive_alpha(equations, first)
    try:
        require_limits(equations, first, last, PARTS)
        steepness = slope(equations, first, last, PARTS)
    except NotProven as reason:
        allowed = "a network in which no limit binds near its rest"
        raise InvalidInput("certificate", "network", allowed, str(reason)) from None
    rest = equations.rest(queue)
    return Proof(
        box=(equations.low, equations.top),
        rest=rest,
        alpha=equations.alpha(rest),
        below=equations.alpha(equations.rest(first)),
        above=equations.alpha(equations.rest(last)),
        slope=steepness * arb(1, WIDER),
    )


def last_true(holds: Callable[[arb], bool], low: arb, high: arb) -> arb:
    """About the largest number for which a condition holds that holds at first and then not."""
    for _ in range(BISECTIONS):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if holds(middle) else (low, middle)
    return ((low + high) / 2).mid()


def queue_of_ratio(equations: Equations, ratio: arb) -> arb:
    """The queue at rest with a ratio, enclosed by interval Newton.

    Raises:
        SolveFailed: where no step leads into itself.
    """
    guess = last_true(
        lambda queue: bool(equations.excess(queue, ratio) > 0),
        equations.low,
        equations.top.lower(),
    )
    above = guess - equations.low
    queue, shown = guess + arb(0, above.upper() * FIRST_RADIUS), False
    for _ in range(NEWTON_STEPS):
        middle = queue.mid()
        slope_there = equations.excess(variable(queue), ratio)[1]
        step = middle - equations.excess(middle, ratio) / slope_there
        if not step.is_finite():
            break
        shown = shown or queue.contains_interior(step)
        if shown and not step.rad() < queue.rad() / 2:
            return queue.intersection(step)
        queue = step if shown else step.union(queue)
    if not shown:
        raise SolveFailed("no certificate: interval Newton does not enclose the queue at rest")
    return queue


def require_reach(equations: Equations, top: arb) -> None:
    """Refuse a ratio that no alpha gives, and an epsilon that leads to one.

    Raises:
        InvalidInput: with the largest ratio that can be reached.
    """
    problem = equations.problem
    alone = arb(0)
    if not equations.excess(top, alone) < 0:
        allowed = f"at most {float(top):g} packets, where RED's curve or the buffer ends"
        raise InvalidInput("certificate", "queue at rest", allowed, "more")

    def unsaturated(queue: arb) -> bool:
        if equations.excess(queue, alone) > 0:
            return True
        return bool(equations.rest(queue).climbing < 1)

    end = last_true(unsaturated, equations.low, top)
    ceiling, given = float(equations.rest(end).ratio), problem.ratio
    where = "that any alpha reaches"
    if end >= top * (1 - CLOSE):
        where = f"with a queue of at most {float(top):g}, where RED's curve or the buffer ends"
    if given >= ceiling * (1 - CLOSE):
        allowed = f"below {ceiling:.6g}, the largest {where}"
        raise InvalidInput("certificate", "ratio", allowed, given)
    if given >= ceiling * math.exp(-problem.epsilon) * (1 - CLOSE):
        allowed = (
            f"below {math.log(ceiling / given):.3g}: {ceiling:.6g} is the largest ratio {where}"
        )
        raise InvalidInput("certificate", "epsilon", allowed, problem.epsilon)


def require_positive_alpha(equations: Equations, first: arb) -> None:
    """Refuse a ratio that only an alpha of 0 or below would give.

    Raises:
        InvalidInput: with the smallest ratio that can be certified.
    """
    problem = equations.problem
    if equations.alpha(equations.rest(first)) > 0:
        return

    def not_positive(queue: arb) -> bool:
        if equations.excess(queue, arb(0)) > 0:
            return True
        return not equations.alpha(equations.rest(queue)) > 0

    least = equations.rest(last_true(not_positive, equations.low, equations.top.lower()))
    smallest = float(least.ratio) * math.exp(problem.epsilon)
    allowed = f"above {smallest:.6g}: epsilon below that, alpha is 0"
    raise InvalidInput("certificate", "ratio", allowed, problem.ratio)

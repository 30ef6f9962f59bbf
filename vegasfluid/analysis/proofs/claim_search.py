"""Search for the claims of a certificate of the fair alpha; `proof` proves them, `verify` checks.

If nothing can be claimed, an error states why. Queues are enclosed by the interval Newton method:
if a step maps an interval into its own interior, there is exactly one root in it. So the claims
depend neither on the bisection nor on the monotonicity that the checker relies on. The result is
then checked like any other certificate.

Sources:
    Interval Newton: R. E. Moore, "Interval Analysis", 1966 (not checked against the original).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, ctx

from vegasfluid.analysis.proofs.certificate import Certificate
from vegasfluid.analysis.proofs.intervals import variable
from vegasfluid.analysis.proofs.proof import (
    NotProven,
    Proof,
    enclose_alpha_slope,
    require_no_limits,
)
from vegasfluid.analysis.proofs.single_link import SingleLinkEquations
from vegasfluid.analysis.proofs.supported_networks import (
    DEFAULT_EPSILON,
    DEFAULT_LOSS_PROCESS,
    fair_alpha_problem,
)
from vegasfluid.analysis.proofs.verify import verify
from vegasfluid.errors import InvalidInput, SolveFailed, Unsupported, Words
from vegasfluid.network import Network

__all__ = ["certify_alpha"]

SEARCH_BITS = 160
"""Precision of the search, bits: about 48 decimal digits, for claims of 20."""
BISECTIONS = 80
"""Bisection steps to the starting point of Newton's method: more than the bits of a double."""
NEWTON_STEPS = 12
"""Most steps of the interval Newton method; each doubles the number of correct digits."""
FIRST_RADIUS = 2.0**-40
"""Radius of the first interval of Newton's method, relative to the queue above min_thresh."""
SEARCH_PARTS = 24
"""Parts into which the queues between the two ratios e^-epsilon and e^epsilon times the wanted one
are divided: fewer than the checker's 64, so that the checker's enclosures lie in the claims."""
RATIO_MARGIN = 1e-9
"""Relative distance to the largest ratio below which a ratio counts as out of reach."""
SLOPE_MARGIN = 1e-3
"""Relative amount by which the claimed slope is wider than its enclosure."""


def certify_alpha(
    network: Network,
    tuned: str = "vegas",
    ratio: float = 1.0,
    *,
    epsilon: float = DEFAULT_EPSILON,
    loss_process: str = DEFAULT_LOSS_PROCESS,
) -> Certificate:
    """Certify the alpha at which a Vegas flow sends `ratio` times what a competing flow sends.

    The certificate claims an enclosure of that alpha to some twenty digits, that no other alpha
    gives this ratio, and how far alpha may be off for the logarithm of the ratio to be off by
    less than `epsilon`. It holds for the fluid model in equilibrium (see `proof`), and has been
    proven by `verify` when it is returned.

    Args:
        network: one link with RED (not adaptive), the Vegas class (dialect brakmo, ns2 or linux),
            and classes of Reno, NewReno or CUBIC; all flows always have data to send.
        tuned: the name of the Vegas class; its alpha, beta and gamma are ignored.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: the unfairness `abs(ln(achieved ratio / ratio))` to bound alpha by, above 0 to 1.
        loss_process: how losses arrive: meanfield, periodic or iid.

    Returns:
        The certificate: its parameters, and claims such as `alpha`, packets.

    Raises:
        InvalidInput: for a network that the proof does not cover, and a ratio out of reach.
        SolveFailed: where the checker does not confirm the result.

    >>> from vegasfluid import Flows, Link, Red, Reno, Vegas
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> flows = {
    ...     "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.04),
    ...     "reno": Flows(5, Reno(), base_rtt=0.04),
    ... }
    >>> certificate = certify_alpha(Network(link, flows))
    >>> round(float(certificate.alpha), 6), certificate.alpha.digits > 10
    (4.860127, True)
    """
    problem = fair_alpha_problem(network, tuned, ratio, epsilon=epsilon, loss_process=loss_process)
    with ctx.workprec(SEARCH_BITS):
        certificate = Certificate.of(problem, find_claims(SingleLinkEquations(problem)))
    verification = verify(certificate)
    if not verification.valid:
        raise SolveFailed("no certificate: " + "; ".join(verification.reasons))
    return certificate


def find_claims(equations: SingleLinkEquations) -> Proof:
    """Enclose alpha at the wanted ratio and at e^-epsilon and e^epsilon times it, with the slope.

    Queues are enclosed by the interval Newton method; the slope d alpha / d ln(ratio), packets, is
    widened by 0.1 %. The result contains the equilibrium of the wanted ratio, too.

    Args:
        equations: of the problem, at the current precision.

    Raises:
        InvalidInput: where there is nothing to claim: RED drops nothing, or no positive alpha
            gives the ratio.
        Unsupported: if a limit of windows or losses is active near the equilibrium.
    """
    problem, top = equations.problem, equations.largest_queue.lower()
    if not equations.min_thresh < equations.largest_queue:
        allowed = f"below {float(top):g}, where the buffer is full, or nothing is dropped early"
        raise InvalidInput("Red", "min_thresh", allowed, problem.red.min_thresh)
    require_reachable_ratio(equations, top)
    ratio, factor = arb(problem.ratio), arb(problem.epsilon).exp()
    first = queue_of_ratio(equations, ratio / factor)
    queue = queue_of_ratio(equations, ratio)
    last = queue_of_ratio(equations, ratio * factor)
    require_positive_alpha(equations, first)
    try:
        require_no_limits(equations, first, last, SEARCH_PARTS)
        slope = enclose_alpha_slope(equations, first, last, SEARCH_PARTS)
    except NotProven as reason:
        raise Unsupported("certificate", "this network", str(reason)) from None
    equilibrium = equations.equilibrium(queue)
    return Proof(
        box=(equations.min_thresh, equations.largest_queue),
        equilibrium=equilibrium,
        alpha=equations.alpha(equilibrium),
        below=equations.alpha(equations.equilibrium(first)),
        above=equations.alpha(equations.equilibrium(last)),
        slope=slope * arb(1, SLOPE_MARGIN),
    )


def bisect_last(condition: Callable[[arb], bool], low: arb, high: arb) -> arb:
    """The approximate point up to which a condition holds, by bisection; nothing is proven of it.

    Args:
        condition: whether a point satisfies it; true below the result, false above.
        low: a point that satisfies the condition.
        high: a point that does not.
    """
    for _ in range(BISECTIONS):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if condition(middle) else (low, middle)
    return ((low + high) / 2).mid()


def queue_of_ratio(equations: SingleLinkEquations, ratio: arb) -> arb:
    """Enclose the equilibrium queue (packets) at a ratio of rates by the interval Newton method.

    Args:
        equations: at the current precision.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.

    Raises:
        SolveFailed: where no step maps an interval into its interior, so that no queue is proven.
    """
    guess = bisect_last(
        lambda queue: bool(equations.excess(queue, ratio) > 0),
        equations.min_thresh,
        equations.largest_queue.lower(),
    )
    above = guess - equations.min_thresh
    queue, proven = guess + arb(0, above.upper() * FIRST_RADIUS), False
    for _ in range(NEWTON_STEPS):
        middle = queue.mid()
        slope = equations.excess(variable(queue), ratio)[1]
        image = middle - equations.excess(middle, ratio) / slope
        if not image.is_finite():
            break
        proven = proven or queue.contains_interior(image)
        if proven and not image.rad() < queue.rad() / 2:
            return queue.intersection(image)
        queue = image if proven else image.union(queue)
    if not proven:
        raise SolveFailed("no certificate: interval Newton does not enclose the equilibrium queue")
    return queue


def require_reachable_ratio(equations: SingleLinkEquations, top: arb) -> None:
    """Raise InvalidInput for a ratio of rates that no alpha gives, or an epsilon that leads to one.

    Args:
        equations: at the current precision.
        top: largest queue of the box, packets.

    Raises:
        InvalidInput: with the largest ratio that can be reached.
    """
    problem = equations.problem
    no_vegas = arb(0)
    if not equations.excess(top, no_vegas) < 0:
        allowed = f"at most {float(top):g} packets, where RED's curve or the buffer ends"
        raise InvalidInput("certificate", "equilibrium queue", allowed, Words("larger"))

    def unsaturated(queue: arb) -> bool:
        if equations.excess(queue, no_vegas) > 0:
            return True
        return bool(equations.equilibrium(queue).recovering < 1)

    end = bisect_last(unsaturated, equations.min_thresh, top)
    largest, given = float(equations.equilibrium(end).ratio), problem.ratio
    where = "that any alpha reaches"
    if end >= top * (1 - RATIO_MARGIN):
        where = f"with a queue of at most {float(top):g}, where RED's curve or the buffer ends"
    if given >= largest * (1 - RATIO_MARGIN):
        allowed = f"below {largest:.6g}, the largest {where}"
        raise InvalidInput("certificate", "ratio", allowed, given)
    if given >= largest * math.exp(-problem.epsilon) * (1 - RATIO_MARGIN):
        margin = math.log(largest / given)
        allowed = f"below {margin:.3g}: {largest:.6g} is the largest ratio {where}"
        raise InvalidInput("certificate", "epsilon", allowed, problem.epsilon)


def require_positive_alpha(equations: SingleLinkEquations, first: arb) -> None:
    """Raise InvalidInput for a ratio that only an alpha of 0 or below would give.

    Args:
        equations: at the current precision.
        first: the queue at the ratio times e^-epsilon, packets.

    Raises:
        InvalidInput: with the smallest ratio that can be certified.
    """
    problem = equations.problem
    if equations.alpha(equations.equilibrium(first)) > 0:
        return

    def not_positive(queue: arb) -> bool:
        if equations.excess(queue, arb(0)) > 0:
            return True
        return not equations.alpha(equations.equilibrium(queue)) > 0

    end = bisect_last(not_positive, equations.min_thresh, equations.largest_queue.lower())
    smallest = float(equations.equilibrium(end).ratio) * math.exp(problem.epsilon)
    allowed = f"above {smallest:.6g}: epsilon below that, alpha is 0"
    raise InvalidInput("certificate", "ratio", allowed, problem.ratio)

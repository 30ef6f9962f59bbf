"""The theorem behind a certificate, and the check of what it assumes, in ball arithmetic.

Setting. The fluid model of one link with RED (not adaptive) at rest: one class of Vegas flows
(brakmo, ns2, linux) that know their base RTT, and classes of Reno, NewReno or CUBIC, all with data
to send and with ACKs that nothing delays. Losses count as in the closure of Misra, Gong and
Towsley, weighed by the loss process: no repairs, no timeouts, no whole packets. Any beta is allowed
at which the law's two places of rest are in order (beta + fall >= alpha + rise). Symbols are those
of `equations`. The box are the queues q with min_thresh < q <= top; in it p(q) > 0, continuous, and
p tends to 0 towards min_thresh. At rest what is let in is the capacity and the competitors have the
windows W_i(p, R_i); so q tells what the tuned class sends, x_v(q), and ratio(q), f(q), alpha(q).

Assumed, and checked here:
    (H1) the elasticity of p by q - min_thresh is not below 0 in the box, and that of every
         branch of every x_i = W_i / R_i is below 0; every branch is K p^-a R^b with K, a > 0;
    (H2) the excess k X (N + ratio N_v) - C is below 0 at the top, for the ratio wanted, r, and
         for r e^epsilon;
    (H3) f < 1 at the queue q+ of ratio r e^epsilon; alpha > 0 at the queue q- of r e^-epsilon.

Theorem.
    (1) In the box there is exactly one queue q* at which a rest has the ratio r.
    (2) Over all rests in the box, for all alpha, ratio and alpha are strictly increasing functions
        of q. So for each alpha there is at most one rest in the box, and its ratio rises strictly
        with alpha. For each alpha in (0, alpha(q+)] there is one.
    (3) The unfairness U(alpha) = |ln(ratio achieved / r)| is 0 at alpha* = alpha(q*) and nowhere
        else; it is at least epsilon for every alpha > 0 that is at most alpha(q-) or at least
        alpha(q+), and less than epsilon between the two.
    (4) Outside of the box, no alpha in (0, alpha(q+)] has a rest, and any rest has U > epsilon.
        If f comes to 1 in the box, every larger alpha has its rest in it too, and for large alpha
        the ratio tends to that at which f is 1, without coming to it (the plateau).

Proof. (H1) makes p rise and X fall strictly, so k X falls strictly where k > 0. Towards min_thresh
p tends to 0 and X grows without bound, and (H2) is the other sign: one root, (1). As k X falls,
ratio = (C / (k X) - N) / N_v and x_v = (C / k - N X) / N_v rise strictly; R_v and q rise; so do
W_v = x_v R_v, the backlog d = x_v q / C (Linux: times R_v / T_v) and f = phi b p W_v^2.
The tuned law rests if and only if grow(d) - shrink(d) = f, where f > 0. At or above alpha + rise
nothing grows; so d is below it, and as beta's place of rest is not lower, nothing shrinks. So
f = grow(d) = 1 - exp(-(alpha + rise - d) / width), width = max(b d / 2, softness). There is such an
alpha if and only if f < 1, and it is alpha(q) = d - width ln(1 - f) - rise, whose parts rise with
q: (2). Towards the queue at which the competitors alone fill the link, d and f tend to 0 and
alpha(q) to -rise <= 0, so by continuity no alpha is left out up to alpha(q+). (3) is (2) read from
q- < q* < q+. (4): with q <= min_thresh nothing is lost, and Reno and CUBIC grow for ever. Above the
top p, R and what is dropped are not less than at the top, whatever RED's cliff and a full buffer
do. So X is smaller and x_v, d and f are larger than at q+ by the same formulas, and with them
ratio and alpha. What f tends to 1 does to alpha says the formula of alpha(q).

Limits of windows are not in these equations: 2 packets at least, `max_window`, access links, the
3 samples that Linux needs, the 2 losses a round trip that the fluid counts at most. They are shown
to bind nowhere from q- to q+. The slope d alpha / d ln ratio is enclosed there too, and shown to
be above 0, by differentiation and without (H1).

Sources:
    Derived for this project. Elasticities: with t = q - min_thresh, t p' / p is 1 on RED's first
    slope and t (1 - max_drop) / (max_thresh p_b) on the gentle one, times 3 / (3 - p_b) with
    `wait`; that of K p^-a R^(b - 1) is -a t p' / p - (1 - b) t / (C R).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flint import arb, ctx

from vegasfluid.analysis.proofs.intervals import enclosed_root, larger, pieces
from vegasfluid.analysis.proofs.problem import Group, Problem
from vegasfluid.analysis.proofs.single_link import Equations, Rest
from vegasfluid.congestion.base import SMALLEST_SSTHRESH
from vegasfluid.errors import VegasfluidError

__all__ = [
    "CHECK_BITS",
    "NotProven",
    "Proof",
    "loss_elasticities",
    "prove",
    "require_falling_rates",
    "require_limits",
    "slope",
]

CHECK_BITS = 256
MOST_PIECES = 2000
"""Into so many the box is divided at most, until signs are certain."""
PARTS = 64
"""Into how many the queues from q- to q+ are divided."""
MOST_LOSSES = 2.0
"""A round trip of a flow: the fluid's equations count no more."""


class NotProven(VegasfluidError):
    """A claim, or an assumption of the theorem, that could not be shown; says which and why."""


class Proof(NamedTuple):
    """What is proven of a problem, as balls.

    Args:
        box: the queues among which rest is unique, packets: from, to.
        rest: at the ratio wanted.
        alpha: that belongs to it, packets.
        below: alpha at the ratio times e^-epsilon, packets.
        above: alpha at the ratio times e^epsilon, packets.
        slope: d alpha / d ln ratio anywhere between these, packets.
    """

    box: tuple[arb, arb]
    rest: Rest
    alpha: arb
    below: arb
    above: arb
    slope: arb


def prove(problem: Problem) -> Proof:
    """Check what the theorem assumes, and enclose what it speaks of; from the parameters alone.

    Args:
        problem: the parameters.

    Raises:
        NotProven: where anything could not be shown.
    """
    with ctx.workprec(CHECK_BITS):
        equations = Equations(problem)
        require_box(equations)
        require_falling_rates(equations)
        ratio, spread = arb(problem.ratio), arb(problem.epsilon).exp()
        first = enclosed_queue(equations, ratio / spread)
        queue = enclosed_queue(equations, ratio)
        last = enclosed_queue(equations, ratio * spread)
        at_last = equations.rest(last)
        if not at_last.climbing < 1:
            raise NotProven("the tuned windows are not shown to be below those of losses alone")
        below = equations.alpha(equations.rest(first))
        if not below > 0:
            raise NotProven("alpha is not shown to be above 0 at the lower ratio")
        require_limits(equations, first, last, PARTS)
        rest = equations.rest(queue)
        return Proof(
            box=(equations.low, equations.top),
            rest=rest,
            alpha=equations.alpha(rest),
            below=below,
            above=equations.alpha(at_last),
            slope=slope(equations, first, last, PARTS),
        )


def require_box(equations: Equations) -> None:
    """Some queues are between RED's first threshold and the top."""
    if not equations.low < equations.top:
        raise NotProven("RED drops nothing before the buffer is full")


def require_falling_rates(equations: Equations) -> None:
    """(H1), for the whole box at once or in parts of it."""
    branches = [branch for law in equations.laws.values() for branch in law.branches]
    if not all(of.factor > 0 and of.loss_power > 0 for of in branches):
        raise NotProven("a competitor's window is not shown to grow without bound as p falls")
    todo = [(arb(0), equations.top - equations.low)]
    for _ in range(MOST_PIECES):
        if not todo:
            return
        low, high = todo.pop()
        if not rates_fall(equations, low.union(high)):
            middle = ((low + high) / 2).mid()
            todo += [(low, middle), (middle, high)]
    raise NotProven("the competitors' rates are not shown to fall as the queue grows")


def rates_fall(equations: Equations, above: arb) -> bool:
    """Whether p rises and all rates fall where the queue is so much above `min_thresh`."""
    return all(
        elasticity >= 0 and -lost * elasticity - waited < 0
        for elasticity in loss_elasticities(equations, above)
        for lost, waited in rate_elasticities(equations, above)
    )


def rate_elasticities(equations: Equations, above: arb) -> Iterator[tuple[arb, arb]]:
    """Of every branch of a rate: the factor of p's elasticity, and what R's makes; both negated."""
    for name, law in equations.laws.items():
        held = equations.capacity * equations.base_rtts[name] + equations.low + above
        stretch = larger(above / held, arb(0))  # above is not below 0
        for branch in law.branches:
            yield arb(branch.loss_power), (1 - arb(branch.rtt_power)) * stretch


def loss_elasticities(equations: Equations, above: arb) -> Iterator[arb]:
    """Of p by t, the queue above `min_thresh`: t p'(t) / p(t), on each slope of RED in question."""
    queue, prob = equations.low + above, equations.curve(equations.low + above)
    spacing = 3 / (3 - prob) if equations.problem.red.wait else arb(1)
    if not (equations.goes_on and queue >= equations.high):
        yield spacing
    if equations.goes_on and not queue <= equations.high:
        steep = (1 - equations.max_drop) / equations.high
        beyond = larger(queue - equations.high, arb(0))
        yield spacing * above * steep / (equations.max_drop + steep * beyond)


def enclosed_queue(equations: Equations, ratio: arb) -> arb:
    """The queue at rest with a ratio: by bisection, each sign certain. Needs (H1).

    Args:
        equations: at the present precision.
        ratio: a ball; the result holds the queues of all ratios in it.
    """
    high = equations.top.lower()
    if not equations.excess(high, ratio) < 0:
        raise NotProven("the queue at rest is not shown to be where RED's curve is")
    found = enclosed_root(lambda queue: equations.excess(queue, ratio), equations.low, high)
    if not found > equations.low:
        raise NotProven("the queue at rest is not told from RED's first threshold")
    return found


def slope(equations: Equations, first: arb, last: arb, parts: int) -> arb:
    """D alpha / d ln ratio for all queues from `first` to `last`, packets; shown to be above 0.

    Args:
        equations: at the present precision.
        first: a queue, packets.
        last: a larger one.
        parts: into how many the way is divided.
    """
    found = None
    for queue in pieces(first.lower(), last.upper(), parts):
        try:
            by_ratio, by_alpha = equations.sensitivity(queue)
        except ValueError:  # a series that is divided by what may be 0
            by_ratio = by_alpha = arb.nan()
        if not (by_ratio > 0 and by_alpha > 0):
            raise NotProven("alpha is not shown to rise with the ratio by differentiation")
        here = by_alpha / by_ratio
        found = here if found is None else found.union(here)
    assert found is not None
    return found


def require_limits(equations: Equations, first: arb, last: arb, parts: int) -> None:
    """No limit of windows binds from `first` to `last`.

    Args:
        equations: at the present precision.
        first: a queue, packets.
        last: a larger one.
        parts: into how many the way is divided.
    """
    for queue in pieces(first.lower(), last.upper(), parts):
        rest = equations.rest(queue)
        for name, of in equations.problem.groups.items():
            require_free_window(equations, rest, name, of)


def require_free_window(equations: Equations, rest: Rest, name: str, of: Group) -> None:
    """No limit binds the windows of a class."""
    window, smallest = rest.windows[name], SMALLEST_SSTHRESH
    if name == equations.problem.tuned_name:
        smallest = max(smallest, equations.dialect.min_samples)
    if not window >= smallest:
        raise NotProven(f"windows of {name} may be below {smallest:g} packets")
    if not window <= of.max_window:
        raise NotProven(f"windows of {name} may be limited by max_window")
    if of.access is not None and not rest.rates[name] <= arb(of.access):
        raise NotProven(f"{name} may be limited by its access links")
    if not rest.prob * window <= MOST_LOSSES:
        raise NotProven(f"a flow of {name} may lose more than 2 packets a round trip")

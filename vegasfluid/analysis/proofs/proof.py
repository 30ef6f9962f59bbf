"""The theorem behind a certificate, and the check of its hypotheses in interval arithmetic.

Setting. The fluid model of one link with RED (not adaptive) in equilibrium: one class of Vegas
flows (brakmo, ns2, linux) that know their base RTT, and classes of Reno, NewReno or CUBIC flows;
all have data to send, and nothing delays their ACKs. Losses follow the closure of Misra, Gong and
Towsley, weighted by the loss process: no recovery time, timeouts or whole packets. Any beta is
allowed for which Vegas' two equilibrium backlogs are in order: beta + b_0 >= alpha + a_0, with the
offsets a_0 and b_0 of the dialect.
Symbols are those of `single_link`. The box is the set of queues q with min_thresh < q <= top; in it
p(q) > 0 is continuous, and p tends to 0 towards min_thresh. In equilibrium the admitted traffic is
the capacity and the competitors have the windows W_i(p, R_i); so q determines what the tuned class
sends, x_v(q), and ratio(q), f(q), alpha(q).

Hypotheses, checked here:
    (H1) the elasticity of p by q - min_thresh is not negative in the box, and that of every branch
         of every x_i = W_i / R_i is negative; every branch is K p^-a R^b with K, a > 0;
    (H2) the excess k X (N + ratio N_v) - C is negative at the top, for the wanted ratio r and for
         r e^epsilon;
    (H3) f < 1 at the queue q+ of ratio r e^epsilon; alpha > 0 at the queue q- of r e^-epsilon.

Theorem.
    (1) In the box there is exactly one queue q* at which an equilibrium has the ratio r.
    (2) Over all equilibria in the box, for all alpha, ratio and alpha are strictly increasing
        functions of q. So for each alpha there is at most one equilibrium in the box, and its ratio
        rises strictly with alpha. For each alpha in (0, alpha(q+)] there is one.
    (3) The unfairness U(alpha) = |ln(achieved ratio / r)| is 0 at alpha* = alpha(q*) and nowhere
        else; it is at least epsilon for every alpha > 0 that is at most alpha(q-) or at least
        alpha(q+), and less than epsilon between the two.
    (4) No alpha in (0, alpha(q+)] has an equilibrium outside of the box, and any equilibrium there
        has U > epsilon. If f reaches 1 in the box, every larger alpha has its equilibrium in the
        box too, and as alpha grows the ratio tends to that at which f is 1, without reaching it
        (the plateau).

Proof. By (H1) p rises and X falls strictly, so k X falls strictly where k > 0. Towards min_thresh
p tends to 0 and X grows without bound, and (H2) is the other sign: one root, (1). As k X falls,
ratio = (C / (k X) - N) / N_v and x_v = (C / k - N X) / N_v rise strictly; R_v and q rise; so do
W_v = x_v R_v, the backlog d = x_v q / C (Linux: times R_v / T_v) and f = phi b p W_v^2.
Vegas is in equilibrium if and only if grow(d) - shrink(d) = f, where f > 0. At or above
alpha + a_0 nothing grows; so d is below it, and as beta's equilibrium backlog is not lower,
nothing shrinks. So f = grow(d) = 1 - exp(-(alpha + a_0 - d) / width) with
width = max(b d / 2, softness). There is such an alpha if and only if f < 1, and it is
alpha(q) = d - width ln(1 - f) - a_0, whose terms rise with q: (2). Towards the queue at which the
competitors alone fill the link, d and f tend to 0 and alpha(q) to -a_0 <= 0, so by continuity
every alpha up to alpha(q+) occurs. (3) is (2) read from q- < q* < q+. (4): with q <= min_thresh
nothing is lost, and Reno and CUBIC grow for ever. Above the top, p, R and what is dropped are not
less than at the top, whatever RED's cliff and a full buffer do. So X is smaller and x_v, d and f
are larger than at q+ by the same formulas, and with them ratio and alpha. The formula of alpha(q)
gives the limit f -> 1.

The limits of windows are not in these equations: at least 2 packets, `max_window`, access links,
the 3 samples that Linux needs, and the fluid's largest rates of losses, which allow 2 losses a
round trip and more. They are proven to bind nowhere from q- to q+, the last ones as no flow has
more than 2 losses a round trip. The slope d alpha / d ln ratio is enclosed there too, and proven to
be positive, by differentiation and without (H1).

Sources:
    Derived for this project. Elasticities: with t = q - min_thresh, t p' / p is 1 on RED's first
    slope and t (1 - max_drop) / (max_thresh p_b) on the gentle one, times 3 / (3 - p_b) with
    `wait` and 1 / (1 + p_b) with Linux's RED; that of K p^-a R^(b - 1) is
    -a t p' / p - (1 - b) t / (C R).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flint import arb, ctx

from vegasfluid.analysis.proofs.intervals import enclose_root, maximum, subdivide
from vegasfluid.analysis.proofs.problem import FairAlphaProblem, FlowGroup
from vegasfluid.analysis.proofs.single_link import LinkEquilibrium, SingleLinkEquations
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.errors import VegasfluidError

__all__ = [
    "CHECK_BITS",
    "NotProven",
    "Proof",
    "enclose_alpha_slope",
    "loss_elasticities",
    "prove",
    "require_falling_rates",
    "require_no_limits",
]

CHECK_BITS = 256
"""Precision of the checker, bits: more than the prover's 160, so its enclosures are tighter."""
MAX_PIECES = 2000
"""Pieces of the box that are tried until all signs of (H1) are certain."""
CHECK_PARTS = 64
"""Parts into which the queues from q- to q+ are divided; more than the prover's 24."""
MOST_LOSSES_PER_RTT = 2.0
"""Losses of a flow per round trip up to which a certificate holds: no more than the fluid's
equations count (5, or 2 in the shortest delay of the network)."""


class NotProven(VegasfluidError):
    """A claim or hypothesis that could not be proven; the message states which and why."""


class Proof(NamedTuple):
    """What is proven about a problem, as intervals.

    Args:
        box: lowest and highest queue between which the equilibrium is unique, packets.
        equilibrium: the equilibrium with the wanted ratio.
        alpha: the alpha that gives it, packets.
        below: alpha at the ratio times e^-epsilon, packets.
        above: alpha at the ratio times e^epsilon, packets.
        slope: all values of d alpha / d ln(ratio) between `below` and `above`, packets.
    """

    box: tuple[arb, arb]
    equilibrium: LinkEquilibrium
    alpha: arb
    below: arb
    above: arb
    slope: arb


def prove(problem: FairAlphaProblem) -> Proof:
    """Check the hypotheses of the theorem and enclose its quantities, from the parameters alone.

    Args:
        problem: the parameters.

    Returns:
        The range of queues in which the equilibrium is unique (packets). Enclosures of the
        equilibrium, of alpha at the wanted ratio and at e^-epsilon and e^epsilon times it
        (packets), and of d alpha / d ln(ratio) (packets).

    Raises:
        NotProven: where anything could not be proven.
    """
    with ctx.workprec(CHECK_BITS):
        equations = SingleLinkEquations(problem)
        require_box(equations)
        require_falling_rates(equations)
        ratio, factor = arb(problem.ratio), arb(problem.epsilon).exp()
        first = enclose_queue(equations, ratio / factor)
        queue = enclose_queue(equations, ratio)
        last = enclose_queue(equations, ratio * factor)
        at_last = equations.equilibrium(last)
        if not at_last.recovering < 1:
            raise NotProven("the tuned windows are not proven to be below those of losses alone")
        below = equations.alpha(equations.equilibrium(first))
        if not below > 0:
            raise NotProven("alpha is not proven to be above 0 at the lower ratio")
        require_no_limits(equations, first, last, CHECK_PARTS)
        equilibrium = equations.equilibrium(queue)
        return Proof(
            box=(equations.min_thresh, equations.largest_queue),
            equilibrium=equilibrium,
            alpha=equations.alpha(equilibrium),
            below=below,
            above=equations.alpha(at_last),
            slope=enclose_alpha_slope(equations, first, last, CHECK_PARTS),
        )


def require_box(equations: SingleLinkEquations) -> None:
    """Raise NotProven unless RED's min_thresh is below the equations' largest queue, packets."""
    if not equations.min_thresh < equations.largest_queue:
        raise NotProven("RED drops nothing before the buffer is full")


def require_falling_rates(equations: SingleLinkEquations) -> None:
    """Prove hypothesis (H1): the rates of all competitors fall as the queue rises.

    The queue rises from min_thresh to the largest queue, packets; that interval is subdivided where
    necessary. The competitors' windows must also grow without bound as the drop probability p
    approaches 0.

    Args:
        equations: at the current precision.

    Raises:
        NotProven: if that cannot be shown with the intervals of this precision.
    """
    branches = [branch for law in equations.responses.values() for branch in law.branches]
    if not all(branch.factor > 0 and branch.loss_power > 0 for branch in branches):
        raise NotProven("a competitor's window is not proven to grow without bound as p falls")
    pending = [(arb(0), equations.largest_queue - equations.min_thresh)]
    for _ in range(MAX_PIECES):
        if not pending:
            return
        low, high = pending.pop()
        if not rates_fall(equations, low.union(high)):
            middle = ((low + high) / 2).mid()
            pending += [(low, middle), (middle, high)]
    raise NotProven("the competitors' rates are not proven to fall as the queue grows")


def rates_fall(equations: SingleLinkEquations, above: arb) -> bool:
    """Whether it is proven that p does not fall and all competitors' rates fall as the queue rises.

    Args:
        equations: at the current precision.
        above: interval of queues above RED's min_thresh, packets.
    """
    return all(
        elasticity >= 0 and -loss_power * elasticity - by_rtt < 0
        for elasticity in loss_elasticities(equations, above)
        for loss_power, by_rtt in rate_elasticities(equations, above)
    )


def rate_elasticities(equations: SingleLinkEquations, above: arb) -> Iterator[tuple[arb, arb]]:
    """Yield, for each branch of each competitor's rate, the negatives of two elasticities.

    The first is the elasticity by the drop probability. The second is the elasticity by the queue
    above min_thresh, at a constant drop probability (through the round-trip time). Pure numbers.

    Args:
        equations: at the current precision.
        above: the queue above min_thresh, packets.
    """
    for name, response in equations.responses.items():
        pipe = equations.capacity * equations.base_rtts[name] + equations.min_thresh + above
        rtt_elasticity = maximum(above / pipe, arb(0))  # above is not negative
        for branch in response.branches:
            yield arb(branch.loss_power), (1 - arb(branch.rtt_power)) * rtt_elasticity


def loss_elasticities(equations: SingleLinkEquations, above: arb) -> Iterator[arb]:
    """Yield RED's elasticity t p'(t) / p(t), a pure number, on each slope the queues may lie on.

    Args:
        equations: at the current precision.
        above: t, the queue above min_thresh, packets.
    """
    link, red = equations.link, equations.problem.red
    queue = link.min_thresh + above
    spacing = arb(red.gap.elasticity(link.curve(queue)))
    if not (equations.gentle_region and queue >= link.max_thresh):
        yield spacing
    if equations.gentle_region and not queue <= link.max_thresh:
        steepness = (1 - link.max_drop) / link.max_thresh
        beyond = maximum(queue - link.max_thresh, arb(0))
        yield spacing * above * steepness / (link.max_drop + steepness * beyond)


def enclose_queue(equations: SingleLinkEquations, ratio: arb) -> arb:
    """Enclose the equilibrium queue for a ratio of rates by bisection.

    Each step needs a sign that interval arithmetic proves. Rates must have been proven to fall as
    the queue rises (`require_falling_rates`).

    Args:
        equations: at the current precision.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows, an interval; the
            result contains the queues of all ratios in it.

    Returns:
        The queue, packets.

    Raises:
        NotProven: where the queue may be at RED's min_thresh or above the largest queue.
    """
    high = equations.largest_queue.lower()
    if not equations.excess(high, ratio) < 0:
        raise NotProven("the equilibrium queue is not proven to be on RED's curve")
    queue = enclose_root(lambda trial: equations.excess(trial, ratio), equations.min_thresh, high)
    if not queue > equations.min_thresh:
        raise NotProven("the equilibrium queue is not separated from RED's lower threshold")
    return queue


def enclose_alpha_slope(equations: SingleLinkEquations, first: arb, last: arb, parts: int) -> arb:
    """Enclose d alpha / d ln(ratio), packets, over a range of queues, and prove it positive.

    A queue determines an equilibrium, and so alpha and the ratio: rate of a tuned flow over the
    mean rate of the competitors' flows.

    Args:
        equations: at the current precision.
        first: lowest queue, packets.
        last: highest queue, packets.
        parts: number of parts into which the range is divided.

    Raises:
        NotProven: where alpha or the ratio may not rise with the queue.
    """
    slope = None
    for queue in subdivide(first.lower(), last.upper(), parts):
        try:
            ratio_slope, alpha_slope = equations.sensitivity(queue)
        except ValueError:  # a series divided by an interval that contains 0
            ratio_slope = alpha_slope = arb.nan()
        if not (ratio_slope > 0 and alpha_slope > 0):
            raise NotProven("alpha is not proven to rise with the ratio by differentiation")
        part = alpha_slope / ratio_slope
        slope = part if slope is None else slope.union(part)
    assert slope is not None
    return slope


def require_no_limits(equations: SingleLinkEquations, first: arb, last: arb, parts: int) -> None:
    """Prove that no limit of windows, access links or losses binds a class over a range of queues.

    Args:
        equations: at the current precision.
        first: lowest queue, packets.
        last: highest queue, packets.
        parts: number of parts into which the range is divided.

    Raises:
        NotProven: for the first limit that may bind.
    """
    for queue in subdivide(first.lower(), last.upper(), parts):
        equilibrium = equations.equilibrium(queue)
        for name, flows in equations.problem.groups.items():
            require_free_window(equations, equilibrium, name, flows)


def require_free_window(
    equations: SingleLinkEquations, equilibrium: LinkEquilibrium, name: str, flows: FlowGroup
) -> None:
    """Prove that no limit binds a class: smallest and largest window, access link, losses per RTT.

    Args:
        equations: at the current precision.
        equilibrium: the equilibrium, or an enclosure of several.
        name: name of the class.
        flows: the class.

    Raises:
        NotProven: for the first limit that may bind.
    """
    window, smallest = equilibrium.windows[name], SMALLEST_SSTHRESH
    if name == equations.problem.tuned_name:
        smallest = max(smallest, equations.vegas.implementation.min_samples)
    if not window >= smallest:
        raise NotProven(f"windows of {name} may be below {smallest:g} packets")
    if not window <= flows.max_window:
        raise NotProven(f"windows of {name} may be limited by max_window")
    if flows.access is not None and not equilibrium.rates[name] <= arb(flows.access):
        raise NotProven(f"{name} may be limited by its access links")
    if not equilibrium.prob * window <= MOST_LOSSES_PER_RTT:
        raise NotProven(f"a flow of {name} may lose more than 2 packets per round trip")

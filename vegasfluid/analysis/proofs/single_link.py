"""A network at rest, written as functions of its queue, in ball arithmetic.

With p(q) the share of packets that RED drops, R_i = T_i + q/C, x_i = W_i(p, R_i) / R_i the rates
of the N_i flows of each competing class, X their mean over all N competitors, and k = 1 - p the
share that is let in (1 where packets are marked):

    x_v = (C / k - N X) / N_v          the tuned flows take what the others leave
    ratio = x_v / X
    W_v = x_v R_v
    d = W_v (R_v - T_v) / R_v          their backlog (Linux: over T_v)
    f = phi b p W_v^2                  the share of them that climbs back after a loss
    alpha = d - max(b d / 2, softness) ln(1 - f) - rise

p rises with q and every x_i falls (`windows`). So x_v rises, and with it ratio, W_v, d, f, alpha.

Sources:
    Derived for this project from `congestion/vegas/vegas.py`, `aqm/red.py` and the fluid's
    equations; held against the laws' own drifts in the tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb, fmpq

from vegasfluid.analysis.proofs.intervals import Number, larger, lesser, variable
from vegasfluid.analysis.proofs.problem import Problem
from vegasfluid.analysis.proofs.response_functions import loss_factor, window_at_rest
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["Equations", "Rest"]


class Rest(NamedTuple):
    """A network at rest; balls, or balls with slopes.

    Args:
        queue: packets.
        prob: of a packet to be dropped or marked.
        rtts: of each class, s.
        windows: of each class, packets.
        rates: of a flow of each class, packets/s.
        ratio: rate of a tuned flow over the mean rate of the others.
        backlog: that a tuned flow finds, packets.
        climbing: f, the share of the tuned flows that climbs back after a loss.
    """

    queue: Any
    prob: Any
    rtts: dict[str, Any]
    windows: dict[str, Any]
    rates: dict[str, Any]
    ratio: Any
    backlog: Any
    climbing: Any


class Equations:
    """The equations of a problem at the precision at which they were made.

    Args:
        problem: the parameters; every one is taken exactly.
    """

    def __init__(self, problem: Problem) -> None:
        red, tuned = problem.red, problem.tuned
        self.problem = problem
        self.capacity, self.buffer = arb(problem.capacity), arb(problem.buffer)
        self.low, self.high = arb(red.min_thresh), arb(red.max_thresh)
        self.max_drop = arb(red.max_drop)
        self.goes_on = red.gentle and red.max_drop < 1
        self.base_rtts = {name: arb(of.base_rtt) for name, of in problem.groups.items()}
        self.counts = {name: of.count for name, of in problem.groups.items()}
        self.others = sum(of.count for of in problem.competitors.values())
        self.laws = {
            name: window_at_rest(of, problem.loss_process)
            for name, of in problem.competitors.items()
        }
        self.dialect = DIALECTS[tuned.dialect]
        cut = fmpq(*self.dialect.loss_cut.as_integer_ratio())
        self.cut, self.exposure = arb(cut), arb(loss_factor(problem.loss_process, cut))
        self.softness, self.rise = arb(tuned.softness), arb(self.dialect.alpha_offset)

    @property
    def top(self) -> arb:
        """Where RED's curve ends, p is 1, or the buffer begins to overflow, packets."""
        red = self.problem.red
        top = lesser(self.high * (2 if self.goes_on else 1), self.buffer - 1)
        if red.wait or (not self.goes_on and red.max_drop < 0.5):
            return top
        if red.max_drop >= 0.5:
            return lesser(top, self.low + (self.high - self.low) / (2 * self.max_drop))
        above = (arb(0.5) - self.max_drop) / (1 - self.max_drop)
        return lesser(top, self.high * (1 + above))

    def curve(self, queue: Number) -> Number:
        """RED's probability before drops are spaced."""
        rise = (queue - self.low) / (self.high - self.low)
        if not self.goes_on:
            return self.max_drop * rise
        early = self.max_drop * lesser(rise, arb(1))
        above = larger((queue - self.high) / self.high, arb(0))
        return early + (1 - self.max_drop) * above

    def drop_prob(self, queue: Number) -> Number:
        """The share of packets dropped or marked, for queues above `min_thresh` and up to `top`."""
        prob = self.curve(queue)
        return 2 * prob / (3 - prob) if self.problem.red.wait else 2 * prob

    def kept(self, prob: Number) -> Number:
        """The share of packets that the queue lets in."""
        return arb(1) if self.problem.red.marks else 1 - prob

    def rtt(self, name: str, queue: Number) -> Number:
        """Round-trip time of a class, s."""
        return self.base_rtts[name] + queue / self.capacity

    def mean_rate(self, rates: dict[str, Number]) -> Number:
        """X, packets/s."""
        total: Any = arb(0)
        for name, rate in rates.items():
            total = total + self.counts[name] * rate
        return total / self.others

    def rest(self, queue: Number) -> Rest:
        """The network with that queue.

        Args:
            queue: above `min_thresh` and up to `top`, packets; a ball or a `variable`.
        """
        prob = self.drop_prob(queue)
        rtts = {name: self.rtt(name, queue) for name in self.base_rtts}
        windows = {name: law(prob, rtts[name]) for name, law in self.laws.items()}
        rates = {name: window / rtts[name] for name, window in windows.items()}
        mean, tuned = self.mean_rate(rates), self.problem.tuned_name
        left = self.capacity / self.kept(prob) - self.others * mean
        rates[tuned] = left / self.counts[tuned]
        windows[tuned] = rates[tuned] * rtts[tuned]
        divisor = self.base_rtts[tuned] if self.dialect.divides_by_base_rtt else rtts[tuned]
        return Rest(
            queue=queue,
            prob=prob,
            rtts=rtts,
            windows=windows,
            rates=rates,
            ratio=rates[tuned] / mean,
            backlog=windows[tuned] * (queue / self.capacity) / divisor,
            climbing=self.exposure * self.cut * prob * windows[tuned] * windows[tuned],
        )

    def alpha(self, rest: Rest) -> Number:
        """The alpha at which the tuned class rests so, packets; not finite where f may be 1."""
        width = larger(self.cut * rest.backlog / 2, self.softness)
        return rest.backlog - width * (1 - rest.climbing).log() - self.rise

    def excess(self, queue: Number, ratio: arb) -> Number:
        """What is let in above the capacity where a tuned flow has that ratio, packets/s."""
        prob = self.drop_prob(queue)
        rates = {
            name: law(prob, self.rtt(name, queue)) / self.rtt(name, queue)
            for name, law in self.laws.items()
        }
        shares = self.others + ratio * self.counts[self.problem.tuned_name]
        return self.kept(prob) * self.mean_rate(rates) * shares - self.capacity

    def sensitivity(self, queue: arb) -> tuple[arb, arb]:
        """Slopes by the queue: of the logarithm of the ratio, and of alpha.

        Args:
            queue: a ball; the slopes hold everywhere in it.
        """
        rest = self.rest(variable(queue))
        alpha = self.alpha(rest)
        return rest.ratio[1] / rest.ratio[0], alpha[1]

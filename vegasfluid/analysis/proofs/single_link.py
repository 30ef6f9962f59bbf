"""One RED link in equilibrium with a tuned class of Vegas flows, as a function of its queue.

With p(q) the fraction of packets that RED drops, R_i = T_i + q/C, x_i = W_i(p, R_i) / R_i the rates
of the N_i flows of each competing class, X their mean over all N competitors, and k = 1 - p the
fraction that is admitted (1 where packets are marked):

    x_v = (C / k - N X) / N_v          the tuned flows use the capacity that the others leave
    ratio = x_v / X
    W_v = x_v R_v
    d = W_v (R_v - T_v) / R_v          their backlog (Linux: over T_v)
    f = phi b p W_v^2                  the fraction of them that recovers from a loss
    alpha = d - max(b d / 2, softness) ln(1 - f) - a_0

Here a_0 is the dialect's offset: equilibrium backlog of a growing window minus alpha. p rises with
q and every x_i falls (`response_functions`). So x_v rises, and with it ratio, W_v, d,
f and alpha.

RED's curve, the response functions and the terms of Vegas are those of the proof of uniqueness
(`links`, `response_functions`, `senders`). Only what is solved for differs: there alpha is given
and the rate of a Vegas flow is a root that is enclosed numerically; here the rate is the capacity
that is left over, which makes alpha an explicit function of the queue.

Sources:
    Derived for this project from `congestion/vegas/fluid.py`, `aqm/red/red.py` and the fluid's
    equations; compared with the drifts of the congestion controls in the tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb

from vegasfluid.analysis.proofs.intervals import ONE, Interval, minimum, variable
from vegasfluid.analysis.proofs.links import RedLink
from vegasfluid.analysis.proofs.problem import FairAlphaProblem
from vegasfluid.analysis.proofs.response_functions import response_function
from vegasfluid.analysis.proofs.senders import VegasBalance
from vegasfluid.aqm.red import NO_WAIT

__all__ = ["LinkEquilibrium", "SingleLinkEquations"]


class LinkEquilibrium(NamedTuple):
    """An equilibrium of the link; intervals, or intervals with slopes.

    Args:
        queue: packets.
        prob: probability that a packet is dropped or marked.
        rtts: round-trip time of each class by its name, s.
        windows: window of a flow of each class, packets.
        rates: rate of a flow of each class, packets/s.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        backlog: backlog that a tuned flow estimates, packets.
        recovering: fraction of the tuned flows whose windows grow back after a loss.
    """

    queue: Interval
    prob: Interval
    rtts: dict[str, Interval]
    windows: dict[str, Interval]
    rates: dict[str, Interval]
    ratio: Interval
    backlog: Interval
    recovering: Interval


class SingleLinkEquations:
    """The equilibrium of one RED link with a tuned Vegas class, as explicit functions of its queue.

    They are evaluated at the precision at which they are built.

    Args:
        problem: the parameters, each taken exactly.
    """

    def __init__(self, problem: FairAlphaProblem) -> None:
        self.problem = problem
        self.link = RedLink(problem.capacity, problem.buffer, problem.red)
        self.vegas = VegasBalance(problem.tuned, problem.loss_process)
        self.capacity, self.min_thresh = self.link.capacity, self.link.min_thresh
        self.gentle_region = problem.red.gentle and problem.red.max_drop < 1
        self.base_rtts = {name: arb(flows.base_rtt) for name, flows in problem.groups.items()}
        self.counts = {name: flows.count for name, flows in problem.groups.items()}
        self.competitor_count = sum(flows.count for flows in problem.competitors.values())
        self.responses = {
            name: response_function(flows, problem.loss_process)
            for name, flows in problem.competitors.items()
        }
        self.alpha_offset = arb(self.vegas.implementation.alpha_offset)

    @property
    def largest_queue(self) -> arb:
        """The largest queue at which the equations hold, packets.

        It is the smallest of three: where RED's curve ends, where RED starts to drop every packet,
        and one packet below the buffer.
        """
        red, link = self.problem.red, self.link
        top = minimum(link.max_thresh * (2 if self.gentle_region else 1), link.overflow_start)
        if red.gap != NO_WAIT or (not self.gentle_region and red.max_drop < 0.5):
            return top
        if red.max_drop >= 0.5:
            rise = (link.max_thresh - link.min_thresh) / (2 * link.max_drop)
            return minimum(top, link.min_thresh + rise)
        above = (arb(0.5) - link.max_drop) / (1 - link.max_drop)
        return minimum(top, link.max_thresh * (1 + above))

    def admitted(self, prob: Interval) -> Interval:
        """The fraction of arriving packets that the queue admits: 1 - prob, or 1 where RED marks.

        Args:
            prob: probability that a packet is dropped or marked.
        """
        return ONE if self.problem.red.marks else 1 - prob

    def rtt(self, name: str, queue: Interval) -> Interval:
        """The round-trip time of a class, s: base RTT plus queue / capacity.

        Args:
            name: name of the class.
            queue: packets.
        """
        return self.base_rtts[name] + queue / self.capacity

    def mean_rate(self, rates: dict[str, Interval]) -> Interval:
        """The mean rate of a flow over all flows of all competing classes, packets/s.

        Args:
            rates: rate of a flow of each competing class, packets/s.
        """
        total: Any = arb(0)
        for name, rate in rates.items():
            total = total + self.counts[name] * rate
        return total / self.competitor_count

    def equilibrium(self, queue: Interval) -> LinkEquilibrium:
        """The equilibrium at a given queue, with the tuned flows using the capacity others leave.

        It has the drop probability, the round-trip time, window and rate of each class, the ratio
        of rates, and the tuned flows' backlog and recovering fraction.

        Args:
            queue: above `min_thresh` and up to `largest_queue`, packets; with a slope if it is a
                `variable`.
        """
        prob = self.link.early(queue)
        rtts = {name: self.rtt(name, queue) for name in self.base_rtts}
        windows = {name: response(prob, rtts[name]) for name, response in self.responses.items()}
        rates = {name: window / rtts[name] for name, window in windows.items()}
        mean, tuned = self.mean_rate(rates), self.problem.tuned_name
        left = self.capacity / self.admitted(prob) - self.competitor_count * mean
        rates[tuned] = left / self.counts[tuned]
        windows[tuned] = rates[tuned] * rtts[tuned]
        return LinkEquilibrium(
            queue=queue,
            prob=prob,
            rtts=rtts,
            windows=windows,
            rates=rates,
            ratio=rates[tuned] / mean,
            backlog=self.vegas.backlog(windows[tuned], rtts[tuned]),
            recovering=self.vegas.loss_per_rtt(windows[tuned], prob),
        )

    def alpha(self, equilibrium: LinkEquilibrium) -> Interval:
        """The parameter alpha with which the tuned class has a given equilibrium, packets.

        It is not finite where the enclosure of the fraction `recovering` reaches 1.
        """
        threshold = self.vegas.growth_threshold(equilibrium.backlog, equilibrium.recovering)
        return threshold - self.alpha_offset

    def excess(self, queue: Interval, ratio: arb) -> Interval:
        """Admitted traffic minus capacity, packets/s, at a queue and a ratio of rates.

        It is 0 in equilibrium.

        Args:
            queue: packets.
            ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        """
        prob = self.link.early(queue)
        rates = {
            name: response(prob, self.rtt(name, queue)) / self.rtt(name, queue)
            for name, response in self.responses.items()
        }
        shares = self.competitor_count + ratio * self.counts[self.problem.tuned_name]
        return self.admitted(prob) * self.mean_rate(rates) * shares - self.capacity

    def sensitivity(self, queue: arb) -> tuple[arb, arb]:
        """Derivatives by the queue of ln(ratio), 1/packets, and of alpha, a pure number.

        Both enclose all derivatives in an interval of queues.

        Args:
            queue: an interval, packets.
        """
        equilibrium = self.equilibrium(variable(queue))
        alpha = self.alpha(equilibrium)
        return equilibrium.ratio[1] / equilibrium.ratio[0], alpha[1]

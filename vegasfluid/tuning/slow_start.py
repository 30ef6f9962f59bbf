"""Gamma: the backlog at which Vegas leaves slow start, judged by what the start gives its flows.

Alpha and beta settle where windows rest; gamma only how they come there. From the first packet to
the end of the warm-up a tuned flow should have its share, too: of some gammas, from 1 to beta, the
one is taken with which it comes nearest, on packets with the same seeds. Another gamma than the
given one must be better beyond doubt, and must leave the ratio after the warm-up where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network, UniformStart
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement, half_width, measure
from vegasfluid.tuning.stochastic_root import CLOSE

__all__ = ["SlowStart", "gamma_candidates", "tune_gamma_of"]

PARTS = (0.25, 0.5, 1.0)
"""Of alpha: gammas to try."""


@dataclass(frozen=True)
class SlowStart:
    """How the start went.

    Args:
        until: its end, s.
        given: the gamma that was given, packets.
        before: runs up to there with that gamma.
        after: runs with the recommended one.
    """

    until: float
    given: float
    before: Measurement
    after: Measurement

    def as_json(self) -> dict[str, Any]:
        """By the names of the command's JSON output."""
        return {
            "until_s": self.until,
            "given_gamma_packets": self.given,
            "given_ratio": self.before.ratio,
            "ratio": self.after.ratio,
            "ratio_ci95": list(self.after.interval),
        }


def gamma_candidates(law: Vegas) -> list[float]:
    """Gammas to try: 1, parts of alpha, and beta; the given one first.

    >>> gamma_candidates(Vegas(alpha=20, beta=22, dialect="ns2"))
    [1.0, 5.0, 10.0, 20.0, 22.0]
    """
    alpha, beta, given = (float(cast(Any, of)) for of in (law.alpha, law.beta, law.gamma))
    tried = [1.0, *(part * alpha for part in PARTS), beta]
    whole = law.implementation.whole_packets
    rest = {max(float(round(of)), 1.0) if whole else max(of, 1.0) for of in tried}
    return [given, *sorted(rest - {given})]


def tune_gamma_of(job: Evaluator, network: Network) -> tuple[Network, SlowStart]:
    """The network with the best gamma for the job's class, and how the start goes with it.

    Args:
        job: whose packet runs it is judged by.
        network: with the alpha and beta that it has found.

    Raises:
        InvalidInput: where some class sends nothing before the end of the warm-up.
    """
    until = job.warmup or job.until / 4
    check_starts_before(network, until)
    law = job.law_in(network)
    given, *others = gamma_candidates(law)
    before = after = started(job, network, until)
    best = network
    for gamma in others:
        changed = network.with_law(job.tuned, replace(law, gamma=gamma))
        found = started(job, changed, until)
        if better(found, after, job.goal) and stays(job, network, changed):
            best, after = changed, found
    return best, SlowStart(until, given, before, after)


def check_starts_before(network: Network, until: float) -> None:
    """Hold every class to sending before a time, s."""
    for name, flows in network.flows.items():
        start = flows.start.spread if isinstance(flows.start, UniformStart) else np.max(flows.start)
        if start >= until:
            allowed = f"before the end of the warm-up ({until:g} s), for gamma to be tuned"
            raise InvalidInput(f"flows.{name}", "start", allowed, float(start))


def started(job: Evaluator, network: Network, until: float) -> Measurement:
    """The start of the job's packet runs."""
    found = measure(network, job.tuned, job.seeds, until=until, warmup=0.0, others=job.others)
    gamma = float(cast(Any, job.law_in(network).gamma))
    job.report(f"packets: gamma {gamma:.4g}, ratio {found.ratio:.3g} up to {until:g} s")
    return found


def better(found: Measurement, than: Measurement, goal: float) -> bool:
    """Whether runs are nearer to a ratio than others of the same seeds, beyond doubt."""
    gains = np.abs(than.log_ratios - math.log(goal)) - np.abs(found.log_ratios - math.log(goal))
    return bool(gains.mean() > max(CLOSE, half_width(gains)))


def stays(job: Evaluator, network: Network, changed: Network) -> bool:
    """Whether the ratio after the warm-up is as near to the goal as it was, or near enough."""
    was, now = (
        abs(math.log(job.evaluate_packets(of).ratio / job.goal)) for of in (network, changed)
    )
    return now <= max(was, CLOSE)

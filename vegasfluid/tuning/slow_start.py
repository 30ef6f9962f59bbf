"""Tuning gamma: the backlog at which Vegas leaves slow start.

Alpha and beta determine the equilibrium of the windows; gamma only how they get there. From the
first packet to the end of the warm-up a tuned flow should have its share, too: of some gammas, from
1 to beta, the best one is taken, on packets with the same seeds. Another gamma than the given one
must be better beyond doubt, and must leave the ratio after the warm-up where it is.
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
from vegasfluid.tuning.stochastic_root import CENTRED

__all__ = ["SlowStart", "gamma_candidates", "tune_gamma_of_class"]

FRACTIONS_OF_ALPHA = (0.25, 0.5, 1.0)
"""Gammas to try, as fractions of alpha."""


@dataclass(frozen=True)
class SlowStart:
    """Goodput ratios at the start of the runs, with the given and the recommended gamma.

    Args:
        until: end of the simulated start, s; it is the warm-up of other runs.
        given: the gamma that was given, packets.
        before: packet runs from 0 to `until` with the given gamma.
        after: packet runs from 0 to `until` with the recommended gamma.
    """

    until: float
    given: float
    before: Measurement
    after: Measurement

    def as_json(self) -> dict[str, Any]:
        """The block `start` of the JSON output: goodput ratios from time 0 to `until_s`.

        Returns:
            `until_s`, `given_gamma_packets`, `given_ratio` (with that gamma), and `ratio` with
            `ratio_ci95` (with the recommended gamma).
        """
        return {
            "until_s": self.until,
            "given_gamma_packets": self.given,
            "given_ratio": self.before.ratio,
            "ratio": self.after.ratio,
            "ratio_ci95": list(self.after.interval),
        }


def gamma_candidates(law: Vegas) -> list[float]:
    """Gammas to try for `law`, packets: the given one, then 1, fractions of alpha, and beta.

    Without repetitions, each but the given one at least 1, and whole where the dialect needs it.

    >>> gamma_candidates(Vegas(alpha=20, beta=22, dialect="ns2"))
    [1.0, 5.0, 10.0, 20.0, 22.0]
    """
    alpha, beta, given = (float(cast(Any, value)) for value in (law.alpha, law.beta, law.gamma))
    gammas = [1.0, *(fraction * alpha for fraction in FRACTIONS_OF_ALPHA), beta]
    whole = law.implementation.whole_packets
    settable = {max(float(round(one)), 1.0) if whole else max(one, 1.0) for one in gammas}
    return [given, *sorted(settable - {given})]


def tune_gamma_of_class(evaluator: Evaluator, network: Network) -> tuple[Network, SlowStart]:
    """Find the gamma with which a class's goodput ratio is best from the start.

    Another gamma must bring the ratio from time 0 to the end of the warm-up (without a warm-up, to
    a quarter of the run) significantly nearer to the target, and keep the ratio after the warm-up.

    Args:
        evaluator: of the tuned class.
        network: with the recommended alpha and beta.

    Returns:
        The network with the best gamma, and packet runs of the start before and after.

    Raises:
        InvalidInput: where the last flow of some class may start only after the warm-up.
    """
    until = evaluator.settings.warmup or evaluator.settings.until / 4
    require_starts_before(network, until)
    law = evaluator.law_in(network)
    given, *others = gamma_candidates(law)
    before = after = measure_start(evaluator, network, until)
    best = network
    for gamma in others:
        changed = network.with_law(evaluator.tuned, replace(law, gamma=gamma))
        started = measure_start(evaluator, changed, until)
        if is_better(started, after, evaluator.target_ratio) and keeps_ratio(
            evaluator, network, changed
        ):
            best, after = changed, started
    return best, SlowStart(until, given, before, after)


def require_starts_before(network: Network, until: float) -> None:
    """Raise InvalidInput if the last flow of some class starts at `until` (s) or later."""
    for name, flows in network.flows.items():
        start = flows.start.spread if isinstance(flows.start, UniformStart) else np.max(flows.start)
        if start >= until:
            allowed = f"before the end of the warm-up ({until:g} s), for gamma to be tuned"
            raise InvalidInput(f"flows.{name}", "start", allowed, float(start))


def measure_start(evaluator: Evaluator, network: Network, until: float) -> Measurement:
    """Packet runs of a network from time 0 to `until` (s), one for each present seed.

    Means have no warm-up; `ratio` is that of the evaluator's class.
    """
    measurement = measure(
        network, evaluator.tuned, evaluator.seeds, until=until, warmup=0.0, others=evaluator.others
    )
    gamma = float(cast(Any, evaluator.law_in(network).gamma))
    ratio = f"ratio {measurement.ratio:.3g} over the first {until:g} s"
    evaluator.settings.report(f"packets: gamma {gamma:.4g}, {ratio}")
    return measurement


def is_better(new: Measurement, old: Measurement, target: float) -> bool:
    """Whether `new` runs have ratios significantly nearer to the target than `old` ones.

    Compares |log(ratio / target)| seed by seed; the gain must exceed 0.03 and its 95 % half width.
    """
    before, after = (np.abs(runs.log_ratios - math.log(target)) for runs in (old, new))
    gains = before - after
    return bool(gains.mean() > max(CENTRED, half_width(gains)))


def keeps_ratio(evaluator: Evaluator, network: Network, changed: Network) -> bool:
    """Whether `changed` has a ratio after the warm-up no farther from its target than `network`.

    On packets, in |log(ratio / target)|; a distance of 0.03 is always accepted.
    """
    target = evaluator.target_ratio
    before, after = (
        abs(math.log(evaluator.evaluate_packets(one).ratio / target)) for one in (network, changed)
    )
    return after <= max(before, CENTRED)

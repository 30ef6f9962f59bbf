"""The alpha of one class with a target ratio: on the fluid model, then corrected on packets."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp

from vegasfluid.network import Network
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.initial_guess import guess_alpha
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.parameters import largest_alpha, smallest_alpha
from vegasfluid.tuning.scalar_root import FluidOptimum, find_root
from vegasfluid.tuning.settings import Step
from vegasfluid.tuning.stochastic_root import (
    SCREENING_RUNS,
    AlphaSetting,
    StochasticRoot,
    find_stochastic_root,
    retrospective_approximation,
)

__all__ = ["changed", "fluid_alpha", "packet_alpha"]


def fluid_alpha(evaluator: Evaluator) -> FluidOptimum:
    """Find the alpha (packets) at which the fluid model gives the evaluator's target ratio."""

    def ratio_at(alpha: float) -> float:
        """Goodput ratio of the tuned class on the fluid model, at an alpha in packets."""
        law = evaluator.law_at(jnp.asarray(alpha))  # a number of a file would have to be whole
        ratio = evaluator.evaluate_fluid(evaluator.with_law(law))["ratio"]
        evaluator.settings.report(Step("fluid", alpha, law.beta, ratio))
        return ratio

    target = evaluator.target_ratio
    guess = guess_alpha(evaluator.network, evaluator.tuned, target)
    return find_root(ratio_at, target=target, guess=guess, bounds=evaluator.alpha_bounds)


def packet_alpha(
    evaluator: Evaluator, network: Network, start: float, slope: float
) -> StochasticRoot:
    """Find alpha and dead band of one class at which packets confirm the target ratio.

    Runs are added until the ratio's confidence interval is narrow enough. Returns the setting
    (packets), the measurements, and whether the target is reached.

    Args:
        evaluator: of the class.
        network: with the other classes and the queue as they are to be.
        start: first alpha, packets.
        slope: d log(ratio) / d log(alpha) there, as a first guess.
    """
    law = evaluator.law_in(network)

    def sample(setting: AlphaSetting, runs: int | None = None) -> Measurement:
        """Measure a setting by `runs` packet runs; None: one for each seed."""
        return evaluator.evaluate_packets(changed(evaluator, network, setting), runs)

    def find(alpha: float) -> StochasticRoot:
        """Stochastic root search from alpha (packets), with the present seeds."""
        return find_stochastic_root(
            sample,
            evaluator.settable_alpha,
            target=evaluator.target_ratio,
            start=alpha,
            slope=slope,
            bounds=(smallest_alpha(law), largest_alpha(network)),
            dead_band=evaluator.dead_band,
            whole=law.implementation.whole_packets,
            screen=partial(sample, runs=SCREENING_RUNS),
        )

    return retrospective_approximation(find, start, evaluator.add_runs)


def changed(evaluator: Evaluator, network: Network, setting: AlphaSetting) -> Network:
    """The network with the alpha and beta (packets) of `setting` for the evaluator's class."""
    return network.with_law(evaluator.tuned, evaluator.law_at(*setting))

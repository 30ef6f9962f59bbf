"""The fluid models of all scenarios of a network, integrated side by side.

One compiled function integrates all scenarios whose equations have one structure, with steps and a
history that fit every one of them, and differentiates them by log(alpha) (`fluid_gradients`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.parallel import parallel_map
from vegasfluid.tuning.fluid_gradients import STEEPEST, FluidSpec, make_spec, outputs
from vegasfluid.tuning.objectives import Rates, ShareRatio
from vegasfluid.tuning.parameters import AlphaParameter
from vegasfluid.tuning.scenarios import Scenario

__all__ = ["MinimaxEvaluation", "ScenarioFluids"]

Vector = Float[np.ndarray, " scenarios"]
"""One number for each scenario."""


class MinimaxEvaluation(NamedTuple):
    """Distances of the fluid models' goodput ratios from the target at one alpha.

    Args:
        distances: log(ratio / target) in each scenario; (scenarios,).
        slopes: derivatives of the distances by log(alpha), as the fluid model has them (see
            `ScenarioFluids.slopes_at`); (scenarios,).
    """

    distances: Vector
    slopes: Vector


@partial(jax.jit, static_argnames="spec")
def _log_ratios_and_slopes(
    log_alpha: Float[Array, ""], models: FluidModel, spec: FluidSpec
) -> tuple[Array, Array, dde.Solution]:
    """log(goodput ratio) of a batch of scenarios and its derivative by log(alpha).

    Returns both as (scenarios,) and the solutions of the delay equations. Alpha in packets, for the
    class of `spec.parameters[0]`.
    """

    def batch_at(x: Float[Array, ""]) -> tuple[Array, dde.Solution]:
        """log(goodput ratio) of each scenario at log(alpha) = x; and the solutions."""
        return jax.vmap(lambda one: _log_ratio(x, one, spec))(models)

    values, slopes, solutions = jax.jvp(
        batch_at, (log_alpha,), (jnp.ones_like(log_alpha),), has_aux=True
    )
    return values, slopes, solutions


def _log_ratio(
    log_alpha: Float[Array, ""], model: FluidModel, spec: FluidSpec
) -> tuple[Array, dde.Solution]:
    """Log of a tuned flow's mean goodput over that of the other classes' flows, after warm-up.

    Returns it for one scenario at log(alpha), alpha in packets, and the solution of its equations.
    """
    values, solution = outputs(log_alpha[jnp.newaxis], model, spec)
    parameter = cast(AlphaParameter, spec.parameters[0])
    tuned = np.zeros(model.structure.group_count)
    tuned[list(model.structure.class_slices)[parameter.index]] = 1.0
    count = jnp.asarray(model.parameters.groups.count, float)
    rates = Rates(values.goodput, count, tuned, 1.0)
    return ShareRatio(1.0).distances(rates)[0], solution


def alpha_parameter(scenario: Scenario, tuned: str) -> tuple[AlphaParameter]:
    """Alpha of class `tuned` as the only tuned parameter; its dead band is the scenario's."""
    network = scenario.network
    law: Any = network.flows[tuned].law
    return (AlphaParameter(tuned, list(network.flows).index(tuned), law.beta - law.alpha),)


class _Batch(NamedTuple):
    """Scenarios whose equations have one structure.

    Args:
        indices: of the scenarios.
        models: their fluid models as one, each number with a first axis for the scenarios.
        spec: the structure.
    """

    indices: list[int]
    models: FluidModel
    spec: FluidSpec


class ScenarioFluids:
    """The fluid models of all scenarios, integrated side by side and cached by log(alpha).

    Args:
        scenarios: the networks, in which the tuned class has the dead band to use.
        tuned: the class that is tuned.
        target_ratio: desired goodput of a tuned flow over that of a flow of the other classes.
        until: simulated time, s.
        warmup: initial time that means leave out, s.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        tuned: str,
        *,
        target_ratio: float,
        until: float,
        warmup: float,
    ) -> None:
        self._scenarios, self._log_target = scenarios, math.log(target_ratio)
        equations = [
            make_spec(one.network, alpha_parameter(one, tuned), until, warmup) for one in scenarios
        ]
        self._batches = _batches(equations)
        self._known: dict[float, MinimaxEvaluation] = {}

    @property
    def known(self) -> dict[float, MinimaxEvaluation]:
        """All evaluations so far, by log(alpha), alpha in packets."""
        return self._known

    def at(self, log_alpha: float) -> MinimaxEvaluation:
        """log(ratio / target) of each scenario at a log(alpha), and derivatives by it; cached.

        Raises:
            SolveFailed: where a fluid model cannot be integrated; names the scenario.
        """
        if log_alpha not in self._known:
            self._known[log_alpha] = self._evaluate(log_alpha)
        return self._known[log_alpha]

    def slopes_at(self, log_alpha: float) -> Vector:
        """Derivatives of log(ratio / target) of each scenario by log(alpha) at a log(alpha).

        Those of the model grow without bound in long oscillations. Where one is not finite or
        steeper than `STEEPEST`, the difference between the evaluated points next to it replaces it.
        """
        slopes = self.at(log_alpha).slopes
        usable = np.abs(slopes) <= STEEPEST  # not so where it is nan
        points = sorted(self._known)
        place = points.index(log_alpha)
        before, after = points[max(place - 1, 0)], points[min(place + 1, len(points) - 1)]
        if usable.all() or before == after:
            return np.where(usable, slopes, 0.0)
        change = self.at(after).distances - self.at(before).distances
        return np.where(usable, slopes, change / (after - before))

    def explore(self, log_alphas: Sequence[float]) -> None:
        """Evaluate all scenarios at several log(alpha) and cache the results.

        In parallel, once the first evaluation has compiled the code.
        """
        if not self._known:
            self.at(log_alphas[0])
        parallel_map(self.at, log_alphas)

    def _evaluate(self, log_alpha: float) -> MinimaxEvaluation:
        """Integrate all scenarios: their log(ratio / target) and derivatives by log(alpha)."""
        distances, slopes = (np.zeros(len(self._scenarios)) for _ in range(2))
        for indices, models, spec in self._batches:
            x = jnp.asarray(log_alpha, float)
            values, derivatives, solutions = _log_ratios_and_slopes(x, models, spec)
            for row, index in enumerate(indices):
                self._check(jax.tree.map(lambda leaf, row=row: leaf[row], solutions), index)
            distances[indices] = np.asarray(values) - self._log_target
            slopes[indices] = np.asarray(derivatives)
        return MinimaxEvaluation(distances, slopes)

    def _check(self, solution: dde.Solution, index: int) -> None:
        """Raise SolveFailed, naming scenario number `index`, if its integration failed."""
        try:
            dde.check(solution)
        except SolveFailed as failed:
            raise SolveFailed(f"{self._scenarios[index].text}: {failed}") from failed


def _batches(equations: Sequence[tuple[FluidModel, FluidSpec]]) -> list[_Batch]:
    """Group scenarios' fluid models that one compiled function can integrate together."""
    alike: dict[Any, list[int]] = {}
    for index, (model, _) in enumerate(equations):
        structure = model.structure
        sizes = structure.groups_per_class, structure.hops
        key = (*sizes, jax.tree.structure(model.parameters))
        alike.setdefault(key, []).append(index)
    batches = []
    for indices in alike.values():
        specs = [equations[index][1] for index in indices]
        models = [equations[index][0] for index in indices]
        numbers = jax.tree.map(_stacked, *(model.parameters for model in models))
        structure = _common_structure([model.structure for model in models])
        merged = replace(models[0], parameters=numbers, structure=structure)
        batches.append(_Batch(indices, merged, _common(specs)))
    return batches


def _stacked(*leaves: Any) -> Array:
    """One array from equal arrays of several scenarios; the first axis is the scenario."""
    return jnp.asarray(np.stack([np.asarray(leaf, float) for leaf in leaves]))


def _common(specs: Sequence[FluidSpec]) -> FluidSpec:
    """One static specification for several scenarios: their longest delay and shortest step, s."""
    grids = [spec.grid for spec in specs]
    step, longest = min(one.step for one in grids), max(one.longest_lag for one in grids)
    grid = grids[0]._replace(step=step, longest_lag=longest)
    return specs[0]._replace(grid=grid)


def _common_structure(structures: Sequence[FluidStructure]) -> FluidStructure:
    """One structure for several scenarios: flow groups share an RTT only if they do in each."""
    rtts = list(zip(*(structure.rtt_index for structure in structures), strict=True))
    distinct = list(dict.fromkeys(rtts))
    return structures[0]._replace(rtt_index=tuple(distinct.index(rtt) for rtt in rtts))

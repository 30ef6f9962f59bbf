"""Jacobians of the fluid equations at an equilibrium, by the state and by every past value used.

The equations are those that runs integrate (`jax.jacfwd`). A history that records each read
replaces the solver's history and adds a perturbation to each answer. Delays are constant, at their
values at equilibrium. That they vary with the queues changes nothing to first order: what is read
is constant at equilibrium, except for counters, whose shift is in the Jacobian by the present
state.

Sources:
    K. Cooke and W. Huang, Proc. AMS 124, 1996 (delays frozen at equilibrium; as later papers quote
    it, not checked against the original).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.equations import (
    REFERENCE_TIME,
    EquilibriumEquations,
    RampHistory,
    Unknowns,
    counter_rates,
)
from vegasfluid.analysis.linear_stability.gain_scaling import GainScaled
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.observables import observe
from vegasfluid.fluid.vector_field import derivatives

__all__ = ["HistoryRead", "Jacobians", "cached_reads", "history_reads", "jacobians"]

CACHED_STRUCTURES = 64
"""Number of network structures whose history reads are kept."""


class HistoryRead(NamedTuple):
    """One read of the solver's history by the equations.

    Args:
        is_rate: whether rates of the stored components were read, and not their values.
        components: indices of the stored components; (k,).
        delays: how far back each was read, s; (k,).
    """

    is_rate: bool
    components: np.ndarray
    delays: Any


class RecordingHistory(RampHistory):
    """A ramp history that records its reads and adds a perturbation to each answer.

    Args:
        values: values of the stored components at `time`; (components,).
        rates: constant rates of the components, 1/s; (components,).
        time: present time, s.
        perturbations: arrays to be added to the answers, in the order of the reads; None for none.
    """

    def __init__(self, values: Any, rates: Any, time: float, perturbations: Any = None) -> None:
        super().__init__(values, rates, time)
        self._perturbations, self.reads = perturbations, []

    def __call__(self, times: Any, components: Any = slice(None)) -> Any:
        """Perturbed values of stored `components` (indices) at `times` (s); recorded."""
        return super().__call__(times, components) + self._record(False, times, components)

    def slope(self, times: Any, components: Any = slice(None)) -> Any:
        """Perturbed rates (1/s) of stored `components` (indices) at `times` (s); recorded."""
        return super().slope(times, components) + self._record(True, times, components)

    def _record(self, is_rate: bool, times: Any, components: Any) -> Any:
        """Append a read to `reads`, and return the perturbation to be added to its answer.

        `is_rate` states whether rates are read, `times` (s) when, and `components` which (indices).
        The perturbation is 0 if there are none.
        """
        indices = np.arange(self._values.size)[components]
        delays = (self._time - times) * jnp.ones(indices.shape)
        self.reads.append(HistoryRead(is_rate, indices, delays))
        return 0.0 if self._perturbations is None else self._perturbations[len(self.reads) - 1]


class Rates(NamedTuple):
    """Rates of change near an equilibrium.

    Args:
        unknowns: rates of the n unknowns other than counter rates, each in its own unit per
            second; (n,).
        stored: rates of the components that the history holds: counters, 1/s, then queues, data
            packets of work per second; (counters + queues,).
        reads: the reads of the history that the equations made.
    """

    unknowns: Any
    stored: Any
    reads: list[HistoryRead]


def rates_near(
    equations: EquilibriumEquations,
    unknowns: Unknowns,
    point: Unknowns,
    counters: Any,
    perturbations: Any,
) -> Rates:
    """Rates of change of a state near an equilibrium, and the history reads that they need.

    All queues are in data packets of work; rates are in the unit of each unknown per second.

    Args:
        equations: equilibrium equations of the network.
        unknowns: the present state.
        point: the equilibrium, in which the network has been at all past times.
        counters: present values of the counters, 0 at equilibrium; (counters,).
        perturbations: added to the answers of the history, one array for each read; None for none.
    """
    values = jnp.concatenate([jnp.zeros(equations.counter_count), point.queue])
    ramp = jnp.concatenate([point.counter_rates, jnp.zeros_like(point.queue)])
    history = RecordingHistory(values, ramp, REFERENCE_TIME, perturbations)
    state = with_counters(equations.state_from_work(unknowns), counters)
    now = jnp.asarray(REFERENCE_TIME)
    delayed = equations.field.delayed(now, history)
    rates = derivatives(state, observe(now, state, delayed, equations.field), equations.field)
    changing = equations.unknowns_of(rates, unknowns)._replace(counter_rates=jnp.zeros(0))
    stored = jnp.concatenate([counter_rates(rates), rates.queue])
    return Rates(ravel_pytree(changing)[0], stored, history.reads)


def with_counters(state: Any, counters: Any) -> Any:
    """A copy of the fluid model's state with the values of its counters replaced.

    `counters` holds loss events, then arrivals, signals and drops at each hop; (counters,).
    """
    names = ("loss_events", "arrived", "signalled", "dropped")
    ends = np.cumsum([getattr(state, name).size for name in names])[:-1]
    return state._replace(**dict(zip(names, jnp.split(counters, ends), strict=True)))


class Jacobians(NamedTuple):
    """Jacobians of the rates of change at an equilibrium.

    `unknowns` and `stored` are tuples of three matrices: derivatives by the n unknowns, by the
    counters, and by the answers of the history (the past values and rates that were read). Their
    shapes are (rates, n), (rates, counters) and (rates, answers).

    Args:
        unknowns: derivatives of the rates of the n unknowns (without counter rates).
        stored: derivatives of the rates of the stored components: counters, then queues.
        delays: how far back each answer of the history was read, s; (answers,).
    """

    unknowns: tuple[Any, Any, Any]
    stored: tuple[Any, Any, Any]
    delays: Any


def history_reads(equations: EquilibriumEquations, point: Unknowns) -> list[HistoryRead]:
    """The past values and rates that the equations use at an equilibrium, in their order.

    Each has the indices of the counters or queues that are read. The equations are traced, not
    computed, so the delays of the reads have a shape but no values.
    """
    reads: list[HistoryRead] = []
    zeros = jnp.zeros(equations.counter_count)
    jax.eval_shape(lambda: reads.extend(rates_near(equations, point, point, zeros, None).reads))
    return reads


def cached_reads(model: FluidModel, point: Unknowns) -> tuple[HistoryRead, ...]:
    """The reads of past values and rates by a model's equations, with their `delays` set to None.

    They are the same for all networks of one structure, and are cached. `point` is the equilibrium.
    """
    leaves, treedef = jax.tree.flatten((model, point))
    return reads_of_structure(treedef, tuple(leaf.shape for leaf in leaves))


@lru_cache(maxsize=CACHED_STRUCTURES)
def reads_of_structure(
    treedef: Any, shapes: tuple[tuple[int, ...], ...]
) -> tuple[HistoryRead, ...]:
    """The reads of past values and rates by a model's equations, with their `delays` set to None.

    `treedef` is the pytree structure of the tuple (model, equilibrium), and `shapes` are the
    shapes of its arrays.
    """
    reads: list[HistoryRead] = []

    def trace(*leaves: Any) -> None:
        """Collect the reads of the equations, for `jax.eval_shape`; nothing is computed."""
        model, point = jax.tree.unflatten(treedef, leaves)
        reads.extend(history_reads(EquilibriumEquations.from_model(model), point))

    jax.eval_shape(trace, *(jax.ShapeDtypeStruct(shape, float) for shape in shapes))
    return tuple(read._replace(delays=None) for read in reads)


@jax.jit
def jacobians(model: FluidModel, point: Unknowns, gain: Any) -> Jacobians:
    """Derivatives of all rates of change at an equilibrium, by all that the equations read there.

    They read the present unknowns, the present counters, and past values and rates from the
    history, each with its delay (s).

    Args:
        model: the fluid model.
        point: the equilibrium, with queues in data packets of work.
        gain: factor of the queues' feedback: derivatives of drop probabilities, and deviations of
            past queues; 1 for the network as it is.

    Returns:
        Derivatives of the rates of unknowns and of counters and queues, and the delays, s.
    """
    aqm = tuple(GainScaled(discipline, gain) for discipline in model.parameters.aqm)
    scaled = replace(model, parameters=model.parameters._replace(aqm=aqm))
    equations = EquilibriumEquations.from_model(scaled)
    flat, unravel = ravel_pytree(point._replace(counter_rates=jnp.zeros(0)))
    reads = history_reads(equations, point)
    ends = np.cumsum([read.components.size for read in reads])
    gains = [jnp.where(reads_queues(read, equations), gain, 1.0) for read in reads]

    def rates(vector: Any, counters: Any, answers: Any) -> tuple[tuple[Any, Any], Any]:
        """The rates of unknowns and of stored components, and as second part the delays, s."""
        parts = jnp.split(answers, ends[:-1])
        perturbations = [factor * part for factor, part in zip(gains, parts, strict=True)]
        unknowns = unravel(vector)._replace(counter_rates=point.counter_rates)
        found = rates_near(equations, unknowns, point, counters, perturbations)
        delays = jnp.concatenate([read.delays for read in found.reads])
        return (found.unknowns, found.stored), jax.lax.stop_gradient(delays)

    answers, counters = jnp.zeros(int(ends[-1])), jnp.zeros(equations.counter_count)
    derivative = jax.jacfwd(rates, argnums=(0, 1, 2), has_aux=True)
    (unknowns, stored), delays = derivative(flat, counters, answers)
    return Jacobians(unknowns, stored, delays)


def reads_queues(read: HistoryRead, equations: EquilibriumEquations) -> np.ndarray:
    """Boolean (k,): which of the k values of a history read are past queues.

    Senders see past queues as round-trip times. All False for a read of rates.
    """
    return (read.components >= equations.counter_count) & (not read.is_rate)

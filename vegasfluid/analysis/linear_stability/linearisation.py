"""The linear delay system of a network near an equilibrium, from the Jacobians of its equations.

A counter of which the equations use the increase over some time enters as the integral of its rate.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.equations import EquilibriumEquations
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, equilibrium_model
from vegasfluid.analysis.equilibria.newton import SMALLEST_SCALE, refine
from vegasfluid.analysis.linear_stability.delay_system import DelaySystem, DelayTerm
from vegasfluid.analysis.linear_stability.jacobians import (
    HistoryRead,
    Jacobians,
    cached_reads,
    jacobians,
)
from vegasfluid.errors import Unsupported

__all__ = ["FeedbackLoop", "Linearisation", "linearise"]

NEGLIGIBLE_COUPLING = 1e-13
"""Couplings below this fraction of the strongest are zero: some compilers leave 1e-46 of a zero."""


class FeedbackLoop(NamedTuple):
    """A network near an equilibrium, as it is and without the queues' feedback.

    The feedback is the drop probability, and the past round-trip time that senders see
    (`FluidOptions.delayed_rtt`). In the open loop both stay at their equilibrium values. Queues
    still delay the ACKs that let senders transmit; this is no feedback in this sense.

    Args:
        closed_loop: the network as it is.
        open_loop: without feedback; with the same states and delays.
        feedback: columns of the characteristic matrix that contain feedback; (k,).
    """

    closed_loop: DelaySystem
    open_loop: DelaySystem
    feedback: np.ndarray

    @classmethod
    def from_systems(cls, closed_loop: DelaySystem, open_loop: DelaySystem) -> FeedbackLoop:
        """The feedback loop from a network's linear systems with and without queue feedback.

        Finds the columns of the characteristic matrix in which the two systems differ.
        """
        differs = np.any(closed_loop.state_matrix != open_loop.state_matrix, axis=0)
        differs |= np.any(closed_loop.output_matrix != open_loop.output_matrix, axis=0)
        outputs = np.zeros(closed_loop.output_matrix.shape[0], bool)
        for one, other in zip(closed_loop.terms, open_loop.terms, strict=True):
            same = np.array_equal(one.into_state, other.into_state)
            outputs[one.output] |= not (same and np.array_equal(one.into_output, other.into_output))
        feedback = np.flatnonzero(np.concatenate([differs, outputs]))
        return cls(closed_loop, open_loop, feedback)

    def return_ratio(self, s: complex | np.ndarray) -> np.ndarray:
        """The return ratio L(s) at complex s, dimensionless; (..., k, k) for k feedback signals.

        It is each feedback signal after one pass of the loop. The feedback counts as positive: s is
        a root of the characteristic function where L(s) has the eigenvalue 1.

        Args:
            s: 1/s; a number or an array of any shape, (...).
        """
        matrix = self.open_loop.characteristic(s)
        difference = (self.closed_loop.characteristic(s) - matrix)[..., self.feedback]
        return -np.linalg.solve(matrix, difference)[..., self.feedback, :]


def linearise(point: Equilibrium) -> FeedbackLoop:
    """The linear delay system near an equilibrium, with and without the queues' feedback.

    Args:
        point: the equilibrium.

    Returns:
        The feedback loop. Its states are deviations from the equilibrium, divided by the values
        there, so they have no unit; rates are in 1/s.

    Raises:
        Unsupported: where the equations have no Jacobian: a continuum of equilibria, or a full
            buffer.
    """
    require_smooth(point)
    model = equilibrium_model(point.network, point.options)
    equations = EquilibriumEquations.from_model(model)
    unknowns = equations.in_work_units(refine(model, point.solution))
    closed, cut = (
        jax.tree.map(np.asarray, jacobians(model, unknowns, gain)) for gain in (1.0, 0.0)
    )
    values = np.asarray(ravel_pytree(unknowns._replace(counter_rates=jnp.zeros(0)))[0])
    free = ~point.solution.insensitive[: values.size]
    reads = cached_reads(model, unknowns)
    frame = Linearisation(equations.counter_count, values, free, reads)
    outputs = frame.outputs(closed)
    whole = frame.system(closed, outputs)
    kept = coupled_states(whole)
    without_feedback = frame.system(cut, outputs)
    return FeedbackLoop.from_systems(restricted(whole, kept), restricted(without_feedback, kept))


def require_smooth(point: Equilibrium) -> None:
    """Raise `Unsupported` for an equilibrium at which the equations have no Jacobian.

    That is one of a continuum of equilibria, or one with a full buffer.
    """
    if point.upper is not None:
        reason = "every backlog between alpha and beta is one, and none has a Jacobian"
        raise Unsupported("stability", "a continuum of equilibria", reason)
    links = list(point.network.links.items())
    for number, queue in enumerate(point.values.queue):
        name, link = links[number % len(links)]  # after the forward queues, the reverse ones
        if queue >= link.buffer:
            reason = "drops start abruptly there, so the equations have no Jacobian"
            raise Unsupported(f"stability: {name}", "a full buffer", reason)


Output = tuple[int, bool]
"""A delayed output: index of the stored component, and whether its rate is read, not its value."""


class DelayedRead(NamedTuple):
    """The effect of a past output on the equations.

    Args:
        output: the output that is read.
        delay: how far back, s.
        distributed: whether the output's integral over the delay is used, as for the increase of a
            counter, and not its past value.
    """

    output: Output
    delay: float
    distributed: bool


class Linearisation(NamedTuple):
    """Converts the Jacobians at an equilibrium to a linear delay system.

    Args:
        counter_count: number of counters, the first of the stored components; queues follow.
        values: values of the unknowns at equilibrium, queues first, which scale the states; (n,).
        free: True for each unknown that is not at a limit or a corner; (n,).
        reads: reads of past values and rates that the equations make.
    """

    counter_count: int
    values: np.ndarray
    free: np.ndarray
    reads: tuple[HistoryRead, ...]

    def output_row(self, found: Jacobians, output: Output) -> np.ndarray:
        """Derivatives by the n unknowns of a quantity whose past acts on the network; (n,).

        The quantity is the `output`: a queue (packets) or the rate of a counter (1/s). `found` has
        the Jacobians. The derivative by an unknown at a limit or a corner is 0.
        """
        component, is_rate = output
        if is_rate:
            return found.stored[0][component] * self.free
        queue = component - self.counter_count
        return (np.arange(self.values.size) == queue) * self.free.astype(float)

    def delayed_reads(self, found: Jacobians) -> dict[DelayedRead, np.ndarray]:
        """Derivatives of the rates of change by each past value that the equations use.

        For each past value (a queue, or a counter's rate, with its delay in s) an array of the
        derivatives of the rates of the n unknowns, then of the counters and queues; (n + counters +
        queues,). `found` has the Jacobians; reads of one past value are added up.
        """
        derivatives = np.concatenate([found.unknowns[2], found.stored[2]])
        components = [(read.is_rate, int(n)) for read in self.reads for n in read.components]
        columns: dict[DelayedRead, np.ndarray] = {}
        for (is_rate, component), delay, column in zip(
            components, found.delays, derivatives.T, strict=True
        ):
            # a counter's increase is its present value less the past one
            increase = not is_rate and component < self.counter_count
            read = DelayedRead((component, is_rate or increase), float(delay), increase)
            columns[read] = columns.get(read, 0) + (-column if increase else column)
        return columns

    def outputs(self, found: Jacobians) -> list[Output]:
        """The past values and rates of stored components (counters, queues) that act on the system.

        They are those whose delayed reads change some rate, and which vary with the unknowns or
        with past outputs; each as (index of the component, whether its rate is read), sorted.
        """
        columns = self.delayed_reads(found)
        used = {read.output for read, column in columns.items() if column.any()}
        return [output for output in sorted(used) if self.varies(found, output)]

    def varies(self, found: Jacobians, output: Output) -> bool:
        """Whether a queue, or the rate of a counter, varies near the equilibrium.

        `output` is its index, and whether it is a rate; `found` has the Jacobians. It varies if
        it depends on the unknowns or, as from link to link, on the past.
        """
        component, is_rate = output
        by_past = is_rate and found.stored[2][component].any()
        return bool(self.output_row(found, output).any() or by_past)

    def system(self, found: Jacobians, outputs: list[Output]) -> DelaySystem:
        """The linear delay system of a network near its equilibrium.

        Args:
            found: Jacobians of the rates of change at the equilibrium.
            outputs: the m delayed outputs, each as (index of the stored component, whether its rate
                is read).

        Returns:
            The system. Its states are the unknowns not at a limit or a corner, each divided by its
            value at equilibrium, so the state matrix is in 1/s. The outputs are in packets (queues)
            and 1/s (rates of counters).
        """
        size, free = self.values.size, self.free
        unit = np.maximum(np.abs(self.values), SMALLEST_SCALE)
        rows = [size + component if is_rate else -1 for component, is_rate in outputs]
        terms = tuple(
            DelayTerm(
                read.delay,
                outputs.index(read.output),
                read.distributed,
                (column[:size] / unit)[free],
                np.array([column[row] if row >= 0 else 0.0 for row in rows]),
            )
            for read, column in self.delayed_reads(found).items()
            if read.output in outputs
        )
        state_matrix = (found.unknowns[0] * unit / unit[:, None])[free][:, free]
        matrix = np.array([self.output_row(found, output) * unit for output in outputs])
        return DelaySystem(state_matrix, matrix.reshape(-1, size)[:, free], terms)

    def coupled_system(self, found: Jacobians) -> DelaySystem:
        """The linear delay system (rates in 1/s) from Jacobians `found`, coupled states only.

        Left out are states that decay alone and do not both depend on others and affect others.
        """
        whole = self.system(found, self.outputs(found))
        return restricted(whole, coupled_states(whole))


def coupled_states(system: DelaySystem) -> np.ndarray:
    """Boolean (n,): states that both depend on others and affect others, or do not decay alone.

    States that are False, such as the fraction in timeout where timeouts are not modelled, decay at
    the rate on the diagonal and do not affect the network's stability.
    """
    coupling = np.abs(system.state_matrix - np.diag(np.diag(system.state_matrix)))
    incoming = coupling.sum(axis=1) + sum(np.abs(term.into_state) for term in system.terms)
    outgoing = coupling.sum(axis=0) + np.abs(system.output_matrix).sum(axis=0)
    reachable = incoming > NEGLIGIBLE_COUPLING * incoming.max()
    observable = outgoing > NEGLIGIBLE_COUPLING * outgoing.max()
    return (reachable & observable) | (np.diag(system.state_matrix) >= 0)


def restricted(system: DelaySystem, kept: np.ndarray) -> DelaySystem:
    """The system with only those of its n states for which the boolean `kept` (n,) is true."""
    terms = tuple(term._replace(into_state=term.into_state[kept]) for term in system.terms)
    return DelaySystem(system.state_matrix[kept][:, kept], system.output_matrix[:, kept], terms)

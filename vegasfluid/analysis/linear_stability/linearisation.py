"""The equations near rest: their Jacobians, as a linear system that sees its own past.

The Jacobians are of the very equations that a run integrates (`jax.jacfwd`). Lags are those at
rest: that a lag moves with its queue changes nothing to first order, for what is looked up does
not move at rest (of a counter, which does, the shift is in the Jacobian of now). A counter that is
asked how much it gained since some time enters by the integral of its rate.

Sources:
    K. Cooke and W. Huang, Proc. AMS 124, 1996 (delays frozen at rest; as later papers quote it,
    not checked against the original).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vegasfluid.analysis.equilibria.equations import LATE, Steady, StraightPast, Unknowns, rates_of
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, arrays, solution
from vegasfluid.analysis.equilibria.pseudo_transient import Case
from vegasfluid.analysis.linear_stability.delay_system import DelaySystem, DelayTerm
from vegasfluid.analysis.linear_stability.gain_scaling import GainScaled
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.vector_field import derivatives, observe

__all__ = ["FeedbackLoop", "Frame", "Jacobians", "jacobians", "linear_of", "linearise", "reads_of"]

LEAST = 1e-3
"""Floor on the scale by which each state variable is made dimensionless, in its own unit."""
UNHEARD = 1e-13
"""A smaller part of the strongest coupling is none: some compilers leave 1e-46 of an exact zero."""

STRUCTURES = 64
"""So many structures of networks are remembered with what their equations look up."""


class Read(NamedTuple):
    """A look-up of the past, as the equations made it.

    Args:
        rates: whether of rates, and not of values.
        of: the components; (k,).
        lags: s; (k,).
    """

    rates: bool
    of: np.ndarray
    lags: Any


class Watched(StraightPast):
    """A straight past that notes what it is asked, and adds given deviations to its answers.

    Args:
        values, rates, now: as of `StraightPast`.
        added: what to add to each answer, in order; None: nothing.
    """

    def __init__(self, values: Any, rates: Any, now: float, added: Any = None) -> None:
        super().__init__(values, rates, now)
        self._added, self.reads = added, []

    def __call__(self, times: Any, of: Any = slice(None)) -> Any:
        """The components at past times."""
        return super().__call__(times, of) + self._note(False, times, of)

    def slope(self, times: Any, of: Any = slice(None)) -> Any:
        """Their rates."""
        return super().slope(times, of) + self._note(True, times, of)

    def _note(self, rates: bool, times: Any, of: Any) -> Any:
        components = np.arange(self._values.size)[of]
        lags = (self._now - times) * jnp.ones(components.shape)
        self.reads.append(Read(rates, components, lags))
        return 0.0 if self._added is None else self._added[len(self.reads) - 1]


class Moves(NamedTuple):
    """How everything moves.

    Args:
        x: the unknowns but the rates; (n,).
        remembered: the components that the past is asked for; (counters + stations,).
        reads: what was looked up.
    """

    x: Any
    remembered: Any
    reads: list[Read]


def moves(steady: Steady, unknowns: Unknowns, rest: Unknowns, counted: Any, added: Any) -> Moves:
    """How everything moves in a state near rest.

    Args:
        steady: the equations.
        unknowns: the state.
        rest: what the past is like.
        counted: the counters now; (counters,).
        added: to the past's answers; None: nothing.
    """
    values = jnp.concatenate([jnp.zeros(steady.counters), rest.queue])
    rates = jnp.concatenate([rest.rates, jnp.zeros_like(rest.queue)])
    watched = Watched(values, rates, LATE, added)
    state = with_counters(steady.placed(unknowns), counted)
    past = steady.system.delayed(jnp.asarray(LATE), watched)
    now = observe(jnp.asarray(LATE), state, past, steady.system)
    moved = derivatives(state, now, steady.system)
    x = steady.moving(moved, unknowns)._replace(rates=jnp.zeros(0))
    remembered = jnp.concatenate([rates_of(moved), moved.queue])
    return Moves(ravel_pytree(x)[0], remembered, watched.reads)


def with_counters(state: Any, counted: Any) -> Any:
    """A state whose counters stand there, in the order in which the past is asked for them."""
    parts = (state.loss_events, state.arrived, state.signalled, state.dropped)
    ends = np.cumsum([of.size for of in parts])[:-1]
    names = ("loss_events", "arrived", "signalled", "dropped")
    return state._replace(**dict(zip(names, jnp.split(counted, ends), strict=True)))


class Jacobians(NamedTuple):
    """Of `moves`: of x and of what is remembered, to what they depend on; and the lags.

    Args:
        x: of x, to x, the counters, and each answer of the past.
        remembered: of what is remembered, to the same.
        lags: of each answer, s.
    """

    x: tuple[Any, Any, Any]
    remembered: tuple[Any, Any, Any]
    lags: Any


def reads_of(steady: Steady, rest: Unknowns) -> list[Read]:
    """What the equations look up; of the lags only the shapes."""
    found: list[Read] = []
    jax.eval_shape(
        lambda: found.extend(moves(steady, rest, rest, jnp.zeros(steady.counters), None).reads)
    )
    return found


def reads_at(case: Case, rest: Unknowns) -> tuple[Read, ...]:
    """The same of a case, without lags; networks of the same structure look up the same."""
    leaves, structure = jax.tree.flatten((case.posed, rest))
    return known_reads(structure, tuple(leaf.shape for leaf in leaves), case.plan, case.options)


@lru_cache(maxsize=STRUCTURES)
def known_reads(
    structure: Any, shapes: tuple[tuple[int, ...], ...], plan: FluidStructure, options: FluidOptions
) -> tuple[Read, ...]:
    """The same, by the structure and the shapes of the numbers and the unknowns."""
    found: list[Read] = []

    def trace(*leaves: Any) -> None:
        posed, rest = jax.tree.unflatten(structure, leaves)
        found.extend(reads_of(Case(posed, plan, options).steady, rest))

    jax.eval_shape(trace, *(jax.ShapeDtypeStruct(shape, float) for shape in shapes))
    return tuple(read._replace(lags=None) for read in found)


@partial(jax.jit, static_argnames=("plan", "options"))
def jacobians(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, rest: Unknowns, gain: Any
) -> Jacobians:
    """The Jacobians of the equations at rest.

    Args:
        posed: numbers.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
        rest: where.
        gain: by how much more the queues' signals move.
    """
    louder = posed._replace(aqm=tuple(GainScaled(law, gain) for law in posed.aqm))
    steady = Case(louder, plan, options).steady
    flat, unravel = ravel_pytree(rest._replace(rates=jnp.zeros(0)))
    reads = reads_of(steady, rest)
    ends = np.cumsum([read.of.size for read in reads])
    gains = [jnp.where(told_by_queue(read, steady), gain, 1.0) for read in reads]

    def moved(x: Any, counted: Any, added: Any) -> tuple[tuple[Any, Any], Any]:
        answers = [of * part for of, part in zip(gains, jnp.split(added, ends[:-1]), strict=True)]
        unknowns = unravel(x)._replace(rates=rest.rates)
        found = moves(steady, unknowns, rest, counted, answers)
        lags = jnp.concatenate([read.lags for read in found.reads])
        return (found.x, found.remembered), jax.lax.stop_gradient(lags)

    none = jnp.zeros(int(ends[-1]))
    zero = jnp.zeros(steady.counters)
    slopes, lags = jax.jacfwd(moved, argnums=(0, 1, 2), has_aux=True)(flat, zero, none)
    x, remembered = slopes
    return Jacobians(x, remembered, lags)


def told_by_queue(read: Read, steady: Steady) -> np.ndarray:
    """Which answers are queues of the past, by which senders judge: signals; (k,)."""
    return (read.of >= steady.counters) & (not read.rates)


class FeedbackLoop(NamedTuple):
    """A network near rest: as it is, and with the queues' signals cut.

    What a queue tells senders is its drop probability, and the round-trip time that its packets
    met (`FluidOptions.delayed_rtt`). Cut, they stay as they are at rest; that packets in the queue
    delay the ACKs which let others go is no signal, and stays.

    Args:
        closed_loop: as it is.
        open_loop: without signals; with the same deviations and the same looks at the past.
        feedback: which columns of the characteristic matrix hold what queues tell; (k,).
    """

    closed_loop: DelaySystem
    open_loop: DelaySystem
    feedback: np.ndarray

    @classmethod
    def from_systems(cls, closed: DelaySystem, cut: DelaySystem) -> FeedbackLoop:
        """The loop of a network as it is, and without signals."""
        differ = np.any(closed.state_matrix != cut.state_matrix, axis=0)
        differ |= np.any(closed.output_matrix != cut.output_matrix, axis=0)
        carried = np.zeros(closed.output_matrix.shape[0], bool)
        for one, other in zip(closed.terms, cut.terms, strict=True):
            same = np.array_equal(one.into_state, other.into_state)
            carried[one.output] |= not (same and np.array_equal(one.into_output, other.into_output))
        return cls(closed, cut, np.flatnonzero(np.concatenate([differ, carried])))

    def return_ratio(self, s: complex) -> np.ndarray:
        """What comes back of each signal once around the loop; (k, k).

        1 is an eigenvalue of it where s is a root of the characteristic function.
        """
        cut, told = self.open_loop.characteristic(s), self.feedback
        difference = (self.closed_loop.characteristic(s) - cut)[:, told]
        return -np.linalg.solve(cut, difference)[told]


def linearise(rest: Equilibrium) -> FeedbackLoop:
    """The linear system near an equilibrium.

    Raises:
        InvalidInput: where the equations have a corner there: a set of equilibria, or a buffer
            that is full.
    """
    refuse_corners(rest)
    posed, plan = arrays(rest.network)
    steady = Case(posed, plan, rest.options).steady
    unknowns = steady.worked(solution(posed, plan, rest.options, rest.solved))
    reads = reads_at(Case(posed, plan, rest.options), unknowns)
    closed, cut = (
        jax.tree.map(np.asarray, jacobians(posed, plan, rest.options, unknowns, gain))
        for gain in (1.0, 0.0)
    )
    flat = np.asarray(ravel_pytree(unknowns._replace(rates=jnp.zeros(0)))[0])
    frame = Frame(steady.counters, flat, ~rest.solved.still[: flat.size], reads)
    looks = frame.looks(closed)
    told = frame.told(closed, looks)
    whole = frame.fill(closed, looks, told)
    kept = connected(whole)
    without = frame.fill(cut, frame.looks(cut), told)
    return FeedbackLoop.from_systems(reduced(whole, kept), reduced(without, kept))


def refuse_corners(rest: Equilibrium) -> None:
    """Refuse rest where the equations have no Jacobian."""
    if rest.upper is not None:
        raise InvalidInput("stability", "rest", "one point, and no set of them", "a set")
    queue, names = rest.values.queue, rest.network.links
    for number, (name, link) in enumerate(names.items()):
        if queue[number] >= link.buffer:
            allowed = "below the buffer, for an overflow comes and goes at once"
            raise InvalidInput(f"stability: {name}", "queue", allowed, float(queue[number]))


class Look(NamedTuple):
    """A look at the past, as the equations make it.

    Args:
        component: of what is remembered.
        rate: whether its rate is carried through time, and not its value.
        lag: s.
        summed: whether the rate is asked for as what was gained over the lag.
    """

    component: int
    rate: bool
    lag: float
    summed: bool

    @property
    def channel(self) -> tuple[int, bool]:
        """What is carried."""
        return self.component, self.rate


Looks = dict[Look, np.ndarray]
"""What each look at the past does, to x and to the remembered components together."""


class Frame(NamedTuple):
    """What the Jacobians are made into.

    Args:
        counters: of the components that are remembered, the first are so many counters.
        flat: the values at rest; (n,).
        free: which of them stand at no limit; (n,).
        reads: what is looked up.
    """

    counters: int
    flat: np.ndarray
    free: np.ndarray
    reads: tuple[Read, ...]

    def row(self, found: Jacobians, channel: tuple[int, bool]) -> np.ndarray:
        """What is carried in a channel, of x; (n,). Of x, the first are the queues."""
        of, rate = channel
        if rate:
            return found.remembered[0][of] * self.free
        return (np.arange(self.flat.size) == of - self.counters) * self.free.astype(float)

    def looks(self, found: Jacobians) -> Looks:
        """What each look at the past does, to x and to the remembered components together."""
        into = np.concatenate([found.x[2], found.remembered[2]])
        components = [(read.rates, int(of)) for read in self.reads for of in read.of]
        looks: Looks = {}
        for (rates, of), lag, column in zip(components, found.lags, into.T, strict=True):
            gained = not rates and of < self.counters  # enters as what there is now, less this
            look = Look(of, rates or gained, float(lag), gained)
            looks[look] = looks.get(look, 0) + (-column if gained else column)
        return looks

    def told(self, found: Jacobians, looks: Looks) -> list[tuple[int, bool]]:
        """The channels in which anything is carried that anyone looks at."""
        seen = {look.channel for look, column in looks.items() if column.any()}
        return [channel for channel in sorted(seen) if self.moves(found, channel)]

    def moves(self, found: Jacobians, channel: tuple[int, bool]) -> bool:
        """Whether anything moves what is carried: x, or the past, as from link to link."""
        of, rate = channel
        return bool(self.row(found, channel).any() or (rate and found.remembered[2][of].any()))

    def fill(self, found: Jacobians, looks: Looks, told: list[tuple[int, bool]]) -> DelaySystem:
        """The linear system, in units of the values at rest."""
        size, free = self.flat.size, self.free
        unit = np.maximum(np.abs(self.flat), LEAST)
        carried = [size + of if rate else -1 for of, rate in told]
        delayed = tuple(
            DelayTerm(
                look.lag,
                told.index(look.channel),
                look.summed,
                (column[:size] / unit)[free],
                np.array([column[place] if place >= 0 else 0.0 for place in carried]),
            )
            for look, column in looks.items()
            if look.channel in told
        )
        now = (found.x[0] * unit / unit[:, None])[free][:, free]
        read = np.array([self.row(found, channel) * unit for channel in told])
        return DelaySystem(now, read.reshape(-1, size)[:, free], delayed)


def linear_of(frame: Frame, found: Jacobians) -> DelaySystem:
    """The linear system of some Jacobians, without what says nothing of the network."""
    looks = frame.looks(found)
    whole = frame.fill(found, looks, frame.told(found, looks))
    return reduced(whole, connected(whole))


def connected(linear: DelaySystem) -> np.ndarray:
    """Which deviations something causes and something hears of; (n,).

    Others, such as silent flows where no timeout is told, die by themselves, at the rate on the
    diagonal, and say nothing of the network.
    """
    others = np.abs(linear.state_matrix - np.diag(np.diag(linear.state_matrix)))
    caused = others.sum(axis=1) + sum(np.abs(look.into_state) for look in linear.terms)
    heard = others.sum(axis=0) + np.abs(linear.output_matrix).sum(axis=0)
    both = (caused > UNHEARD * caused.max()) & (heard > UNHEARD * heard.max())
    return both | (np.diag(linear.state_matrix) >= 0)


def reduced(linear: DelaySystem, kept: np.ndarray) -> DelaySystem:
    """The system of some of its deviations."""
    looks = tuple(look._replace(into_state=look.into_state[kept]) for look in linear.terms)
    return DelaySystem(linear.state_matrix[kept][:, kept], linear.output_matrix[:, kept], looks)

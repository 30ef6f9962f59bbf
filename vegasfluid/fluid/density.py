"""A class of flows by the distribution of their windows: the mean-field limit of many flows.

Of a group of flows with windows w, f(w, t) is the density of those that may grow, and m(w, t) of
those that repair a loss (`window_cells`):

    df/dt = -d(v f)/dw - h f + m / R        v(w): the law's growth, h = p w / R: its losses
    dm/dt = J(h f) - m / R                  J: each window to what a loss leaves of it

(in place of m / R those leave that were hit a round trip ago). Of laws whose window follows from
the last loss and the time a since (CUBIC), they are densities of these (`epoch_cells`):

    df/dt = -df/da - h f,  f(w', 0, t) = m(w', t) / R        w': the window at the last loss

Flows in slow start are a share with a window of their own. Everything that a law keeps besides the
window (a base RTT) is the group's. The mean model is what remains where every flow has the mean
window; here the spread of windows, the unfairness inside a class and the climb back after a loss
follow from the law, and no constant of a loss process is needed: losses are independent.

Sources:
    F. Baccelli, D. McDonald and J. Reynier, "A mean-field model for multiple TCP connections
    through a buffer implementing RED", Performance Evaluation 49, 2002 (abstract read; the
    equations derived anew, repair and slow start added).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import Signals
from vegasfluid.fluid.epoch_mesh import EpochMesh
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.senders import Change, SendersNow, ending_in_timeout, feedback, part_in_turn
from vegasfluid.fluid.window_mesh import WindowMesh

__all__ = ["Cells", "Density", "Distribution"]

Cells = WindowMesh | EpochMesh

MOST_EVENTS, MOST_IN_TURN = 2.0, 5.0
"""Loss events of a flow in a round trip, by chance and in turn: more would be stiff."""
NOTHING = 1e-12

Groups = Float[Array, "groups"]
Masses = Float[Array, "groups cells"]


class Distribution(NamedTuple):
    """Where the flows of each group are; the masses and the share in slow start add up to 1.

    Args:
        free: share in each cell of flows that may grow; (groups, cells).
        mending: share in each cell of flows that repair a loss; (groups, cells).
        common: the law's state: window and share of those in slow start, and what all flows of
            the group have in common; each (groups,).
    """

    free: Any
    mending: Any
    common: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Density:
    """A law's flows as a distribution.

    Args:
        law: of the class.
        cells: what the flows differ by; those of the law.
    """

    law: Any
    cells: Cells

    @classmethod
    def of(cls, law: Any, cells: Cells) -> Density:
        """The flows of a law in some cells."""
        return cls(law, cells.of_law(law))

    def begin(self, cwnd: Groups, rtt: Groups) -> Distribution:
        """All flows in slow start."""
        free, mending = (
            jnp.zeros((cwnd.shape[0], cells), cwnd.dtype)
            for cells in (self.cells.free, self.cells.mending)
        )
        return Distribution(free, mending, self.law.init(cwnd, rtt))

    def cwnd(self, state: Distribution, rtt: Groups) -> Groups:
        """The mean window, packets; (groups,)."""
        return self.mean(lambda windows: windows, state, rtt)

    def variance(self, state: Distribution, rtt: Groups) -> Groups:
        """The variance of the windows, packets^2; (groups,)."""
        return self.mean(jnp.square, state, rtt) - self.cwnd(state, rtt) ** 2

    def mean(self, of: Callable[[Any], Any], state: Distribution, rtt: Groups) -> Groups:
        """The mean over the flows of something that their windows tell; (groups,)."""
        free = of(self.cells.states(self.law, state.common, rtt).cwnd)
        mending = of(self.cells.mending_states(self.law, state.common, rtt).cwnd)
        settled = jnp.sum(state.free * free, axis=-1) + jnp.sum(state.mending * mending, axis=-1)
        return settled + state.common.slow_start * of(state.common.cwnd)

    def in_flight(self, state: Distribution, rtt: Groups) -> Groups:
        """The mean number of packets that the windows allow; (groups,)."""
        free = self.cells.states(self.law, state.common, rtt)
        mending = self.cells.mending_states(self.law, state.common, rtt)
        settled = jnp.sum(state.free * self.law.in_flight(free, rtt[:, None]), axis=-1)
        settled += jnp.sum(state.mending * self.law.in_flight(mending, rtt[:, None]), axis=-1)
        return settled + state.common.slow_start * state.common.cwnd

    def within(self, state: Distribution, largest: Groups) -> Distribution:
        """The window of slow start held where it makes sense."""
        return state._replace(common=self.law.clip(state.common, largest))

    def change(self, state: Distribution, now: SendersNow, options: FluidOptions) -> Change:
        """What happens to the flows."""
        at = self.settled(state, now, options)
        grown, seen = self.grown(state, at, now, options), at.sees(at.states)
        hit = state.free * self.hazard(
            at.states.cwnd, at.rising, at.now, seen.ack_rate, grown[:, None]
        )
        leaving, starting = self.slow_start(state, at, now, options, grown)
        share = ending_in_timeout(self.law, at.states.cwnd, at.now, options)
        events = jnp.sum(hit, axis=1) + leaving.hit
        timeouts = jnp.sum(hit * share, axis=1)
        mended = self.mended(state, now)
        come = self.cells.mended(mended) + self.cells.grown_up(
            leaving.ended, state.common.cwnd, self.law
        )
        carried = self.cells.carried(state.free, state.common, at.change, at.growth)
        common = self.in_common(state, now, options, events)
        masses = Distribution(
            free=carried - hit + come,
            mending=self.cells.hit(hit, at.states, self.law, seen) - mended + leaving.cut,
            common=common._replace(cwnd=starting.cwnd, slow_start=starting.slow_start),
        )
        return Change(masses, events, timeouts)

    def growing(self, state: Distribution, now: SendersNow, options: FluidOptions) -> Groups:
        """Packets/s by which the mean window grows, losses left aside; (groups,)."""
        return self.grown(state, self.settled(state, now, options), now, options)

    def grown(
        self, state: Distribution, at: Settled, now: SendersNow, options: FluidOptions
    ) -> Groups:
        """The same, where what the cells see is known."""
        starting = self.starting(state)
        rate = self.law.growth(starting, self.seen(starting, now, options)).cwnd
        rising = smooth.maximum(rate, 0.0) * state.common.slow_start
        return jnp.sum(at.rising * state.free, axis=1) + rising

    def settled(self, state: Distribution, now: SendersNow, options: FluidOptions) -> Settled:
        """What the flows in the cells see, and how they grow."""
        wide = jax.tree.map(lambda leaf: leaf[:, None], now)

        def sees(states: Any) -> Signals:
            return self.seen(states, wide, options)

        def growth(states: Any) -> Any:
            return self.law.growth(states, sees(states))

        states = self.cells.states(self.law, state.common, now.rtt)
        change = growth(states)
        rising = self.cells.rising(self.law, now.rtt, change)
        return Settled(wide, states, change, rising, sees, growth)

    def starting(self, state: Distribution) -> Any:
        """The law's state of flows in slow start."""
        return state.common._replace(slow_start=jnp.ones_like(state.common.slow_start))

    def mended(self, state: Distribution, now: SendersNow) -> Masses:
        """Flows that end the repair of a loss a round trip after it, 1/s.

        So many as had their loss then; which of them, nobody remembers.
        """
        repairing = jnp.sum(state.mending, axis=1)
        ending = smooth.positive_part(now.mended + (repairing - now.repairing) / now.rtt)
        share = smooth.minimum(ending / smooth.maximum(repairing, NOTHING), MOST_IN_TURN / now.rtt)
        return state.mending * share[:, None]

    def seen(self, window: Any, now: SendersNow, options: FluidOptions) -> Signals:
        """What flows with these windows see, besides losses."""
        rate = smooth.minimum(self.law.in_flight(window, now.rtt) / now.rtt, now.limit)
        return feedback(window, self.law, now._replace(rate=rate), options)

    def hazard(self, cwnd: Any, rising: Any, now: SendersNow, rate: Any, grown: Any) -> Any:
        """Loss events of flows that may have one, 1/s; a few a round trip.

        By chance each packet may be lost; in turn whoever grows is hit (see `loss_events`).

        Args:
            cwnd: packets.
            rising: packets/s by which the windows grow.
            now: the senders.
            rate: what they send, packets/s.
            grown: packets/s by which the mean window grows.
        """
        chance = smooth.minimum(now.losses.prob * rate, MOST_EVENTS / now.rtt)
        if not np.any(now.in_turn):
            return chance
        turn = now.losses.rate * rising / smooth.maximum(grown, NOTHING)
        part = part_in_turn(cwnd, now)
        return (1 - part) * chance + part * smooth.minimum(turn, MOST_IN_TURN / now.rtt)

    def slow_start(
        self,
        state: Distribution,
        at: Settled,
        now: SendersNow,
        options: FluidOptions,
        grown: Groups,
    ) -> tuple[Leaving, Any]:
        """Who leaves slow start, and how the window and the share of those in it change."""
        starting = self.starting(state)
        wide = jax.tree.map(lambda leaf: leaf[:, None], starting)
        change, seen = self.law.growth(starting, self.seen(starting, now, options)), at.sees(wide)
        rising = smooth.maximum(change.cwnd, 0.0)[:, None]
        hazard = self.hazard(wide.cwnd, rising, at.now, seen.ack_rate, grown[:, None])
        hit = hazard * state.common.slow_start[:, None]
        cut = self.cells.hit(hit, wide, self.law, seen)
        leaving = Leaving(-change.slow_start * state.common.slow_start, hit[:, 0], cut)
        return leaving, change._replace(slow_start=-(leaving.ended + leaving.hit))

    def in_common(
        self, state: Distribution, now: SendersNow, options: FluidOptions, events: Any
    ) -> Any:
        """The change of what the group's flows have in common, at their mean window."""
        mean = state.common._replace(cwnd=self.cwnd(state, now.rtt))
        seen = self.seen(mean, now, options)._replace(loss_rate=events)
        return self.law.growth(mean, seen)


class Settled(NamedTuple):
    """The flows of all cells; each (groups, cells).

    Args:
        now: the senders.
        states: of the law.
        change: of the states, as the law has it.
        rising: packets/s by which the windows grow.
        sees: what flows in any states see.
        growth: the change of these.
    """

    now: SendersNow
    states: Any
    change: Any
    rising: Any
    sees: Callable[[Any], Signals]
    growth: Callable[[Any], Any]


class Leaving(NamedTuple):
    """Flows that leave slow start.

    Args:
        ended: those that have come to its end, 1/s; (groups,).
        hit: those that lost a packet, 1/s; (groups,).
        cut: the latter by the cells that they mend in, 1/s; (groups, mending).
    """

    ended: Any
    hit: Any
    cut: Any

"""A class of flows by the distribution of their windows: the mean-field limit of many flows.

Of a group of flows with windows w, f(w, t) is the density of those that may grow, and m(w, t) of
those that repair a loss:

    df/dt = -d(v f)/dw - h f + m / R        v(w): the law's growth, h = p w / R: its losses
    dm/dt = J(h f) - m / R                  J: each window to what a loss leaves of it

(in place of m / R those leave that were hit a round trip ago).

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

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.law import SMALLEST_SSTHRESH, AbstractWindowLaw, Feedback
from vegasfluid.fluid.closure import Closure
from vegasfluid.fluid.lattice import Lattice, deposit, transport
from vegasfluid.fluid.senders import Change, SendersNow, ending_in_timeout, feedback, part_in_turn

__all__ = ["Density", "Distribution"]

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
    """A law's flows as a distribution of windows.

    Args:
        law: of the class.
        lattice: of windows.
    """

    law: AbstractWindowLaw
    lattice: Lattice

    def begin(self, cwnd: Groups, rtt: Groups) -> Distribution:
        """All flows in slow start."""
        none = jnp.zeros((cwnd.shape[0], len(self.lattice.edges) - 1), cwnd.dtype)
        return Distribution(none, none, self.law.begin(cwnd, rtt))

    def cwnd(self, state: Distribution, rtt: Groups) -> Groups:
        """The mean window, packets; (groups,)."""
        settled = ((state.free + state.mending) * self.lattice.centres).sum(axis=-1)
        return settled + state.common.slow_start * state.common.cwnd

    def variance(self, state: Distribution, rtt: Groups) -> Groups:
        """The variance of the windows, packets^2; (groups,)."""
        settled = ((state.free + state.mending) * self.lattice.centres**2).sum(axis=-1)
        squares = settled + state.common.slow_start * state.common.cwnd**2
        return squares - self.cwnd(state, rtt) ** 2

    def in_flight(self, state: Distribution, rtt: Groups) -> Groups:
        """The mean number of packets that the windows allow; (groups,)."""
        centres = self.lattice.centres + jnp.zeros_like(state.free)
        allowed = self.law.in_flight(self.alone(state, centres), rtt[:, None])
        settled = jnp.sum((state.free + state.mending) * allowed, axis=-1)
        return settled + state.common.slow_start * state.common.cwnd

    def within(self, state: Distribution, largest: Groups) -> Distribution:
        """The window of slow start held where it makes sense."""
        return state._replace(common=self.law.within(state.common, largest))

    def alone(self, state: Distribution, windows: Masses) -> Any:
        """The law's state of flows with these windows, out of slow start."""
        spread = jax.tree.map(lambda leaf: leaf[:, None] + jnp.zeros_like(windows), state.common)
        return spread._replace(cwnd=windows, slow_start=jnp.zeros_like(windows))

    def change(self, state: Distribution, now: SendersNow, closure: Closure) -> Change:
        """What happens to the flows."""
        cells = jax.tree.map(lambda leaf: leaf[:, None], now)
        centres = self.lattice.centres + jnp.zeros_like(state.free)
        at_cells = self.alone(state, centres)
        seen = self.seen(at_cells, cells, closure)
        grown = self.growing(state, now, closure)
        hit = self.hazard(at_cells, cells, closure, grown[:, None]) * state.free
        left = smooth.maximum(self.law.after_loss(at_cells, seen).cwnd, SMALLEST_SSTHRESH)
        left = smooth.minimum(left, centres)
        leaving, starting = self.slow_start(state, now, closure, grown)
        mended = self.mended(state, now)
        risen = transport(state.free, self.speed(state, cells, closure), self.lattice)
        ended = deposit(leaving.ended[:, None], state.common.cwnd[:, None], self.lattice)
        cut = deposit(leaving.hit[:, None], leaving.left[:, None], self.lattice)
        share = ending_in_timeout(self.law, centres, cells, closure)
        events = jnp.sum(hit, axis=1) + leaving.hit
        timeouts = jnp.sum(hit * share, axis=1)
        common = self.in_common(state, now, closure, events)
        masses = Distribution(
            free=risen - hit + mended + ended,
            mending=deposit(hit, left, self.lattice) - mended + cut,
            common=common._replace(cwnd=starting.cwnd, slow_start=starting.slow_start),
        )
        return Change(masses, events, timeouts)

    def growing(self, state: Distribution, now: SendersNow, closure: Closure) -> Groups:
        """Packets/s by which the mean window grows, losses left aside; (groups,)."""
        cells = jax.tree.map(lambda leaf: leaf[:, None], now)
        centres = self.lattice.centres + jnp.zeros_like(state.free)
        settled = self.growth(self.alone(state, centres), cells, closure) * state.free
        starting = self.growth(self.starting(state), now, closure) * state.common.slow_start
        return jnp.sum(settled, axis=1) + starting

    def growth(self, window: Any, now: SendersNow, closure: Closure) -> Any:
        """Packets/s by which flows with these windows grow."""
        return smooth.maximum(self.law.growth(window, self.seen(window, now, closure)).cwnd, 0.0)

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

    def rate(self, window: Any, now: SendersNow) -> Any:
        """What flows with these windows send, packets/s."""
        return smooth.minimum(self.law.in_flight(window, now.rtt) / now.rtt, now.limit)

    def seen(self, window: Any, now: SendersNow, closure: Closure) -> Feedback:
        """What flows with these windows see, besides losses."""
        return feedback(window, self.law, now._replace(rate=self.rate(window, now)), closure)

    def hazard(self, window: Any, now: SendersNow, closure: Closure, grown: Any) -> Any:
        """Loss events of flows with these windows that may have one, 1/s; a few a round trip.

        By chance each packet may be lost; in turn whoever grows is hit (see `loss_events`).

        Args:
            window: the law's state.
            now: the senders.
            closure: how losses are counted.
            grown: packets/s by which the mean window grows.
        """
        rate = self.rate(window, now)
        chance = smooth.minimum(now.losses.prob * rate, MOST_EVENTS / now.rtt)
        if not np.any(now.in_turn):
            return chance
        turn = now.losses.rate * self.growth(window, now, closure) / smooth.maximum(grown, NOTHING)
        part = part_in_turn(window.cwnd, now)
        return (1 - part) * chance + part * smooth.minimum(turn, MOST_IN_TURN / now.rtt)

    def speed(self, state: Distribution, now: SendersNow, closure: Closure) -> Any:
        """The law's growth at the edges between cells, packets/s; (groups, cells - 1)."""
        edges = self.lattice.edges[1:-1] + jnp.zeros_like(state.free[:, 1:])
        window = self.alone(state, edges)
        return self.law.growth(window, self.seen(window, now, closure)).cwnd

    def slow_start(
        self, state: Distribution, now: SendersNow, closure: Closure, grown: Groups
    ) -> tuple[Leaving, Any]:
        """Who leaves slow start, and how the window and the share of those in it change."""
        share = state.common.slow_start
        starting = self.starting(state)
        seen = self.seen(starting, now, closure)
        change = self.law.growth(starting, seen)
        hit = self.hazard(starting, now, closure, grown) * share
        ended = -change.slow_start * share
        leaving = Leaving(ended, hit, self.law.after_loss(starting, seen).cwnd)
        return leaving, change._replace(slow_start=-(ended + hit))

    def in_common(self, state: Distribution, now: SendersNow, closure: Closure, events: Any) -> Any:
        """The change of what the group's flows have in common, at their mean window."""
        mean = state.common._replace(cwnd=self.cwnd(state, now.rtt))
        seen = self.seen(mean, now, closure)._replace(loss_rate=events)
        return self.law.growth(mean, seen)


class Leaving(NamedTuple):
    """Flows that leave slow start; each (groups,).

    Args:
        ended: those that have come to its end, 1/s.
        hit: those that lost a packet, 1/s.
        left: what that leaves of their window, packets.
    """

    ended: Any
    hit: Any
    left: Any

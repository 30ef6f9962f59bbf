"""The characteristic function of one link, by SymPy from the laws' own drifts.

For classes of any laws, with any number of states each, all at one queue, the characteristic
function is, with H and P as in `responses`,

    s + sum N (1 - p) (W / (R^2 C) + H / R) + sum N (W / R) P

times every D, and times s + K. (Where packets are marked, none is lost: no 1 - p, no last sum. A
queue law that looks at what arrives has one more term.) The equations that are integrated are not
asked: it is a second derivation of what `linearisation` has from JAX, which leaves out states that
nothing hears of, and their roots.

Sources:
    As `responses` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Expression
from vegasfluid.analysis.responses import (
    Place,
    R,
    Response,
    Signal,
    Slopes,
    answer,
    numbers_at,
    p,
    put,
    s,
    signal,
    slopes,
)
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["Group", "characteristic", "groups_at", "signal_at"]

NEWTON_STEPS = 3
SAME = 1e-8
"""Of itself: a window, and where its law rests."""


class Group(NamedTuple):
    """Flows that are alike, at rest.

    Args:
        name: of their class.
        flows: their class.
        count: how many they are.
        rate: packets/s of one of them.
        limit: packets/s that application and access link allow.
        place: numbers for what its law speaks of.
    """

    name: str
    flows: Flows
    count: int
    rate: float
    limit: float
    place: Place

    @property
    def clocked(self) -> bool:
        """Whether a window sets the rate, and not the application."""
        return self.flows.law.rules.reliable

    @property
    def drops(self) -> str:
        """Which of the queue law's probabilities its packets are dropped with."""
        return "forced_prob" if self.flows.ecn and self.clocked else "drop_prob"

    def response(self, rest: Equilibrium) -> Response:
        """How its window answers; of numbers and s."""
        ack_every = 2 if self.flows.delayed_ack else 1
        found = slopes(self.flows.law, self.place, rest.options.loss_process, ack_every)
        numbers = numbers_at({**resting(found, self), "capacity": rest.network.link.capacity})
        parts = (put(of, numbers) for of in found[1:])
        made = answer(Slopes(found.states, *parts), rest.options.delayed_rtt)
        return Response(*(put(of, numbers) for of in made))


def resting(found: Slopes, group: Group) -> Place:
    """The place of a group, with its states where the law's drift is zero to all digits."""
    slope = found.inside + (found.acks + p * found.losses) * found.reads / R
    place = dict(group.place)
    for _ in range(NEWTON_STEPS):
        numbers = numbers_at(place)
        drift, matrix = (np.array(put(of, numbers), float) for of in (found.drift, slope))
        moves = np.linalg.solve(matrix, drift)[:, 0]
        place |= {name: place[name] - move for name, move in zip(found.states, moves, strict=True)}
    if abs(place["cwnd"] / group.place["cwnd"] - 1) > SAME:
        allowed = "where its law rests, and not held at a limit"
        raise InvalidInput(f"flows.{group.name}", "cwnd", allowed, group.place["cwnd"])
    return place


def groups_at(rest: Equilibrium) -> Iterator[Group]:
    """The flows of a network with one link that are alike, in the order of its groups."""
    network, queue = rest.network, float(rest.values.queue[0])
    windows, classes = iter(rest.values.cwnd), rest.solved.unknowns.classes
    for (name, flows), states in zip(network.flows.items(), classes, strict=True):
        access = np.inf if flows.access is None else flows.access
        limit = min(flows.traffic.rate_limit(network.packet_bytes), access)
        for number, (base_rtt, count) in enumerate(Counter(network.base_rtts(name)).items()):
            place = {field: float(np.asarray(of)[number]) for field, of in states.items()}
            place |= {"cwnd": float(next(windows)), "rtt": base_rtt + queue / network.link.capacity}
            place |= {"base_rtt": base_rtt, "drop_prob": float(rest.values.drop_prob[0])}
            rate = place["cwnd"] / place["rtt"] if flows.law.rules.reliable else limit
            yield Group(name, flows, count, rate, limit, place)


def require_told(rest: Equilibrium) -> None:
    """Refuse what the function does not tell."""
    whose, options, link = "characteristic", rest.options, rest.network.link
    queue = float(rest.values.queue[0])
    if rest.upper is not None:
        raise InvalidInput(whose, "rest", "one point, and no set of them", "a set")
    if options.recovery or options.timeouts or options.whole_packets:
        raise InvalidInput(whose, "options", "as in THEORY but for its losses", options)
    if link.jitter > 0:
        raise InvalidInput(whose, "jitter", "0 here", link.jitter)
    if not 0 < queue < link.buffer - link.aqm.losses_follow_growth:
        raise InvalidInput(whose, "queue", "above 0, and below where the buffer loses", queue)
    for group in groups_at(rest):
        if group.flows.direction != "forward":
            raise InvalidInput(f"flows.{group.name}", "direction", "forward here", "reverse")
        if group.clocked and group.rate >= group.limit:
            allowed = f"below what limits it, {group.limit:g} packets/s"
            raise InvalidInput(f"flows.{group.name}", "rate", allowed, group.rate)


def signal_at(rest: Equilibrium, of: str = "loss_signal_prob") -> Signal:
    """How a probability of a network's one queue answers, see `signal`; of numbers and s."""
    link, [memory] = rest.network.link, rest.solved.unknowns.memories
    place = {name: float(np.asarray(value)) for name, value in memory._asdict().items()}
    place |= {"queue": float(rest.values.queue[0]), "buffer": link.buffer}
    arrivals = sum(group.count * group.rate for group in groups_at(rest))
    return signal(link.aqm, of, place | {"arrivals": arrivals, "capacity": link.capacity})


def slower(group: Group, of: Response, told: Any, capacity: float) -> Any:
    """By how much less a flow sends for a longer queue, and for more arrivals; like `told`."""
    rtt = group.place["rtt"]
    spread = group.rate / (rtt * capacity) + of.delay / of.own / rtt
    return sp.Matrix([[spread, 0]]) + of.losses / of.own / rtt * told


def characteristic(rest: Equilibrium) -> Expression:
    """The characteristic function of a network with one link; its zeros are the network's roots.

    Args:
        rest: of any mix of laws, where the options count losses as theory does.

    Returns:
        An expression in `sympy.Symbol("s")`, 1/s: a product, whose last factor is the sum.

    Raises:
        InvalidInput: for several links, data both ways or other options, and where a flow or
            the queue stands at a limit.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> from vegasfluid.analysis import equilibrium, stability
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> rest = equilibrium(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)}))
    >>> root = sp.nsolve(characteristic(rest), sp.Symbol("s"), -0.7 + 2.9j)
    >>> bool(abs(complex(root) - stability(rest).rightmost_root) < 1e-9)
    True
    """
    require_told(rest)
    noticed = signal_at(rest)
    dropped = {of: signal_at(rest, of) for of in ("drop_prob", "forced_prob")}
    balance, alone = sp.Matrix([[s, 0], [0, 1]]), [noticed.own]
    for group in groups_at(rest):
        less, lost = sp.zeros(1, 2), dropped[group.drops]
        if group.clocked:
            found = group.response(rest)
            less = slower(group, found, noticed.gradient, rest.network.link.capacity)
            alone.append(found.own)
        kept = (1 - lost.value) * less + group.rate * lost.gradient
        balance += group.count * sp.Matrix.vstack(kept, less)
    (queue, queue_by_y), (y_by_queue, y) = balance.tolist()
    return sp.Mul(*alone, queue * y - queue_by_y * y_by_queue, evaluate=False)

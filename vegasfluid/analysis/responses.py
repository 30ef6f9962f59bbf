"""How windows and queues answer what they see, by SymPy from the laws' own drifts.

With s for d/dt, a queue that is longer by dq, and losses that are more frequent by dp, make a
window smaller:

    dW = -(A dq + B dp) / D = -H dq,   dp = P dq

A, B and D follow from the partial derivatives of the law's drift (`response`), P from the queue
law's curve and its average (`signal`): p' K / (s + K) where it averages at the rate K.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (Reno; abstract read). The form for any laws: derived for this project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import at_rest, branch_at
from vegasfluid.analysis.closed_forms.formula import Expression, symbol
from vegasfluid.aqm.base import QueueDiscipline, QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.congestion.base import CongestionControl

__all__ = ["Place", "R", "Response", "Signal", "Slopes", "answer", "numbers_at", "p", "put"]
__all__ += ["response", "s", "signal", "slopes"]

NAMES = ("cwnd", "rtt", "base_rtt", "drop_prob", "capacity", "queue", "buffer")
KNOWN = {name: symbol(name) for name in NAMES}
W, R, T, p, C, QUEUE, BUFFER = KNOWN.values()
s, P = sp.symbols("s P")
SAMPLED, ACKS, LOSSES = (sp.Dummy(name, positive=True) for name in ("rtt", "acks", "losses"))
"""What a sender sees, told apart from what it is at rest."""
AGO = sp.Dummy("ago")
"""exp(-s R), until determinants are taken."""
DIGITS = 30

Place = Mapping[str, Any]
"""A number for each quantity by its name, and for each state of a law by its field."""


class Response(NamedTuple):
    """How a window answers: dW = -(delay dq + losses dp) / own; in s.

    Args:
        own: what windows do by themselves, with the losses that their own packets meet.
        delay: what the delay does that a longer queue makes.
        losses: what a higher drop probability does.
    """

    own: Expression
    delay: Expression
    losses: Expression

    @property
    def transfer(self) -> Expression:
        """H(s) in dW = -H dq, with P for dp/dq."""
        return (self.delay + self.losses * P) / self.own


class Signal(NamedTuple):
    """How a probability answers: dp = (queue dq + arrivals dy) / own; in s.

    Args:
        value: at rest.
        own: what the law's memory does by itself.
        queue: what it makes of the queue.
        arrivals: what it makes of the rate at which packets arrive.
    """

    value: Expression
    own: Expression
    queue: Expression
    arrivals: Expression

    @property
    def gradient(self) -> Any:
        """How it moves with the queue and with arrivals; (1, 2)."""
        return sp.Matrix([[self.queue, self.arrivals]]) / self.own


class Slopes(NamedTuple):
    """A law's drift at rest, and its partial derivatives.

    Args:
        states: the names of those that move.
        drift: of each of them; (n, 1).
        reads: of the window, to the states; (1, n).
        inside: of the drift, to the states; (n, n).
        rtt: to the round-trip time by which the sender judges; (n, 1).
        acks: to the rate of ACKs; (n, 1).
        losses: to the rate of losses; (n, 1).
    """

    states: tuple[str, ...]
    drift: Any
    reads: Any
    inside: Any
    rtt: Any
    acks: Any
    losses: Any


def named(name: str) -> Any:
    """The symbol of a quantity, or of a state by its field."""
    return KNOWN.get(name, sp.Symbol(name, positive=True))


def numbers_at(place: Place) -> dict[Any, Any]:
    """A place as numbers for symbols, with all digits of its floats."""
    numbers = {named(name): sp.Float(float(value), DIGITS) for name, value in place.items()}
    if {W, R, p} <= numbers.keys():
        rate = numbers[W] / numbers[R]
        numbers |= {SAMPLED: numbers[R], ACKS: rate, LOSSES: numbers[p] * rate}
    return numbers


def put(of: Any, numbers: Mapping[Any, Any]) -> Any:
    """An expression, or a matrix of them, with numbers for symbols."""
    return of.subs(dict(numbers)).evalf(DIGITS)


def slopes(
    law: CongestionControl, place: Place, loss_process: str = "meanfield", ack_every: int = 1
) -> Slopes:
    """The partial derivatives of a law's drift at rest, in symbols.

    Args:
        law: with numbers or symbols for its parameters.
        place: on whose branch, of what the law compares.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.
        ack_every: packets that an ACK acknowledges.
    """
    begun = law.init(W, R)
    window = begun._replace(**{name: named(name) for name in begun._fields})
    settled = law.stationary_fields(window, R, T)
    states = tuple(name for name in begun._fields if name not in settled)
    window = window._replace(**settled)
    seen = at_rest(loss_process)._replace(
        rtt=SAMPLED, ack_rate=ACKS, loss_rate=LOSSES, ack_every=ack_every
    )
    rates, there = law.drift(window, seen), numbers_at(place)
    drift = sp.Matrix([branch_at(getattr(rates, name), there).expression for name in states])
    resting = {SAMPLED: R, ACKS: W / R, LOSSES: p * W / R}

    def slope(of: Any, to: Sequence[Any]) -> Any:
        return of.jacobian(sp.Matrix(to)).subs(resting)

    own = [named(name) for name in states]
    reads = slope(sp.Matrix([law.cwnd_of(window, R)]), own)
    parts = (slope(drift, to) for to in (own, [SAMPLED], [ACKS], [LOSSES]))
    return Slopes(states, drift.subs(resting), reads, *parts)


def determinant(matrix: Any) -> Any:
    """Of a matrix of long expressions: with a symbol for each, else SymPy expands them."""
    names: dict[Any, Any] = {}
    plain = matrix.applyfunc(lambda of: names.setdefault(of, sp.Dummy()) if of else of)
    return plain.det(method="berkowitz").subs({name: of for of, name in names.items()})


def answer(found: Slopes, delayed_rtt: bool) -> Response:
    """What a window does, from the partial derivatives of its drift.

    Its flow sends W / R: at this rate ACKs come now, and times p losses, a round trip later. In
    place of an inverse, c' M^-1 b det M = -det [[M, b], [c', 0]].
    """
    felt = found.acks + AGO * p * found.losses
    matrix = s * sp.eye(len(found.states)) - found.inside - felt * found.reads / R
    delay = found.rtt * (AGO if delayed_rtt else 1) / C - felt * W / (R**2 * C)
    bordered = (
        sp.Matrix(sp.BlockMatrix([[matrix, of], [found.reads, sp.zeros(1)]]))
        for of in (delay, AGO * found.losses * W / R)
    )
    short = len(found.states) == 1
    parts = map(determinant, (matrix, *bordered))
    whole = (sp.sympify(sp.expand(of)) if short else of for of in parts)
    return Response(*(of.subs(AGO, sp.exp(-s * R)) for of in whole))  # type: ignore[union-attr]


def response(
    law: CongestionControl,
    place: Place | None = None,
    loss_process: str = "meanfield",
    delayed_rtt: bool = True,
) -> Response:
    """How a law's window answers the queue, in symbols, from its drift.

    Args:
        law: with numbers or symbols for its parameters.
        place: on whose branch, where the law compares anything: numbers for cwnd, rtt, base_rtt,
            drop_prob and, by their fields, its other states.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.
        delayed_rtt: whether senders judge by the queue that their packets met, see `FluidOptions`.

    >>> from vegasfluid import Reno
    >>> response(Reno()).own
    s + W*p/(2*R) + W*p*exp(-R*s)/(2*R)
    >>> response(Reno()).losses
    W**2*exp(-R*s)/(2*R)
    """
    return answer(slopes(law, place or {}, loss_process), delayed_rtt)


def signal(law: QueueDiscipline, of: str, place: Place) -> Signal:
    """How one of a queue law's probabilities answers the queue, and what arrives.

    Args:
        law: with numbers for its parameters.
        of: `noticed`, what senders answer; `drop_prob`, what is lost; or `forced_prob`, the part of
            it that packets meet which may be marked.
        place: numbers for queue, arrivals, capacity, buffer and, by its fields, the law's memory.

    >>> from vegasfluid import Red
    >>> law = Red(min_thresh=50, max_thresh=150, wait=False, weight=0.01)
    >>> rest = {"queue": 70, "avg_queue": 70, "arrivals": 1000, "capacity": 1000, "buffer": 200}
    >>> found = signal(law, "loss_signal_prob", rest)
    >>> f"{found.value:.3f}, {found.queue / found.own.subs(s, 0):.4f}, {found.own.evalf(6)}"
    '0.040, 0.0020, s + 10.0503'
    """
    numbers, memory, arrivals = numbers_at(place), law.init(), named("arrivals")
    memory = memory._replace(**{name: named(name) for name in memory._fields})
    seen = QueueState(QUEUE, memory, arrivals, C, BUFFER)
    prob = (law.drop_prob if of == "loss_signal_prob" else getattr(law, of))(seen)
    if numbers[QUEUE] > numbers[BUFFER] - 1:
        prob = 1 - (1 - prob) * (1 - overflow_prob(seen))
    if of == "loss_signal_prob":
        prob = law.loss_signal_prob(prob)
    prob = branch_at(prob, numbers).expression
    rates = law.derivative(seen)._asdict().items()
    moves = {named(name): branch_at(rate, numbers).expression for name, rate in rates}
    moves = {name: rate for name, rate in moves.items() if rate != 0}  # else nothing moves it

    def of_memory(driven: Any) -> Any:
        rows = [
            [rate.diff(b) - driven(rate) * prob.diff(b) for b in moves] for rate in moves.values()
        ]
        return sp.expand((s * sp.eye(len(moves)) - put(sp.Matrix(rows), numbers)).det())

    own = of_memory(lambda rate: 0)

    def total(to: Any) -> Any:
        direct = put(prob.diff(to), numbers)
        return sp.expand((direct - 1) * own + of_memory(lambda rate: rate.diff(to)))

    return Signal(put(prob, numbers), own, total(QUEUE), total(arrivals))

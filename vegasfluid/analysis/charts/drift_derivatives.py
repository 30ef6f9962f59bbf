"""Partial derivatives of congestion-control drifts and of drop probabilities, by SymPy.

SymPy differentiates the drift functions that runs integrate. The charts take their dimensionless
gains from these derivatives, and tests build a characteristic function that does not depend on JAX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import branch_at, equilibrium_signals
from vegasfluid.analysis.closed_forms.formula import Expression, symbol
from vegasfluid.aqm.base import QueueDiscipline, QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.congestion.base import CongestionControl

__all__ = ["DriftDerivatives", "DropProbResponse", "StateValues", "drift_derivatives"]
__all__ += ["drop_prob_response", "evaluate", "s", "substitutions"]

NAMES = ("cwnd", "rtt", "base_rtt", "drop_prob", "capacity", "queue", "buffer")
"""Quantities of the closed forms that a drift or a drop probability may contain."""
KNOWN = {name: symbol(name) for name in NAMES}
"""SymPy symbol of each quantity in NAMES, by name."""
W, R, T, p, C, QUEUE, BUFFER = KNOWN.values()
"""Symbols of NAMES: packets, s, s, a probability, packets/s, packets, packets."""
s = sp.Symbol("s")
"""Variable of the Laplace transform, 1/s."""
SAMPLED, ACKS, LOSSES = (sp.Dummy(name, positive=True) for name in ("rtt", "acks", "losses"))
"""Symbols of a sender's signals: RTT (s), ACK rate and loss rate (1/s). Equilibrium values replace
them only after the derivatives are taken."""
DIGITS = 30
"""Decimal digits of numbers that replace symbols, twice those of a float."""

StateValues = Mapping[str, Any]
"""A number for each quantity by its name, and for each state of a law by its field."""


class DropProbResponse(NamedTuple):
    """Linear response of a drop probability p: dp = (queue dq + arrivals dy) / denominator.

    dq is a change of the queue (packets), dy one of the arrival rate (packets/s). All fields but
    `value` are polynomials in the Laplace variable s (1/s).

    Args:
        value: the probability at equilibrium.
        denominator: characteristic polynomial of the discipline's state; s + K for an average of
            rate K, 1 without a state that changes.
        queue: numerator for the queue, 1/packets times the denominator.
        arrivals: numerator for the arrival rate, s/packet times the denominator.
    """

    value: Expression
    denominator: Expression
    queue: Expression
    arrivals: Expression

    @property
    def gradient(self) -> Any:
        """Transfer functions from queue (1/packets), arrivals (s/packet) to probability; (1, 2)."""
        return sp.Matrix([[self.queue, self.arrivals]]) / self.denominator


class DriftDerivatives(NamedTuple):
    """A congestion control's drift at equilibrium, and its partial derivatives; SymPy matrices.

    Matrix dimensions of length n are in the order of `states`.

    Args:
        states: names of the state variables that move; n of them, such as `cwnd` (packets).
        drift: rate of change of each state, in its unit per second; (n, 1).
        cwnd: derivative of the window (packets) by the states; (1, n).
        state: derivative of the drift by the states; (n, n).
        rtt: derivative of the drift by the round-trip time (s) that the sender measures; (n, 1).
        acks: derivative of the drift by the rate of ACKs, 1/s; (n, 1).
        losses: derivative of the drift by the rate of losses, 1/s; (n, 1).
    """

    states: tuple[str, ...]
    drift: Any
    cwnd: Any
    state: Any
    rtt: Any
    acks: Any
    losses: Any


def named_symbol(name: str) -> Any:
    """The SymPy symbol of a quantity (such as `rtt`), or of a state variable by its field name."""
    return KNOWN.get(name, sp.Symbol(name, positive=True))


def substitutions(values: StateValues) -> dict[Any, Any]:
    """SymPy numbers for symbols, with 30 digits, from the numbers of named quantities.

    If cwnd (packets), rtt (s) and drop_prob are given, the symbols of a sender's measured
    round-trip time, ACK rate and loss rate (1/s) get the values that follow.
    """
    numbers = {named_symbol(name): sp.Float(float(value), DIGITS) for name, value in values.items()}
    if {W, R, p} <= numbers.keys():
        rate = numbers[W] / numbers[R]
        numbers |= {SAMPLED: numbers[R], ACKS: rate, LOSSES: numbers[p] * rate}
    return numbers


def evaluate(expression: Any, numbers: Mapping[Any, Any]) -> Any:
    """A SymPy expression, or a matrix of them, with `numbers` for its symbols, to 30 digits.

    Symbols without a number, such as s, stay.
    """
    return expression.subs(dict(numbers)).evalf(DIGITS)


def drift_derivatives(
    law: CongestionControl, values: StateValues, loss_process: str = "meanfield", ack_every: int = 1
) -> DriftDerivatives:
    """Partial derivatives of a congestion control's drift at equilibrium, in SymPy symbols.

    Args:
        law: the congestion control, with numbers or symbols for its parameters.
        values: numbers that select the branch wherever the drift compares quantities: cwnd
            (packets), rtt and base_rtt (s), drop_prob, and further states by their field names.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.
        ack_every: packets that one ACK acknowledges.

    Returns:
        The drift (unit of each state per s) and its derivatives by states, round-trip time, ACK
        rate and loss rate. Fields that are constant at equilibrium are not among the states.

    Raises:
        InvalidInput: if two compared quantities are equal at `values`, or one has no number.
    """
    initial = law.init(W, R)
    window = initial._replace(**{name: named_symbol(name) for name in initial._fields})
    constant = law.stationary_fields(window, R, T)
    states = tuple(name for name in initial._fields if name not in constant)
    window = window._replace(**constant)
    signals = equilibrium_signals(loss_process)._replace(
        rtt=SAMPLED, ack_rate=ACKS, loss_rate=LOSSES, ack_every=ack_every
    )
    rates, numbers = law.drift(window, signals), substitutions(values)
    drift = sp.Matrix([branch_at(getattr(rates, name), numbers).expression for name in states])
    equilibrium = {SAMPLED: R, ACKS: W / R, LOSSES: p * W / R}

    def derivative(function: Any, variables: Sequence[Any]) -> Any:
        """Jacobian of a column of expressions by variables, with signals at equilibrium."""
        return function.jacobian(sp.Matrix(variables)).subs(equilibrium)

    variables = [named_symbol(name) for name in states]
    cwnd = derivative(sp.Matrix([law.cwnd_of(window, R)]), variables)
    parts = (derivative(drift, by) for by in (variables, [SAMPLED], [ACKS], [LOSSES]))
    return DriftDerivatives(states, drift.subs(equilibrium), cwnd, *parts)


def drop_prob_response(law: QueueDiscipline, prob: str, values: StateValues) -> DropProbResponse:
    """Linear response of one of a queue discipline's probabilities to queue and arrival rate.

    Above a queue of `buffer` - 1 packets the probability also includes overflow of the buffer.

    Args:
        law: the queue discipline, with numbers for its parameters.
        prob: `loss_signal_prob`: loss signals per packet; `drop_prob`: drop or mark of a packet;
            `forced_prob`: drop of a packet that may be marked.
        values: numbers for queue and buffer (packets), arrivals and capacity (packets/s), and each
            field of the law's state.

    Returns:
        The probability at equilibrium, and its transfer functions as polynomials in s (1/s).

    >>> from vegasfluid import Red
    >>> law = Red(min_thresh=50, max_thresh=150, wait=False, weight=0.01)
    >>> values = {"queue": 70, "avg_queue": 70, "arrivals": 1000, "capacity": 1000, "buffer": 200}
    >>> response = drop_prob_response(law, "loss_signal_prob", values)
    >>> slope = response.queue / response.denominator.subs(s, 0)
    >>> f"{response.value:.3f}, {slope:.4f}, {response.denominator.evalf(6)}"
    '0.040, 0.0020, s + 10.0503'
    """
    numbers, arrivals = substitutions(values), named_symbol("arrivals")
    fields = {name: named_symbol(name) for name in law.init()._fields}
    state = QueueState(QUEUE, law.init()._replace(**fields), arrivals, C, BUFFER)
    value = (law.drop_prob if prob == "loss_signal_prob" else getattr(law, prob))(state)
    if numbers[QUEUE] > numbers[BUFFER] - 1:
        value = 1 - (1 - value) * (1 - overflow_prob(state))
    value = branch_at(
        law.loss_signal_prob(value) if prob == "loss_signal_prob" else value, numbers
    ).expression
    rates = law.derivative(state)._asdict().items()
    moving = {named_symbol(name): branch_at(rate, numbers).expression for name, rate in rates}
    moving = {variable: rate for variable, rate in moving.items() if rate != 0}

    def state_polynomial(driven: Any) -> Any:
        """Polynomial in s of the discipline's state, with feedback of `driven` rates."""
        rows = [
            [rate.diff(by) - driven(rate) * value.diff(by) for by in moving]
            for rate in moving.values()
        ]
        matrix = s * sp.eye(len(moving)) - evaluate(sp.Matrix(rows), numbers)
        return sp.expand(matrix.det())

    denominator = state_polynomial(lambda rate: 0)

    def numerator(by: Any) -> Any:
        """Numerator of the transfer function from `by` to the probability; in s."""
        direct = evaluate(value.diff(by), numbers)
        return sp.expand((direct - 1) * denominator + state_polynomial(lambda rate: rate.diff(by)))

    return DropProbResponse(
        evaluate(value, numbers), denominator, numerator(QUEUE), numerator(arrivals)
    )

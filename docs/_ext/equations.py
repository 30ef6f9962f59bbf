"""Equations of congestion controls and queue disciplines, from their code called with symbols.

The code compares by `smooth.maximum` and `smooth.minimum`, which remain in the expressions. So each
branch is given by a point inside it (`branches.toml`, `closed_forms.branch_at`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import sympy as sp

from vegasfluid.analysis.closed_forms import SYMBOLS, branch_at
from vegasfluid.analysis.closed_forms.branches import exact
from vegasfluid.analysis.closed_forms.windows_cubic import CUBIC
from vegasfluid.analysis.closed_forms.windows_loss_based import HIGHSPEED, SCALABLE
from vegasfluid.analysis.closed_forms.windows_vegas import VEGAS
from vegasfluid.aqm.base import QueueDiscipline, QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.quantities import unit_of

__all__ = [
    "BRANCHES",
    "after_a_loss",
    "branches",
    "estimate",
    "full_buffer",
    "growth",
    "loss_factors",
    "notation",
    "queue_equations",
    "traffic",
    "with_numbers",
]

BRANCHES = Path(__file__).with_name("branches.toml")
"""File with a point inside each branch of the equations, by the name of the class."""
FAR = sp.Integer(10) ** 9
"""Initial slow-start threshold, packets: above every window."""
QUANTITIES = {**SYMBOLS, **VEGAS, **HIGHSPEED, **SCALABLE, "C": CUBIC["cubic_c"]}
"""Quantities of the closed forms, with their symbols, by name."""
OWN = {
    "slow_start": r"\sigma",
    "threshold": "h",
    "k": "K",
    "elapsed": "s",
    "squared": "m",
    "acked": r"n_\text{acked}",
    "backlog_delay": "D",
    "groups_high": r"n_\text{high}",
    "avg_queue": "v",
    "arrival_rate": "y",
    "beta": r"\beta",
    "gamma": r"\gamma",
    "delta": r"\delta",
    "weight": "w",
    "base_prob": "P",
    "old_delay": r"d_\text{old}",
    "old_queue": r"q_\text{old}",
    "q_ref": r"q_\text{ref}",
    "a": "a",
    "b": "b",
    "w": "w",
    "drop_load": r"r_C",
    "timer": "T",
    "interval": "I",
    "target": r"d_\text{target}",
    "t_update": r"T_\text{update}",
    "max_burst": r"T_\text{burst}",
    "mark_threshold": r"P_\text{mark}",
    "transfers": "n",
    "high_decrease": r"b_\text{high}",
    "gain": "g",
    "initial_alpha": r"\alpha_0",
    "mark_prob": "p",
    "marked": r"\mu",
    "decrease": "b",
    "legacy_window": r"W_\text{legacy}",
    "learning": r"K",
    "group": "N",
    "groups": "L",
    "on": r"T_\text{on}",
    "off": r"T_\text{off}",
    "mean_gap": r"T_\text{gap}",
    "mean_size": "M",
    "shape": "a",
    "packet_bytes": "S",
}
"""LaTeX of quantities and parameters that are in no closed form, by name."""
NUMBERS = {"cwnd": 20, "rtt": 0.11, "base_rtt": 0.1, "capacity": 1000, "buffer": 100}
NUMBERS |= {"arrival_rate": 900, "queue": 50}
"""Numbers of quantities that a branch in `branches.toml` leaves out (packets, s, packets/s)."""

DIGITS, LARGEST_DENOMINATOR, NOTHING = 5, 1000, 1e-5
"""Digits of a decimal, largest denominator of a fraction, and size of a fraction shown as 0."""

Rates = list[tuple[str, Any]]
"""LaTeX of a derivative or a quantity, and its expression."""


def notation(name: str) -> Any:
    """The SymPy symbol of a quantity or parameter, from the closed forms where they have one."""
    if name in OWN:
        return sp.Symbol(OWN[name], positive=True)
    if name in QUANTITIES:
        return QUANTITIES[name].symbol
    letters = name.replace("_", r"\_")
    return sp.Symbol(rf"\mathit{{{letters}}}", positive=True)


def with_numbers(expression: Any) -> Any | None:
    """The expression with a decimal number in place of the coefficient of each term.

    None if no coefficient has more than one root, so that the exact form is readable.
    """
    terms = expression.args if isinstance(expression, sp.Max) else (expression,)
    pairs = [term.as_independent(*term.free_symbols, as_Add=False) for term in terms]
    if all(len(number.atoms(sp.Pow)) < 2 for number, _ in pairs):
        return None
    rounded = [sp.N(number, DIGITS) * rest for number, rest in pairs]
    return sp.Max(*rounded, evaluate=False) if len(rounded) > 1 else rounded[0]


def branches(kind: type[Any]) -> dict[str, dict[str, Any]]:
    """A point inside each branch of a class's equations: numbers by name, by the branch in words.

    They are read from `branches.toml`. A class that it lacks has the branches "slow start" and
    "congestion avoidance" if it is a congestion control, else the one branch "always".
    """
    tables = tomllib.loads(BRANCHES.read_text())
    default = tables["default"] if issubclass(kind, CongestionControl) else {"always": {}}
    return tables.get(kind.name, default)


def asked(kind: type[Any], regime: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An instance of a class with symbols for its parameters, and a number for each symbol.

    Args:
        kind: class of a congestion control or queue discipline.
        regime: numbers by name; parameters among them replace the defaults.
    """
    names = [field.name for field in fields(kind)]
    plain = kind(**{name: value for name, value in regime.items() if name in names})
    numbers = {name: value for name, value in plain.parameters().items() if unit_of(kind, name)}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    symbols = {name: notation(name) for name in numbers}
    law = kind(**{**plain.parameters(), **symbols})
    return law, {notation(name): value for name, value in numbers.items()}


def state_of(law: CongestionControl, regime: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """The state of a congestion control in symbols, and a number for each symbol.

    `slow_start` is a number, 0 or 1. Numbers come from `regime` or `NUMBERS`, else they are 0.
    """
    start = law.init(NUMBERS["cwnd"], NUMBERS["base_rtt"])._asdict()
    numbers = {name: regime.get(name, NUMBERS.get(name, 0)) for name in start}
    symbols = {name: notation(name) for name in start} | {
        "slow_start": sp.Integer(numbers["slow_start"])
    }
    witness = {symbols[name]: value for name, value in numbers.items() if name != "slow_start"}
    return type(law.init(1.0, 1.0))(**symbols), witness


def seen(regime: Mapping[str, Any]) -> tuple[Signals, dict[Any, Any]]:
    """The signals of a sender in symbols, and a number (s) for the symbol of the round-trip time.

    ACKs arrive at the rate cwnd / rtt (packets/s), and there are no losses; the fraction of marked
    packets, and that of loss events that are marks, are symbols where `regime` has their numbers.
    """
    window, rtt = notation("cwnd"), notation("rtt")
    nothing = sp.Integer(0)
    marks = {name: notation(name) for name in ("mark_prob", "marked") if name in regime}
    numbers = {rtt: regime.get("rtt", NUMBERS["rtt"])}
    numbers |= {symbol: regime[name] for name, symbol in marks.items()}
    return Signals(rtt, window / rtt, nothing, FAR, **marks), numbers


def symbolic(
    kind: type[CongestionControl], regime: Mapping[str, Any]
) -> tuple[Any, Any, Any, dict]:
    """A congestion control, its state and its signals in symbols, and numbers for these.

    Args:
        kind: class of the congestion control.
        regime: numbers by name, which select the branch of its equations.
    """
    law, parameters = asked(kind, regime)
    state, window = state_of(law, regime)
    feedback, times = seen(regime)
    return law, state, feedback, parameters | window | times


def growth(kind: type[CongestionControl], regime: Mapping[str, Any]) -> tuple[Rates, Rates]:
    """The rates of change of a congestion control's state between losses, on one branch.

    Args:
        kind: class of the congestion control.
        regime: numbers by name, a point inside the branch.

    Returns:
        For one flow, and for the mean over a class of flows: LaTeX of each derivative in time and
        its expression (unit of the field per second). The second list is empty where it equals the
        first.
    """
    law, state, feedback, witness = symbolic(kind, regime)
    single = rates(law.growth(state, feedback), witness)
    if kind.drift is CongestionControl.drift:
        return single, []
    mean = rates(law.drift(state, feedback), witness)
    return single, [] if mean == single else mean


def estimate(kind: type[Any], regime: Mapping[str, Any]) -> Any:
    """The expression of the backlog (packets) that a congestion control estimates, on one branch.

    None for a class that estimates none. `regime` has numbers by name, a point inside the branch.
    """
    law, state, feedback, witness = symbolic(kind, regime)
    law = getattr(law, "plain", law)
    if not hasattr(law, "backlog"):
        return None
    return tidy(branch_at(law.backlog(state, feedback), witness).expression)


def rates(changes: Any, witness: Mapping[Any, Any]) -> Rates:
    """LaTeX of each derivative in time that is not zero, with its expression (unit/s), on a branch.

    Args:
        changes: named tuple of the derivatives.
        witness: a number for each symbol, which selects the branch.
    """
    found = []
    for name, change in changes._asdict().items():
        rate = branch_at(change, witness).expression
        if rate != 0:
            found.append((rf"\frac{{d{sp.latex(notation(name))}}}{{dt}}", tidy(rate)))
    return found


def tidy(expression: Any) -> Any:
    """The shorter of an expression and its simplification, with decimals for long fractions."""
    short = sp.count_ops(expression) < 40 and not expression.has(sp.log)
    simple = sp.simplify(expression) if short else expression
    return decimal(min(simple, expression, key=sp.count_ops))


def decimal(expression: Any) -> Any:
    """An expression with decimals in place of fractions with a denominator above 1000.

    Those of at most 1e-5 in size become 0: they only keep a division from being 0 by 0.
    """
    long = [part for part in expression.atoms(sp.Rational) if part.q > LARGEST_DENOMINATOR]
    decimals = {part: sp.Float(part, DIGITS) if abs(part) > NOTHING else sp.S(0) for part in long}
    return expression.xreplace(decimals)


def upright(expression: Any, witness: Mapping[Any, Any]) -> Any:
    """An expression, as a fraction whose denominator is positive for the numbers in `witness`."""
    top, bottom = sp.fraction(sp.together(expression))
    if not bottom.free_symbols or bottom.subs(dict(witness)) > 0:
        return expression
    return sp.factor(-top) / sp.expand(-bottom)


def after_a_loss(kind: type[CongestionControl], regime: Mapping[str, Any]) -> Rates:
    """The fields of a congestion control's state that a loss changes, and their new values.

    Args:
        kind: class of the congestion control.
        regime: numbers by name, a point inside the branch of the equations.

    Returns:
        LaTeX of each field and the expression of its value after the loss, in its unit.
    """
    law, state, feedback, witness = symbolic(kind, regime)
    left = law.after_loss(state, feedback)
    return [
        (sp.latex(notation(name)), tidy(branch_at(value, witness).expression))
        for name, value in left._asdict().items()
        if name != "slow_start" and value != getattr(state, name)
    ]


def loss_factors(kind: type[CongestionControl], regime: Mapping[str, Any]) -> dict[str, Any]:
    """Factors by which a congestion control multiplies the loss rate of a mean window.

    `regime` has numbers by name, a point inside the branch. The factors have no unit; their keys
    are the loss processes "iid" and "periodic", without those whose factor is 1.
    """
    law, state, _, witness = symbolic(kind, regime)
    found = {
        process: tidy(branch_at(sp.sympify(law.loss_factor(process, state)), witness).expression)
        for process in ("iid", "periodic")
    }
    return {process: factor for process, factor in found.items() if factor != 1}


def queue_equations(kind: type[QueueDiscipline], regime: Mapping[str, Any]) -> Rates:
    """The drop probability of a queue discipline, and the rates of change of its state.

    Args:
        kind: class of the queue discipline.
        regime: numbers by name, a point inside the branch of the equations.

    Returns:
        "p" with the probability (0 to 1), then LaTeX of each derivative in time with its
        expression.
    """
    law, witness = asked(kind, regime)
    memory = law.init()
    kept = type(memory)(*(notation(name) for name in memory._fields))
    names = ("queue", "arrival_rate", "capacity", "buffer")
    state = QueueState(notation("queue"), kept, *(notation(name) for name in names[1:]))
    for name in names:
        witness[notation(name)] = regime.get(name, NUMBERS[name])
    for name, start in memory._asdict().items():
        witness[notation(name)] = regime.get(name, plain_start(kind, regime, name, start))
    prob = tidy(branch_at(sp.sympify(law.drop_prob(state)), witness).expression)
    return [("p", upright(prob, witness)), *rates(law.derivative(state), witness)]


def plain_start(kind: type[Any], regime: Mapping[str, Any], name: str, start: Any) -> Any:
    """The initial value of the field `name` of a queue discipline's state, as a number.

    It is `start` unless that has symbols of parameters; then parameters come from `regime`.
    """
    names = [field.name for field in fields(kind)]
    plain = kind(**{key: value for key, value in regime.items() if key in names})
    return getattr(plain.init(), name) if isinstance(start, sp.Basic) else start


def full_buffer() -> Any:
    """The fraction of arrivals that a full buffer drops, as an expression, above capacity."""
    names = {"queue": 100, "arrival_rate": 1200, "capacity": 1000, "buffer": 100}
    symbols = {name: notation(name) for name in names}
    state = QueueState(symbols["queue"], None, *(symbols[name] for name in list(names)[1:]))
    witness = {symbols[name]: value for name, value in names.items()}
    witness[symbols["queue"]] = 100.5
    return tidy(branch_at(overflow_prob(state), witness).expression)


def traffic(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Names, with units, and expressions of a traffic source's quantities in the fluid model."""
    names = [field.name for field in fields(kind) if unit_of(kind, field.name)]
    source = kind(**{name: notation(name) for name in names})
    size, active = notation("packet_bytes"), notation("transfers")
    yield "largest rate, packets/s", source.rate_limit(size)
    yield "mean size of a transfer, packets", source.mean_transfer_size(size)
    yield "transfers started per second, 1/s", exact(source.arrival_rate(active))
    yield "fraction of the time with an active transfer", source.busy_fraction(active)

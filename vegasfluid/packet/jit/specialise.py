"""Copies of the engine's functions for the rules and features that a network uses.

A function is copied with its globals replaced, and so are the functions that it calls: the open
names `on_ack`, `decide`, ... become dispatchers over the rules in use, and the names in `features`
become constants.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from vegasfluid.packet.rack.records import RACK_INITIAL
from vegasfluid.packet.rng import uniform
from vegasfluid.packet.rules import Rules, counters_of

__all__ = ["open_names", "specialise"]

RESET_FIELDS = [
    "cwnd",
    "ssthresh",
    "srtt",
    "rttvar",
    "rto",
    "backoff",
    "timed_seq",
    "duplicates",
    "inflation",
    "in_recovery",
    "reordering",
    "quick_acks",
]
"""Fields of a flow that a new connection resets to their initial values."""

DECISIONS = {
    "increase_window": ("control_grows", "flow, now, acked"),
    "window_after_loss": ("control_window_after_loss", "flow, window"),
    "window_after_mark": ("control_window_after_mark", "flow, window"),
    "window_after_timeout": ("control_window_after_timeout", "flow, window"),
    "on_rtt_sample": ("control_takes_sample", "flow, rtt"),
    "on_restart": ("control_restarts", "flow, now"),
    "on_state": ("control_sees_state", "flow, state"),
    "on_flight_start": ("control_starts_flight", "flow, now"),
}
"""Functions of a congestion control that RACK-TLP recovery calls: the dispatcher's name in its
modules, and the arguments."""

SEQUENCE_NUMBERS = ("opened", "recover")
"""Fields of a flow that are packet numbers, set relative to the first packet of a connection."""


def global_names(function: FunctionType) -> set[str]:
    """Names of the globals that a function reads, from its bytecode; attributes are excluded."""
    instructions = dis.get_instructions(function)
    return {each.argval for each in instructions if each.opname == "LOAD_GLOBAL"}


def specialise(
    function: FunctionType,
    values: Mapping[str, Any],
    translate: Callable[[FunctionType], Any],
    done: dict[FunctionType, Any],
) -> Any:
    """Copy a function and all functions that it calls, with some of their globals replaced.

    Args:
        function: a plain Python function.
        values: replacements by the name of a global, in every copied function.
        translate: applied to each copy, callees first, such as a compiler.
        done: translated copies by original function; filled in place.

    Returns:
        The translated copy.
    """
    if function not in done:
        namespace = dict(function.__globals__)
        for name in global_names(function):
            value = values.get(name, namespace.get(name))
            if isinstance(value, FunctionType):
                value = specialise(value, values, translate, done)
            if name in values or name in namespace:
                namespace[name] = value
        copy = FunctionType(function.__code__, namespace, function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        done[function] = translate(copy)
    return done[function]


def define(name: str, arguments: str, lines: Sequence[str], namespace: dict[str, Any]) -> Any:
    """Make a function from source text, which is never a user's; no other code uses `exec`.

    Args:
        name: name of the function.
        arguments: the argument list.
        lines: the body; empty: `pass`.
        namespace: globals of the function.

    Returns:
        The function.
    """
    text = "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines or ["pass"])])
    exec(text, namespace)
    return namespace[name]


def dispatcher(name: str, functions: Sequence[Callable], arguments: str) -> Callable[..., Any]:
    """Make a function `(i, *arguments)` that calls the i-th of some functions.

    Args:
        name: name of the new function.
        functions: the functions to choose from.
        arguments: their common argument list.
    """
    last = len(functions) - 1
    lines = [
        (f"if i == {i}: " if i < last else "") + f"return choice{i}({arguments})"
        for i in range(len(functions))
    ]
    choices = {f"choice{i}": f for i, f in enumerate(functions)}
    return define(name, f"i, {arguments}", lines, choices)


def open_names(rules: Rules) -> dict[str, Any]:
    """Values of the global names that the engine leaves open, for the rules and features in use.

    They are dispatchers over the packet rules by name, and features as constants.
    """
    controls = [control.rules for control in rules.controls]
    disciplines = [discipline.rule for discipline in rules.disciplines]
    sources = [source.rules for source in rules.sources]
    return {
        "on_ack": dispatcher("on_ack", [r.on_ack for r in controls], "flow, now, acked"),
        "on_duplicate_ack": dispatcher(
            "on_duplicate_ack", [r.on_duplicate_ack for r in controls], "flow, now"
        ),
        "on_timeout": dispatcher("on_timeout", [r.on_timeout for r in controls], "flow, now"),
        "on_ecn_echo": dispatcher("on_ecn_echo", [r.on_ecn_echo for r in controls], "flow, now"),
        "count_marks": dispatcher(
            "count_marks", [r.count_marks for r in controls], "flow, acked, marked"
        ),
        **{
            name: dispatcher(name, [dict(r.decisions)[decision] for r in controls], arguments)
            for decision, (name, arguments) in DECISIONS.items()
        },
        "decide": dispatcher(
            "decide", [r.decide for r in disciplines], "queue, waiting, idle_packets"
        ),
        "on_empty": dispatcher("on_empty", [r.on_empty for r in disciplines], "queue"),
        "on_application": dispatcher(
            "on_application", [r.on_application for r in sources], "flow, now"
        ),
        "on_finished": dispatcher("on_finished", [r.on_finished for r in sources], "flow, now"),
        "uniform": uniform,
        "sample_counters": sample_counters(rules),
        "open_connection": open_connection(rules),
        **rules.features._asdict(),
    }


def sample_counters(rules: Rules) -> Callable[..., None]:
    """Make the function `(sample, flow)` that copies the rules' counters to a flow's sample."""
    lines = [f"sample.{name} = flow.{name}" for name in counters_of(rules)]
    return define("sample_counters", "sample, flow", lines, {})


def open_connection(rules: Rules) -> Callable[..., None]:
    """Make the function `(flow, initial)` that resets a flow for a new connection.

    The connection starts at the oldest unacknowledged packet; `initial` is the flow at its start.
    """
    controls = [control.rules for control in rules.controls]
    numbers = {name for control in controls for name in control.places} | set(SEQUENCE_NUMBERS)
    counters = {name for control in controls for name in control.counters}
    state = {name for control in controls for name in control.state} - numbers - counters
    state |= set(RACK_INITIAL) if rules.features.RACK else set()
    lines = [f"flow.{name} = initial.{name}" for name in (*RESET_FIELDS, *sorted(state))]
    lines += [f"flow.{name} = flow.una + initial.{name}" for name in sorted(numbers)]
    return define("open_connection", "flow, initial", lines, {})

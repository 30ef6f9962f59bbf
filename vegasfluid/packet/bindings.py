"""What the engine's open names stand for: switches over the laws in use, and what they keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vegasfluid.packet.dice import uniform
from vegasfluid.packet.rules import Rules, counters_of

__all__ = ["bindings"]

RENEWED = [
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
"""Fields that a new connection starts with as the first one did."""
PLACES = ("opened", "recover")
"""Fields that are numbers of packets, counted from the first one of a connection."""


def define(name: str, arguments: str, lines: Sequence[str], namespace: dict[str, Any]) -> Any:
    """A function of some lines; the only place where code is made from text (of our own)."""
    text = "\n".join([f"def {name}({arguments}):", *(f"    {line}" for line in lines or ["pass"])])
    exec(text, namespace)
    return namespace[name]


def switch(name: str, functions: Sequence[Callable], arguments: str) -> Callable[..., Any]:
    """A function that calls the i-th of `functions`, where i is its first argument."""
    last = len(functions) - 1
    lines = [
        (f"if i == {i}: " if i < last else "") + f"return choice{i}({arguments})"
        for i in range(len(functions))
    ]
    choices = {f"choice{i}": f for i, f in enumerate(functions)}
    return define(name, f"i, {arguments}", lines, choices)


def bindings(rules: Rules) -> dict[str, Any]:
    """The engine's open names, bound to the rules in use."""
    laws, offers = [law.rules for law in rules.laws], [kind.rules for kind in rules.offers]
    return {
        "on_ack": switch("on_ack", [r.on_ack for r in laws], "flow, now, acked"),
        "on_duplicate_ack": switch(
            "on_duplicate_ack", [r.on_duplicate_ack for r in laws], "flow, now"
        ),
        "on_timeout": switch("on_timeout", [r.on_timeout for r in laws], "flow, now"),
        "on_ecn_echo": switch("on_ecn_echo", [r.on_ecn_echo for r in laws], "flow, now"),
        "decide": switch(
            "decide", [law.rule.decide for law in rules.queues], "queue, waiting, idle_packets"
        ),
        "on_application": switch("on_application", [r.on_application for r in offers], "flow, now"),
        "on_finished": switch("on_finished", [r.on_finished for r in offers], "flow, now"),
        "uniform": uniform,
        "note_counters": note_counters(rules),
        "reopen": reopen(rules),
        **rules.features._asdict(),
    }


def note_counters(rules: Rules) -> Callable[..., None]:
    """A function that writes the laws' counters into a sample."""
    lines = [f"sample.{name} = flow.{name}" for name in counters_of(rules)]
    return define("note_counters", "sample, flow", lines, {})


def reopen(rules: Rules) -> Callable[..., None]:
    """A function that gives a flow a new connection: as fresh, from its next packet on."""
    laws = [law.rules for law in rules.laws]
    places = {name for law in laws for name in law.places} | set(PLACES)
    counted = {name for law in laws for name in law.counters}
    kept = {name for law in laws for name in law.state} - places - counted
    lines = [f"flow.{name} = fresh.{name}" for name in (*RENEWED, *sorted(kept))]
    lines += [f"flow.{name} = flow.una + fresh.{name}" for name in sorted(places)]
    return define("reopen", "flow, fresh", lines, {})

"""What the fluid engines take for granted, as options say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import ms

__all__ = ["Assumptions", "assumed"]

USUAL_PROCESS = "iid"


class Assumptions(NamedTuple):
    """What packets need not be told.

    Args:
        loss_process: how losses come.
        base_rtt: what the senders of a class begin with, s, by the class's name.
        tolerance: of goodput, queue and drops, as a part of them; None: the usual one.
    """

    loss_process: str
    base_rtt: Mapping[str, float]
    tolerance: float | None = None


def assumed(
    engines: tuple[str, ...],
    loss_process: str | None,
    base_rtts_ms: Iterable[str],
    tolerance: float | None = None,
) -> Assumptions:
    """What the options say.

    Args:
        engines: that will run.
        loss_process: `--loss-process`.
        base_rtts_ms: `--base-rtt-ms`, each as CLASS=MS.
        tolerance: `--tolerance`.

    Raises:
        InvalidInput: for a base RTT that is no such pair, or without a fluid engine.

    >>> assumed(("fluid", "packets"), None, ["vegas=12.5"])
    Assumptions(loss_process='iid', base_rtt={'vegas': 0.0125}, tolerance=None)
    """
    base_rtts = list(base_rtts_ms)
    given = {
        "--loss-process": loss_process,
        "--base-rtt-ms": base_rtts or None,
        "--tolerance": tolerance,
    }
    if set(engines) == {"packets"}:
        for option, value in given.items():
            if value is not None:
                raise InvalidInput("simulate", option, "used with fluid or density only", value)
    return Assumptions(loss_process or USUAL_PROCESS, dict(map(pair, base_rtts)), tolerance)


def pair(text: str) -> tuple[str, float]:
    """A class and its base RTT, s."""
    name, equals, value = text.rpartition("=")
    try:
        time = ms(float(value))
    except ValueError:
        time = float("nan")
    if not (name and equals and 0 < time < float("inf")):
        raise InvalidInput("simulate", "--base-rtt-ms", "CLASS=MS with MS above 0", text)
    return name, time

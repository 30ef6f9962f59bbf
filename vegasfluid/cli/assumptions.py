"""Options for what the fluid models assume and the packet simulator computes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.quantities import ms

__all__ = ["Assumptions", "assumptions_from_options"]

DEFAULT_LOSS_PROCESS = "iid"
"""Loss process of the fluid models if none is given: independent losses."""
FLUID_ONLY = "it is for the engines fluid and density"
"""Reason why options for assumptions need a fluid engine."""


class Assumptions(NamedTuple):
    """Assumptions of the fluid models that a user can set.

    Args:
        loss_process: how losses are spread over time: `iid`, `periodic` or `meanfield`.
        base_rtt: base RTT that senders start with, s, by class name.
        tolerance: relative error allowed in goodput, queues and drops; None: 0.01.
    """

    loss_process: str
    base_rtt: Mapping[str, float]
    tolerance: float | None = None


def assumptions_from_options(
    engines: tuple[str, ...],
    loss_process: str | None,
    base_rtts_ms: Iterable[str],
    tolerance: float | None = None,
) -> Assumptions:
    """Assumptions of the fluid models from the options of `vegasfluid simulate`.

    Args:
        engines: names of the engines that will run.
        loss_process: value of `--loss-process`; None: `iid`.
        base_rtts_ms: values of `--base-rtt-ms`, each as CLASS=MS with MS in ms; the last one of a
            class counts. Whether the class exists is not checked.
        tolerance: value of `--tolerance`, a relative error.

    Returns:
        The loss process, base RTTs in s by class, and the tolerance.

    Raises:
        InvalidInput: for a base RTT without a class, or that is not a finite number above 0.
        Unsupported: if any of these options is given and only the packet simulator runs.

    >>> assumptions_from_options(("fluid", "packets"), None, ["vegas=12.5"])
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
                raise Unsupported("simulate", f"{option} with packets", FLUID_ONLY)
    return Assumptions(
        loss_process or DEFAULT_LOSS_PROCESS, dict(map(parse_base_rtt, base_rtts)), tolerance
    )


def parse_base_rtt(text: str) -> tuple[str, float]:
    """Class name and base RTT in s from a text CLASS=MS with MS in ms, finite and above 0.

    Raises:
        InvalidInput: for any other text.
    """
    name, equals, value = text.rpartition("=")
    try:
        time = ms(float(value))
    except ValueError:
        time = float("nan")
    if not (name and equals and 0 < time < float("inf")):
        raise InvalidInput("simulate", "--base-rtt-ms", "CLASS=MS with MS above 0", text)
    return name, time

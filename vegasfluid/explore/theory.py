"""Equilibrium of a network, and its stability, from theory without a run."""

from __future__ import annotations

from typing import Any

from vegasfluid.network import Network
from vegasfluid.sweep.summary import tuned_class

__all__ = ["stability_in_theory"]


def stability_in_theory(network: Network, tuned: str | None) -> dict[str, Any]:
    """Equilibrium of a network in theory, and whether small disturbances of it decay.

    Args:
        network: the network.
        tuned: class in the numerator of the ratio; None: the only Vegas class, else the first.

    Returns:
        `ratio` of goodputs at equilibrium (None with one class, infinite if the other flows have
        none, NaN if no flow has any), `queue_packets` by link, whether the equilibrium is
        `stable`, and `text`, a sentence with rightmost root and margins.

    Raises:
        InvalidInput: for a network without an equilibrium, or without an isolated one.
        SolveFailed: if no equilibrium is found.
    """
    from vegasfluid.analysis import equilibrium, stability  # seconds

    found, name = equilibrium(network), tuned_class(network, tuned)
    verdict = stability(found)
    queues = dict(zip(network.links, map(float, found.values.queue), strict=False))
    return {
        "ratio": None if name is None else found.ratio(name),
        "queue_packets": queues,
        "stable": verdict.stable,
        "text": verdict.text,
    }

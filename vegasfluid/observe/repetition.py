"""The estimated model on the packet simulator, beside the measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vegasfluid import metrics, modelfile
from vegasfluid.observe.estimate import NetworkEstimate
from vegasfluid.observe.network_file import model_text
from vegasfluid.packet import simulate_packets

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MEANS", "compared_means", "repeat"]

MEANS = ("cwnd_packets", "rtt_s", "goodput_packets_per_s")
"""Means that are compared, by their names in JSON."""


def repeat(found: NetworkEstimate, seed: int = 1) -> xr.Dataset:
    """Simulate the estimated network by packets, with the nominal values of its ranges.

    Args:
        found: estimates from the measurement.
        seed: seed of the packet simulator.

    Returns:
        The trajectory (see `vegasfluid.trajectory`). It has no Vegas flow unless one was measured.

    Raises:
        InvalidInput: if the capacity is not known.
    """
    model = modelfile.loads(model_text(found, add_vegas=False))
    return simulate_packets(model.network, model.duration, warmup=model.warmup, seed=seed)


def compared_means(found: NetworkEstimate, run: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Measured and modelled means of each measured class.

    Args:
        found: estimates from the measurement.
        run: the trajectory of `repeat`.

    Returns:
        By class, `measured` and `modelled`, each with means of a flow: `cwnd_packets` (NaN: not
        measured), `rtt_s` and `goodput_packets_per_s`.
    """
    model = modelfile.loads(model_text(found, add_vegas=False))
    modelled = metrics.summarise(run, model.network)["classes"]
    return {
        each.name: {
            "measured": dict(zip(MEANS, (each.window, each.rtt, each.goodput), strict=True)),
            "modelled": {key: modelled[each.name][key] for key in MEANS},
        }
        for each in found.classes
    }

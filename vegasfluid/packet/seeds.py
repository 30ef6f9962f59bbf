"""Packet runs with independent seeds, in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network, require_network
from vegasfluid.packet.simulate import simulate_packets
from vegasfluid.parallel import parallel_map
from vegasfluid.run_options import DEFAULT_SAMPLES

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["ONE_RUN", "simulate_seeds"]


ONE_RUN = (
    "the runs of all {} seeds are identical, because nothing in this network is random: confidence "
    "intervals have no meaning. For runs that differ, let flows start at random times (start_s) or "
    "senders wait a random time (send_overhead_ms)."
)
"""Warning about identical runs; `format` takes the number of seeds."""


def simulate_seeds(
    network: Network,
    until: float,
    seeds: Sequence[int],
    *,
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
    bin_width: float | None = None,
    workers: int | None = None,
) -> xr.Dataset:
    """Simulate every packet of a network once for each seed, several runs at a time.

    Args:
        network: links and the classes of flows that share them.
        until: simulated time, s.
        seeds: seeds of the runs, whole numbers from 0 on, all different; a seed determines its run.
        warmup: time at the start that the metrics leave out, s; None: a quarter of the run.
        samples: number of evenly spaced sample times.
        bin_width: width of the bins in which the data packets that arrive at each queue are
            counted, s; None: no bins.
        workers: runs at a time; None: one per processor. The result does not depend on it.

    Returns:
        The trajectories (see `vegasfluid.trajectory`) along a dimension `seed`; `sel(seed=...)`
        selects one, for `vegasfluid.metrics`. If all runs are equal, as nothing in the network is
        random, the attribute `warnings` states this.

    Raises:
        InvalidInput: for no seeds, equal or invalid seeds, or another argument out of range.
        TooLarge: for a run that needs too much memory or time, or times beyond its clock.

    >>> from vegasfluid import Flows, Link, Reno, metrics
    >>> network = Network(Link(1000.0, 50), {"reno": Flows(2, Reno(), base_rtt=0.04)})
    >>> runs = simulate_seeds(network, until=5, seeds=[1, 2, 3], samples=11)
    >>> dict(runs.sizes)["seed"], metrics.jain_index(runs.sel(seed=2)) > 0.5
    (3, True)
    """
    import xarray as xr

    require_network("simulate_seeds", network)
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidInput("simulate", "seeds", "one or more, all different", list(seeds))

    def simulate(seed: int) -> xr.Dataset:
        options = {"warmup": warmup, "samples": samples, "bin_width": bin_width}
        return simulate_packets(network, until, seed=seed, **options)  # type: ignore[arg-type]

    runs = parallel_map(simulate, seeds, workers)
    labels = xr.DataArray(list(seeds), dims="seed", name="seed")
    combined = xr.concat(runs, labels, combine_attrs="drop_conflicts", data_vars="all")
    identical = len(runs) > 1 and all(run.equals(runs[0]) for run in runs[1:])
    attributes = {"warnings": ONE_RUN.format(len(runs))} if identical else {}
    return combined.assign_attrs(seed=list(seeds), **attributes)

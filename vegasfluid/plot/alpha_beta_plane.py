"""The plane of alpha and beta: fluid runs at its points, and the map of them all."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.simulate import record_fluid
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.sweep import Numbers, Sweep, open_sweep, run
from vegasfluid.sweep.summary import run_averages, tuned_class
from vegasfluid.trajectory import Recording

__all__ = ["Plane", "Reading", "plane_of"]


class Reading(NamedTuple):
    """What a run comes to; means after the warm-up.

    Args:
        alpha: packets.
        beta: packets.
        ratio: goodput of a Vegas flow over that of a flow of the other classes.
        goodput: of a flow of each class, Mbit/s, by their names.
        queueing_delay: at the first link, s.
        utilisation: of that link.
        doubts: why the fluid model may not hold here, a line each.
    """

    alpha: float
    beta: float
    ratio: float
    goodput: dict[str, float]
    queueing_delay: float
    utilisation: float
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        """In one line."""
        return (
            f"alpha = {self.alpha:g}, beta = {self.beta:g} packets: ratio {self.ratio:.3f}, "
            f"queueing delay {1e3 * self.queueing_delay:.1f} ms, "
            f"utilisation {100 * self.utilisation:.1f} %"
        )


@dataclass(frozen=True)
class Plane:
    """A network whose Vegas flows may have any alpha and beta between two numbers of packets.

    Args:
        model: the network, the time to simulate, and the warm-up.
        tuned: the class of Vegas flows.
        lowest: of alpha, packets.
        highest: of beta, packets.
    """

    model: Model
    tuned: str
    lowest: float
    highest: float

    @property
    def law(self) -> Vegas:
        """The Vegas that is tuned, as the network has it."""
        law = self.model.network.flows[self.tuned].law
        assert isinstance(law, Vegas)
        return law

    def network(self, alpha: float, beta: float) -> Network:
        """The network at a point, packets."""
        law = replace(self.law, alpha=float(alpha), beta=float(beta))
        return self.model.network.with_law(self.tuned, law)

    def run(self, alpha: float, beta: float) -> Recording:
        """The fluid model's run at a point, packets; without labels, which take as long again."""
        network = self.network(alpha, beta)
        return record_fluid(network, self.model.duration, DEFAULT_SAMPLES, tolerance=None)

    def reading(self, run: Recording, alpha: float, beta: float) -> Reading:
        """What the run at a point comes to."""
        means = run_averages(run, self.model.warmup, self.tuned)
        return Reading(
            alpha,
            beta,
            float(means["ratio"]),
            dict(zip(run.network.flows, map(float, means["goodput_mbps"]), strict=True)),
            float(means["queueing_delay_s"][0]),
            float(means["utilisation"][0]),
            tuple(validity_warnings(run, self.model.warmup)),
        )

    def swept(self, points: int) -> xr.Dataset:
        """The whole plane by one batch of fluid runs, with the steps of single ones.

        Args:
            points: along each axis.

        Returns:
            The metrics of a sweep over `beta` and `alpha`; NaN where beta is below alpha.
        """
        values = np.linspace(self.lowest, self.highest, points)
        names = [f"{self.tuned}.{name}_packets" for name in ("beta", "alpha")]
        axes = [
            Numbers(name, values, dim) for name, dim in zip(names, ("beta", "alpha"), strict=True)
        ]
        plan = Sweep(self.model, axes, tune=self.tuned, chunk=points**2, fine=True)
        with tempfile.TemporaryDirectory(prefix="vegasfluid-") as folder:
            run(plan, Path(folder) / "plane.zarr")
            return open_sweep(Path(folder) / "plane.zarr").load()


def plane_of(
    network: Network,
    packets: tuple[float, float],
    until: float,
    warmup: float,
    tuned: str | None,
) -> Plane:
    """The plane of a network's Vegas flows.

    Raises:
        InvalidInput: where there is no single class of Vegas flows beside others, or an order is
            wrong.
    """
    lowest, highest = map(float, packets)
    if not 0 < lowest < highest:
        raise InvalidInput("explore", "packets", "two numbers above 0, the lower first", packets)
    name = tuned_class(network, tuned)
    if name is None or not isinstance(network.flows[name].law, Vegas):
        known = [of for of, flows in network.flows.items() if isinstance(flows.law, Vegas)]
        allowed = "a class of Vegas flows beside another: " + (", ".join(known) or "there is none")
        raise InvalidInput("explore", "tuned", allowed, tuned)
    return Plane(Model(network, until, warmup), name, lowest, highest)

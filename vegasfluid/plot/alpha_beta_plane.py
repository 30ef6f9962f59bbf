"""The plane of alpha and beta: fluid runs at single points, and a map of the whole plane."""

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

__all__ = ["HALVED_ONCE", "Plane", "Reading", "plane_of"]

HALVED_ONCE = 1.0
"""Tolerance of a run that one halving of the step meets."""


class Reading(NamedTuple):
    """Averages of a fluid run after the warm-up.

    Args:
        alpha: alpha of the Vegas flows, packets.
        beta: beta of the Vegas flows, packets.
        ratio: goodput of a Vegas flow / goodput of a flow of the other classes.
        goodput: mean goodput of a flow of each class, Mbit/s, by the class's name.
        queueing_delay: queueing delay at the first link, s.
        utilisation: utilisation of the first link, 0 to 1.
        warnings: reasons why the fluid model may not be valid for this run.
    """

    alpha: float
    beta: float
    ratio: float
    goodput: dict[str, float]
    queueing_delay: float
    utilisation: float
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """One line of text: alpha, beta (packets), ratio, queueing delay (ms), utilisation (%)."""
        return (
            f"alpha = {self.alpha:g}, beta = {self.beta:g} packets: ratio {self.ratio:.3f}, "
            f"queueing delay {1e3 * self.queueing_delay:.1f} ms, "
            f"utilisation {100 * self.utilisation:.1f} %"
        )


@dataclass(frozen=True)
class Plane:
    """A network with a range of alpha and beta for one of its Vegas classes.

    Args:
        model: network, simulated time and warm-up.
        tuned: name of the Vegas class.
        lowest: lowest alpha and beta, packets.
        highest: highest alpha and beta, packets.
    """

    model: Model
    tuned: str
    lowest: float
    highest: float

    @property
    def law(self) -> Vegas:
        """The tuned class's congestion control, with alpha and beta of the given network."""
        law = self.model.network.flows[self.tuned].law
        assert isinstance(law, Vegas)
        return law

    def network(self, alpha: float, beta: float) -> Network:
        """A copy of the network in which the tuned class has this alpha and beta, packets."""
        law = replace(self.law, alpha=float(alpha), beta=float(beta))
        return self.model.network.with_law(self.tuned, law)

    def run(self, alpha: float, beta: float) -> Recording:
        """Simulate the network by the fluid model with this alpha and beta, packets.

        The run lasts `model.duration`, has 401 samples, and halves its step once, as the map's do.
        The result is a `Recording` of plain arrays, which is fast to make.
        """
        network = self.network(alpha, beta)
        return record_fluid(network, self.model.duration, DEFAULT_SAMPLES, tolerance=HALVED_ONCE)

    def reading(self, run: Recording, alpha: float, beta: float) -> Reading:
        """Averages of a fluid run after the warm-up: goodputs, queueing delay, utilisation.

        The delay (s) and the utilisation are those of the first link, goodputs those of a flow of
        each class (Mbit/s). The result also has the given `alpha` and `beta` (packets), with which
        the run was made, the goodput ratio, and validity warnings.
        """
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
        """Simulate a grid over alpha and beta as one batch of fluid runs, with fine steps.

        Args:
            points: number of values of alpha, and of beta, from the lowest to the highest.

        Returns:
            The metrics of a sweep, such as `ratio`, over `beta` and `alpha` (packets); NaN where
            beta is below alpha.
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
    """A network with a range of alpha and beta for one of its Vegas classes, after validation.

    Args:
        network: network with a Vegas class and other classes.
        packets: lowest and highest value of both alpha and beta, packets, above 0.
        until: simulated time of each run, s.
        warmup: initial time excluded from averages, s.
        tuned: name of the Vegas class; None: the only one, or the first class if it is one of
            several Vegas classes.

    Raises:
        InvalidInput: if the range is invalid, there is only one class, or the class is not Vegas.
    """
    lowest, highest = map(float, packets)
    if not 0 < lowest < highest:
        raise InvalidInput("explore", "packets", "two numbers above 0, the lower first", packets)
    name = tuned_class(network, tuned)
    if name is None or not isinstance(network.flows[name].law, Vegas):
        known = [key for key, flows in network.flows.items() if isinstance(flows.law, Vegas)]
        allowed = (
            f"a Vegas class that competes with another class ({', '.join(known) or 'none here'})"
        )
        raise InvalidInput("explore", "tuned", allowed, tuned)
    return Plane(Model(network, until, warmup), name, lowest, highest)

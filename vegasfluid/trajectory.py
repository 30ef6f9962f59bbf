"""Trajectories, the results of both simulators: labelled arrays over time, class, flow and link.

A trajectory is an `xarray.Dataset`. Counters start at 0 at the start of the run, so that means over
any interval are differences. Attributes have units, engine, seed, model and version; `to_netcdf`
saves it.

Inside, a run is a `Recording`, the same arrays without labels, from which searches over many runs
compute their measures. xarray is imported when the first trajectory is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vegasfluid.metric_formulas import IntervalTotals, increase_from, interpolation_position
from vegasfluid.network import Network
from vegasfluid.version import package_version

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "CLASS_VARIABLES",
    "CWND_VARIANCE",
    "ENGINES",
    "LINK_VARIABLES",
    "Recording",
    "Variable",
    "class_means",
    "link_names",
    "make_trajectory",
]

ENGINES = {
    "fluid": "fluid model",
    "density": "density model",
    "packets": "packet simulator",
}
"""Names of the engines in words, by the attribute `engine`."""


class Variable(NamedTuple):
    """Meaning and units of a variable of a trajectory, as its attributes state them.

    Args:
        meaning: what it is, in words (attribute `long_name`).
        units: its unit, such as `packets`; `1` for a number without unit.
    """

    meaning: str
    units: str


CLASS_VARIABLES = {
    "cwnd": Variable("congestion window, mean of the class", "packets"),
    "cwnd_spread": Variable("standard deviation of the windows of the class's flows", "packets"),
    "ssthresh": Variable("slow-start threshold, mean of the class", "packets"),
    "rtt": Variable("round-trip time, mean of the class", "s"),
    "delivered": Variable("packets delivered once since the start, mean of the class", "packets"),
    "sent": Variable("packets sent since the start, mean of the class", "packets"),
    "dropped": Variable("packets dropped since the start, mean of the class", "packets"),
    "retransmitted": Variable("packets resent since the start, mean of the class", "packets"),
    "timeouts": Variable("retransmission timeouts since the start, sum of the class", "1"),
    "vegas_unchanged": Variable("round trips that left Vegas's window, mean of the class", "1"),
    "vegas_above_beta": Variable("round trips with Vegas above beta, mean of the class", "1"),
    "vegas_below_alpha": Variable("round trips with Vegas below alpha, mean of the class", "1"),
    "vegas_above_gamma": Variable("slow starts that Vegas ended by gamma, mean of the class", "1"),
    "dctcp_alpha": Variable("DCTCP's estimate of the marked fraction, mean of the class", "1"),
    "vegas_diff": Variable("Vegas's latest estimate of its backlog, mean of the class", "packets"),
}
"""Variables over (time, flow_class). Only packet runs with a class of Vegas have `vegas_...`, only
those with a class of DCTCP `dctcp_alpha`; these variables are 0 for other classes."""

LINK_VARIABLES = {
    "queue": Variable("packets waiting, without the one in transmission", "packets"),
    "avg_queue": Variable("the queue discipline's average of the queue", "packets"),
    "admitted": Variable("packets admitted since the start", "packets"),
    "lost": Variable("packets dropped since the start", "packets"),
    "early": Variable("packets dropped by chance since the start", "packets"),
    "forced": Variable("packets dropped above the range of chance since the start", "packets"),
    "full": Variable("packets dropped at a full buffer since the start", "packets"),
    "marked": Variable("packets marked since the start", "packets"),
    "work": Variable("work admitted since the start, in sizes of a data packet", "packets"),
    "backlog": Variable("work still to be sent, in sizes of a data packet", "packets"),
    "waited": Variable("waiting time of all packets since the start", "packets s"),
    "lost_waited": Variable("waiting time of packets dropped later, since the start", "packets s"),
    "capacity": Variable("packets that the link sends", "packets/s"),
}
"""Variables over (time, link); `capacity` over (link). Not every engine has all of them."""

CWND_VARIANCE = "cwnd_variance"
"""Name in `Recording.flows` of the variance of a flow's window, of the density model."""

REVERSE = "_reverse"
"""Suffix of a link's name for the queue in its other direction."""


class Recording(NamedTuple):
    """A run as plain arrays.

    Args:
        network: the simulated network.
        times: sample times, s; (time,).
        flows: arrays (time, flow), one value for each flow, by names of CLASS_VARIABLES.
        links: arrays (time, link) by names of LINK_VARIABLES; if packets wait in both directions,
            the queues of the other direction follow those of all links.
        error: estimated relative errors of goodput, queue and drops from the solver's steps; None
            if they were not estimated.
        capacity: rate at which each queue is served, packets/s, (link,), in the packet simulator
            that of its clock, which rounds a packet's transmission time to picoseconds; None: the
            links' capacities.
    """

    network: Network
    times: np.ndarray
    flows: Mapping[str, np.ndarray]
    links: Mapping[str, np.ndarray]
    error: tuple[float, float, float] | None = None
    capacity: np.ndarray | None = None

    @property
    def service_rates(self) -> np.ndarray:
        """Rate at which each queue of the run is served, packets/s; (link,)."""
        if self.capacity is not None:
            return self.capacity
        return capacities(self.network, self.links["queue"].shape[1])

    def totals_after(self, warmup: float) -> IntervalTotals:
        """Increase of the run's counters from the end of the warm-up to the end of the run.

        Args:
            warmup: time at the start that is left out, s; counters are interpolated linearly there.

        Returns:
            Totals with all fields, in the shapes and units of `IntervalTotals`. Those of a class
            (`delivered`, `sent`, `retransmitted`) are means over its flows, not sums.
        """
        counts = self.network.counts
        after, weight = interpolation_position(self.times, warmup)

        def increase(values: np.ndarray) -> np.ndarray:
            """Increase of counters (time, ...) from the end of the warm-up to the end; (...)."""
            low, high = values[after - 1].astype(float), values[after].astype(float)
            return increase_from(low, high, values[-1], weight)

        def class_mean(name: str) -> np.ndarray:
            """Increase of counter `name` after the warm-up, mean of each class; (flow_class,)."""
            return class_means(counts, increase(self.flows[name])[np.newaxis])[0]

        counters = ("admitted", "lost", "waited", "lost_waited", "work")
        return IntervalTotals(
            float(self.times[-1]) - warmup,
            count=np.array(counts),
            delivered=class_mean("delivered"),
            sent=class_mean("sent"),
            retransmitted=class_mean("retransmitted"),
            flow_delivered=increase(self.flows["delivered"]),
            capacity=self.service_rates,
            backlog=increase(self.links["backlog"]),
            **{name: increase(self.links[name]) for name in counters if name in self.links},
        )


def capacities(network: Network, columns: int) -> np.ndarray:
    """Capacity of each queue of a trajectory, data packets/s; (link,).

    Args:
        network: the simulated network.
        columns: number of queues: as many as links, or twice as many with reverse directions.
    """
    forward = [float(link.capacity) for link in network.links.values()]
    return np.resize(forward, columns)


def link_names(network: Network, columns: int) -> list[str]:
    """Names of the first `columns` queues: of the links, then these with the suffix `_reverse`."""
    names = list(network.links)
    return (names + [name + REVERSE for name in names])[:columns]


def make_trajectory(
    recording: Recording,
    attributes: Mapping[str, object],
    *,
    bins: np.ndarray | None = None,
    bin_width: float | None = None,
) -> xr.Dataset:
    """Trajectory of a run: labelled arrays with class means, from its arrays by flow.

    Args:
        recording: the run; the trajectory has the class means of its flows.
        attributes: engine, seed, warm-up and other attributes of the run.
        bins: data packets that arrived at each queue in each bin, (bin, link); None: not counted.
        bin_width: width of these bins, s; None without bins.

    Returns:
        Variables over (time, flow_class), (time, link), (time, flow) and (bin, link), with their
        meanings and units as attributes; `timeouts` are summed over a class, the others means.
    """
    import xarray as xr

    network, times, flows, links = recording[:4]
    names = list(network.flows)
    counts, columns = network.counts, links["queue"].shape[1]
    classes = {
        name: class_means(counts, data) for name, data in flows.items() if name != CWND_VARIANCE
    }
    classes["timeouts"] *= counts
    classes["cwnd_spread"] = spread(counts, flows)
    variables = {
        **{name: (("time", "flow_class"), data) for name, data in classes.items()},
        **{name: (("time", "link"), data) for name, data in links.items()},
        "flow_delivered": (("time", "flow"), flows["delivered"]),
        "capacity": (("link",), recording.service_rates),
    }
    data = xr.Dataset(
        variables,
        coords={
            "time": times,
            "flow_class": names,
            "link": link_names(network, columns),
            "count": ("flow_class", counts),
            "control": ("flow_class", [flows.law.name for flows in network.flows.values()]),
            "class_of_flow": ("flow", np.repeat(names, counts)),
        },
        attrs={
            "vegasfluid_version": package_version(),
            "packet_bytes": network.packet_bytes,
            **attributes,
        },
    )
    if bin_width is not None and bins is not None:
        data["arrivals"] = (("bin", "link"), bins)
        data = data.assign_coords(bin=np.arange(len(bins)) * bin_width)
    return describe(data)


def spread(counts: Sequence[int], flows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Standard deviation of the windows of the flows of each class, packets; (time, flow_class).

    Args:
        counts: number of flows of each class.
        flows: arrays (time, flow) by name: `cwnd` (packets), and with the density model
            `cwnd_variance` (packets^2), the variance of each flow's own window, which is added.
    """
    cwnd = flows["cwnd"].astype(float)
    squares = class_means(counts, cwnd**2 + flows.get(CWND_VARIANCE, 0.0))
    return np.sqrt(np.maximum(squares - class_means(counts, cwnd) ** 2, 0.0))


def class_means(counts: Sequence[int], values: np.ndarray) -> np.ndarray:
    """Means of `values` (time, flow) over the flows of each class; (time, flow_class).

    The flows are in the order of classes, of which `counts` gives the numbers of flows.
    """
    starts = np.cumsum([0, *counts[:-1]])
    return np.add.reduceat(values, starts, axis=1) / counts


def describe(data: xr.Dataset) -> xr.Dataset:
    """Write meaning (`long_name`) and unit (`units`) into the attributes of every variable.

    Returns:
        The trajectory `data`, changed in place.
    """
    known = CLASS_VARIABLES | LINK_VARIABLES
    known["flow_delivered"] = Variable("packets delivered once since the start", "packets")
    known["time"] = Variable("simulated time", "s")
    known["bin"] = Variable("start of a bin", "s")
    known["arrivals"] = Variable("data packets that arrived in the bin", "packets")
    for name, variable in known.items():
        if name in data.variables:
            data[name].attrs.update(long_name=variable.meaning, units=variable.units)
    return data

"""Metrics of a run, from its trajectory (the formulas are in `vegasfluid.metric_formulas`).

Every measure is a mean over the time after the warm-up, which is the trajectory's own unless one
is given. Rates and fractions come from differences of counters, not from averaging samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vegasfluid.errors import InvalidInput, Words
from vegasfluid.metric_formulas import IntervalTotals, increase_from, interpolation_position
from vegasfluid.network import Network
from vegasfluid.quantities import mbps

if TYPE_CHECKING:
    import xarray as xr

    from vegasfluid.burstiness import Estimate

__all__ = [
    "cov",
    "drop_share",
    "goodput",
    "goodput_ratio",
    "hurst",
    "interval_totals",
    "jain_index",
    "mean_queue",
    "queueing_delay",
    "retransmit_share",
    "share",
    "summarise",
    "time_mean",
    "timeouts",
    "utilisation",
]

CONSTANTS = ("count", "capacity")
"""Variables of a trajectory that do not change in time."""


def _interval(data: xr.Dataset, warmup: float | None) -> tuple[float, float]:
    """Start (end of the warm-up) and end of the time over which a run is averaged, s.

    The start is `warmup`, or the warm-up of the run where that is None.
    """
    start = float(data.attrs["warmup"] if warmup is None else warmup)
    return start, float(data["time"].values[-1])


def _increase(data: xr.Dataset, name: str, warmup: float | None) -> xr.DataArray:
    """Increase of the counter `name` of a trajectory from the warm-up (s) to the end of the run.

    It has the counter's unit and dimensions, without `time`.
    """
    start, _ = _interval(data, warmup)
    after, weight = interpolation_position(data["time"].values, start)
    low, high, last = (data[name].isel(time=i, drop=True) for i in (after - 1, after, -1))
    return increase_from(low, high, last, weight)


def interval_totals(data: xr.Dataset, warmup: float | None, *counters: str) -> IntervalTotals:
    """Increase of counters of a trajectory from the end of the warm-up to the end of the run.

    Args:
        data: a trajectory.
        warmup: time at the start that is left out, s; None: the warm-up of the run.
        counters: names of fields of `IntervalTotals`, which are variables of the trajectory.

    Returns:
        Totals whose fields `counters` are labelled arrays; the others but `seconds` are None.
    """
    start, end = _interval(data, warmup)
    totals = {
        name: data[name] if name in CONSTANTS else _increase(data, name, warmup)
        for name in counters
    }
    return IntervalTotals(end - start, **totals)


def goodput(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Goodput of a flow after the warm-up: packets delivered without repetitions, per second.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        Mean over the flows of each class, packets/s; (flow_class,).
    """
    return interval_totals(data, warmup, "delivered").goodput


def time_mean(data: xr.Dataset, name: str, warmup: float | None = None) -> xr.DataArray:
    """Mean of a sampled variable over all sample times from the end of the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        name: a variable with the dimension `time` that is not a counter: `cwnd`, `rtt`, `queue`.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The mean in the unit of the variable (packets; s for `rtt`); (flow_class,), for variables
        of links (link,).
    """
    start, end = _interval(data, warmup)
    return data[name].sel(time=slice(start, end)).mean("time")


def share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Fraction of the goodput of all flows that each class gets after the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The fractions, 0 to 1, with the sum 1; (flow_class,). NaN if nothing was delivered.
    """
    return interval_totals(data, warmup, "delivered", "count").share


def goodput_ratio(data: xr.Dataset, flow_class: str, warmup: float | None = None) -> float:
    """Mean goodput of a flow of one class divided by that of a flow of the other classes.

    Args:
        data: trajectory of a run, from any of the simulators.
        flow_class: name of the class in the numerator; the denominator is the mean over all
            flows of the other classes.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The ratio; infinite where the other flows delivered nothing, NaN where no flow did.

    Raises:
        InvalidInput: for an unknown class.
    """
    names = [str(name) for name in data["flow_class"].values]
    if flow_class not in names:
        allowed = "one of " + ", ".join(names)
        raise InvalidInput("metrics.goodput_ratio", "flow_class", allowed, flow_class)
    totals = interval_totals(data, warmup, "delivered", "count")
    return totals.goodput_ratio(names.index(flow_class))


def jain_index(data: xr.Dataset, warmup: float | None = None) -> float:
    """Jain's index of the goodputs x of all n flows after the warm-up, (sum x)^2 / (n sum x^2).

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        From 1/n, if one flow has everything, to 1, if all are equal; 1 without any delivery.
    """
    return interval_totals(data, warmup, "flow_delivered").jain_index


def utilisation(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Fraction of its capacity that each link used after the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The fraction, 0 to 1; (link,).
    """
    return interval_totals(data, warmup, "work", "backlog", "capacity").utilisation


def mean_queue(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Packets waiting at each link, mean over the time after the warm-up.

    It is the sum of all waiting times divided by the time (Little's law).

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The mean queue without the packet in transmission, packets; (link,).
    """
    return interval_totals(data, warmup, "waited").mean_queue


def queueing_delay(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Waiting time of a packet at each link, mean over the packets admitted after the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The mean, s; (link,). 0 for a link without packets.
    """
    counters = [name for name in ("waited", "lost_waited", "admitted") if name in data]
    return interval_totals(data, warmup, *counters).queueing_delay


def drop_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Fraction of the packets arriving at each link that it drops after the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The fraction, 0 to 1; (link,). 0 for a link without packets.
    """
    return interval_totals(data, warmup, "lost", "admitted").drop_share


def retransmit_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Fraction of the packets sent after the warm-up that were retransmissions.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The fraction in each class, 0 to 1; (flow_class,). 0 for a class that sent nothing.
    """
    return interval_totals(data, warmup, "retransmitted", "sent").retransmit_share


def timeouts(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Number of retransmission timeouts after the warm-up.

    Args:
        data: trajectory of a run, from any of the simulators.
        warmup: time at the start that is left out, s; None: the warm-up of the run.

    Returns:
        The sum over all flows of each class; (flow_class,). Not always whole: counters are
        interpolated at the warm-up, and fluid models have mean numbers.
    """
    return _increase(data, "timeouts", warmup)


def arrivals_of(data: xr.Dataset, link: str | None, warmup: float | None) -> xr.DataArray:
    """Number of data packets that arrived at a link in each bin after the warm-up.

    Args:
        data: a trajectory of a run with `bin_width`.
        link: its name; None: the only link, an error if there are several.
        warmup: bins that begin before this time (s) are left out; None: the warm-up of the run.

    Returns:
        The counts; (bin,), labelled by the start of each bin, s.

    Raises:
        InvalidInput: for a run without bins, or a link that the network does not have.
    """
    if "arrivals" not in data:
        raise InvalidInput(
            "metrics", "run", "simulated with bin_width", Words("simulated without it")
        )
    links = [str(name) for name in data["link"].values]
    chosen = links[0] if link is None and len(links) == 1 else link
    if chosen not in links:
        raise InvalidInput("metrics", "link", f"one of {', '.join(links)}", chosen)
    begin = float(data.attrs["warmup"] if warmup is None else warmup)
    arrived = data["arrivals"].isel(link=links.index(chosen))
    return arrived.isel(bin=arrived["bin"].values >= begin)


def cov(data: xr.Dataset, link: str | None = None, warmup: float | None = None) -> Estimate:
    """Coefficient of variation (standard deviation / mean) of packet arrivals at a link per bin.

    Args:
        data: a trajectory of a run with `bin_width`.
        link: its name; None: the only link, an error if there are several.
        warmup: bins that begin before this time (s) are left out; None: the warm-up of the run.

    Returns:
        Estimate `value` and ends `low` and `high` of its 95 % confidence interval, without unit.

    Raises:
        InvalidInput: for a run without bins, or a link that the network does not have.

    >>> import numpy as np
    >>> import xarray as xr
    >>> counts = np.random.default_rng(2).poisson(4.0, (4096, 1))
    >>> data = xr.Dataset(
    ...     {"arrivals": (("bin", "link"), counts)},
    ...     coords={"bin": 0.1 * np.arange(4096), "link": ["bottleneck"]},
    ...     attrs={"warmup": 20.0},
    ... )
    >>> value, low, high = cov(data)
    >>> low < 1 / 4**0.5 < high
    True
    """
    from vegasfluid import burstiness

    return burstiness.cov(arrivals_of(data, link, warmup).values)


def hurst(
    data: xr.Dataset,
    method: str = "local_whittle",
    link: str | None = None,
    warmup: float | None = None,
) -> Estimate:
    """Hurst exponent of the number of packets that arrive at a link in consecutive bins.

    Args:
        data: a trajectory of a run with `bin_width`.
        method: estimator: `rescaled_range`, `variance_time`, `wavelet` or `local_whittle`.
        link: its name; None: the only link, an error if there are several.
        warmup: bins that begin before this time (s) are left out; None: the warm-up of the run.

    Returns:
        Estimate `value` and ends `low` and `high` of its 95 % confidence interval, without unit.

    Raises:
        InvalidInput: for a run without bins, or an unknown link or method.

    >>> import numpy as np
    >>> import xarray as xr
    >>> counts = np.random.default_rng(2).poisson(4.0, (4096, 1))
    >>> data = xr.Dataset(
    ...     {"arrivals": (("bin", "link"), counts)},
    ...     coords={"bin": 0.1 * np.arange(4096), "link": ["bottleneck"]},
    ...     attrs={"warmup": 20.0},
    ... )
    >>> value, low, high = hurst(data)
    >>> low < 0.5 < high
    True
    """
    from vegasfluid import burstiness

    return burstiness.hurst(arrivals_of(data, link, warmup).values, method)


def summarise(run: xr.Dataset, network: Network) -> dict[str, Any]:
    """Measures of each class and each link after the warm-up of the run, as in the JSON output.

    Args:
        run: a trajectory.
        network: the simulated network; its packet size converts packets/s to Mbit/s.

    Returns:
        A dictionary. `classes` has by name `count`, per flow `goodput_packets_per_s`,
        `goodput_mbps`, `cwnd_packets`, `rtt_s`, `retransmit_share`, and `timeouts` of all flows.
        `links` has by name `utilisation`, `queue_packets`, `queueing_delay_s`, `drop_share`.
        `jain_index` is that of all flows.
    """
    one_mbps = mbps(1.0, network.packet_bytes)
    columns = {
        "goodput_packets_per_s": goodput(run),
        "cwnd_packets": time_mean(run, "cwnd"),
        "rtt_s": time_mean(run, "rtt"),
        "retransmit_share": retransmit_share(run),
        "timeouts": timeouts(run),
    }
    rows = {
        "utilisation": utilisation(run),
        "queue_packets": mean_queue(run),
        "queueing_delay_s": queueing_delay(run),
        "drop_share": drop_share(run),
    }
    classes = {}
    for i, name in enumerate(run["flow_class"].values):
        values = {key: float(column[i]) for key, column in columns.items()}
        values["goodput_mbps"] = values["goodput_packets_per_s"] / one_mbps
        classes[str(name)] = {"count": int(run["count"][i]), **values}
    links = {
        str(name): {key: float(row[i]) for key, row in rows.items()}
        for i, name in enumerate(run["link"].values)
    }
    return {"classes": classes, "links": links, "jain_index": jain_index(run)}

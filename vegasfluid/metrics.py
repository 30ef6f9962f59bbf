"""From a trajectory to numbers.

Every metric is a mean over the time after the warm-up, which is the trajectory's own unless one
is given. Rates and shares come from differences of counters, not from averaging samples; the
formulas are those of `vegasfluid.growth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vegasfluid.errors import InvalidInput
from vegasfluid.growth import Growth, place_in

if TYPE_CHECKING:
    import xarray as xr

    from vegasfluid.burstiness import Estimate

__all__ = [
    "cov",
    "drop_share",
    "goodput",
    "growth",
    "hurst",
    "jain_index",
    "mean_queue",
    "queueing_delay",
    "ratio",
    "retransmit_share",
    "share",
    "time_mean",
    "timeouts",
    "utilisation",
]


def _window(data: xr.Dataset, warmup: float | None) -> tuple[float, float]:
    """The measured part of the run, s."""
    begin = float(data.attrs["warmup"] if warmup is None else warmup)
    return begin, float(data["time"].values[-1])


def _gained(data: xr.Dataset, name: str, warmup: float | None) -> xr.DataArray:
    """How much a counter grew after the warm-up, linear between its samples."""
    begin, end = _window(data, warmup)
    return value_at(data[name], end) - value_at(data[name], begin)


def value_at(counter: xr.DataArray, time: float) -> xr.DataArray:
    """A counter at any time, linear between its samples."""
    after, part = place_in(counter["time"].values, time)
    low, high = (counter.isel(time=i, drop=True) for i in (after - 1, after))
    return low + part * (high - low)


VARIABLES = {"of_flows": "flow_delivered", "queued": "backlog"}
"""Counters whose names differ from those of the trajectory's variables."""
CONSTANTS = ("count", "capacity")


def growth(data: xr.Dataset, warmup: float | None, *counters: str) -> Growth:
    """What counters of a trajectory gained after the warm-up, as labelled arrays.

    Args:
        data: a trajectory.
        warmup: what to leave out, s; None: the trajectory's own.
        counters: names of fields of `Growth`.
    """
    begin, end = _window(data, warmup)
    gained = {
        name: data[name] if name in CONSTANTS else _gained(data, VARIABLES.get(name, name), warmup)
        for name in counters
    }
    return Growth(end - begin, **gained)


def goodput(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Packets a second delivered once, mean of a flow of each class; (flow_class,)."""
    return growth(data, warmup, "delivered").goodput


def time_mean(data: xr.Dataset, name: str, warmup: float | None = None) -> xr.DataArray:
    """Mean of the samples of a variable after the warm-up, such as `cwnd`; (flow_class,)."""
    begin, end = _window(data, warmup)
    return data[name].sel(time=slice(begin, end)).mean("time")


def share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of all goodput that each class has; (flow_class,)."""
    return growth(data, warmup, "delivered", "count").share


def ratio(data: xr.Dataset, of: str, warmup: float | None = None) -> float:
    """Goodput of a flow of class `of` over that of a flow of the other classes.

    Args:
        data: a trajectory.
        of: the class in the numerator; all flows of the other classes make the denominator.
        warmup: what to leave out, s; None: the trajectory's own.

    Returns:
        The ratio; infinite where the other flows delivered nothing, NaN where no flow did.

    Raises:
        InvalidInput: for a name that no class has.
    """
    names = [str(name) for name in data["flow_class"].values]
    if of not in names:
        raise InvalidInput("metrics.ratio", "of", "one of " + ", ".join(names), of)
    return growth(data, warmup, "delivered", "count").ratio(names.index(of))


def jain_index(data: xr.Dataset, warmup: float | None = None) -> float:
    """Jain's fairness index over all flows: (sum x)^2 / (n sum x^2)."""
    return growth(data, warmup, "of_flows").jain_index


def utilisation(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of each link's capacity that was sent; (link,)."""
    return growth(data, warmup, "work", "queued", "capacity").utilisation


def mean_queue(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Packets waiting, mean over time (Little's law on the waiting times); (link,)."""
    return growth(data, warmup, "waited").mean_queue


def queueing_delay(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Waiting time of a packet, s; (link,)."""
    return growth(data, warmup, "waited", "admitted").queueing_delay


def drop_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of arriving packets that each link dropped; (link,)."""
    return growth(data, warmup, "lost", "admitted").drop_share


def retransmit_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of sent packets that was sent again; (flow_class,)."""
    return growth(data, warmup, "retransmitted", "sent").retransmit_share


def timeouts(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Retransmission timeouts of each class; (flow_class,)."""
    return _gained(data, "timeouts", warmup)


def arrivals_of(data: xr.Dataset, link: str | None, warmup: float | None) -> xr.DataArray:
    """Packets that arrived at a link in each bin that begins after the warm-up; (bin,)."""
    if "arrivals" not in data:
        needed = "in the trajectory: run simulate_packets(..., bin=...)"
        raise InvalidInput("trajectory", "arrivals", needed, None)
    links = [str(name) for name in data["link"].values]
    chosen = links[0] if link is None and len(links) == 1 else link
    if chosen not in links:
        raise InvalidInput("arrivals", "link", f"one of {', '.join(links)}", chosen)
    begin = float(data.attrs["warmup"] if warmup is None else warmup)
    arrived = data["arrivals"].isel(link=links.index(chosen))
    return arrived.isel(bin=arrived["bin"].values >= begin)


def cov(data: xr.Dataset, link: str | None = None, warmup: float | None = None) -> Estimate:
    """Coefficient of variation of the packets that arrive at a link in a bin.

    Args:
        data: a trajectory of a run with bins.
        link: a name; None: the only link.
        warmup: what to leave out, s; None: the trajectory's own. Bins that begin before it are.

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
    """Hurst exponent of the packets that arrive at a link in consecutive bins.

    Args:
        data: a trajectory of a run with bins.
        method: a name in `vegasfluid.burstiness.METHODS`.
        link: a name; None: the only link.
        warmup: what to leave out, s; None: the trajectory's own. Bins that begin before it are.

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

"""From a trajectory to numbers.

Every metric is a mean over the time after the warm-up, which is the trajectory's own unless one
is given. Rates and shares come from differences of counters, not from averaging samples.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

__all__ = [
    "drop_share",
    "goodput",
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


def value_at(counter: xr.DataArray, time: float) -> xr.DataArray:
    """A counter at any time, linear between its samples."""
    times = counter["time"].values
    after = int(np.clip(np.searchsorted(times, time), 1, times.size - 1))
    part = (time - times[after - 1]) / (times[after] - times[after - 1])
    low, high = (counter.isel(time=i, drop=True) for i in (after - 1, after))
    return low + part * (high - low)


def _growth(data: xr.Dataset, name: str, warmup: float | None) -> xr.DataArray:
    begin, end = _window(data, warmup)
    return value_at(data[name], end) - value_at(data[name], begin)


def _seconds(data: xr.Dataset, warmup: float | None) -> float:
    begin, end = _window(data, warmup)
    return end - begin


def goodput(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Packets a second delivered once, mean of a flow of each class; (flow_class,)."""
    return _growth(data, "delivered", warmup) / _seconds(data, warmup)


def time_mean(data: xr.Dataset, name: str, warmup: float | None = None) -> xr.DataArray:
    """Mean of the samples of a variable after the warm-up, such as `cwnd`; (flow_class,)."""
    begin, end = _window(data, warmup)
    return data[name].sel(time=slice(begin, end)).mean("time")


def share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of all goodput that each class has; (flow_class,)."""
    total = goodput(data, warmup) * data["count"]
    return total / total.sum()


def ratio(data: xr.Dataset, of: str, warmup: float | None = None) -> float:
    """Goodput of a flow of class `of` over that of a flow of the other classes.

    Args:
        data: a trajectory.
        of: the class in the numerator; all flows of the other classes make the denominator.
        warmup: what to leave out, s; None: the trajectory's own.

    Returns:
        The ratio; infinite where the other flows delivered nothing, NaN where no flow did.
    """
    rates = goodput(data, warmup)
    others = rates.flow_class != of
    counts = data["count"].where(others, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(rates.sel(flow_class=of) / ((rates * counts).sum() / counts.sum()))


def jain_index(data: xr.Dataset, warmup: float | None = None) -> float:
    """Jain's fairness index over all flows: (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe 1984)."""
    rates = _growth(data, "flow_delivered", warmup).values
    squares = float(np.sum(rates**2))
    return float(np.sum(rates)) ** 2 / (rates.size * squares) if squares else 1.0


def utilisation(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of each link's capacity that was sent; (link,)."""
    sent = _growth(data, "admitted", warmup) - _growth(data, "queue", warmup)
    return sent / (data["capacity"] * _seconds(data, warmup))


def mean_queue(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Packets waiting, mean over time (Little's law on the waiting times); (link,)."""
    return _growth(data, "waited", warmup) / _seconds(data, warmup)


def queueing_delay(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Waiting time of a packet, s; (link,)."""
    admitted = _growth(data, "admitted", warmup)
    return _growth(data, "waited", warmup) / admitted.where(admitted > 0, 1.0)


def drop_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of arriving packets that each link dropped; (link,)."""
    lost, admitted = _growth(data, "lost", warmup), _growth(data, "admitted", warmup)
    arrived = lost + admitted
    return lost / arrived.where(arrived > 0, 1.0)


def retransmit_share(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """The part of sent packets that was sent again; (flow_class,)."""
    sent = _growth(data, "sent", warmup)
    return _growth(data, "retransmitted", warmup) / sent.where(sent > 0, 1.0)


def timeouts(data: xr.Dataset, warmup: float | None = None) -> xr.DataArray:
    """Retransmission timeouts of each class; (flow_class,)."""
    return _growth(data, "timeouts", warmup)

"""Metrics of hand-made trajectories whose numbers are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vegasfluid import burstiness, metrics
from vegasfluid.errors import InvalidInput
from vegasfluid.metric_formulas import increase_from

COUNTS = {"a": 3, "b": 1, "c": 2}
RATES = {"a": 10.0, "b": 40.0, "c": 20.0}
"""Packets/s of a flow of each class from 1 s on; in the first second come 7 packets more."""
TIMES = np.array([0.0, 1.0, 3.0, 4.0, 6.0])


@pytest.fixture
def run() -> xr.Dataset:
    """Three classes over one link of 100 packets/s; every counter is a line from 1 s on."""
    names = list(COUNTS)
    counts = np.array(list(COUNTS.values()))
    rates = np.array(list(RATES.values()))
    delivered = np.where(TIMES[:, None] == 0, 0.0, TIMES[:, None] * rates + 7.0)
    line = np.where(TIMES == 0, 0.0, 1.0)
    return xr.Dataset(
        {
            "cwnd": (("time", "flow_class"), TIMES[:, None] * np.ones(3) + [0, 10, 20]),
            "delivered": (("time", "flow_class"), delivered),
            "sent": (("time", "flow_class"), delivered * 1.25),
            "retransmitted": (("time", "flow_class"), delivered * 0.125),
            "timeouts": (("time", "flow_class"), TIMES[:, None] * [0.0, 1.0, 2.0]),
            "queue": (("time", "link"), (6.0 - TIMES)[:, None]),
            "admitted": (("time", "link"), (line * (90.0 * TIMES + 5))[:, None]),
            "lost": (("time", "link"), (line * (10.0 * TIMES + 3))[:, None]),
            "waited": (("time", "link"), (line * (45.0 * TIMES + 1))[:, None]),
            "work": (("time", "link"), (line * (80.0 * TIMES + 5))[:, None]),
            "backlog": (("time", "link"), (6.5 - TIMES)[:, None]),
            "flow_delivered": (("time", "flow"), np.repeat(delivered, counts, axis=1)),
            "capacity": (("link",), [100.0]),
        },
        coords={
            "time": TIMES,
            "flow_class": names,
            "link": ["one"],
            "count": ("flow_class", counts),
        },
        attrs={"warmup": 2.0},
    )


def test_goodput_from_a_warm_up_between_samples(run):
    """From 2 s, between the samples at 1 and 3 s, rates are constant; before 1 s they are not."""
    np.testing.assert_allclose(metrics.goodput(run), [10, 40, 20])
    np.testing.assert_allclose(metrics.goodput(run, warmup=4.0), [10, 40, 20])
    np.testing.assert_allclose(
        metrics.goodput(run, warmup=0.0), (6 * np.array([10, 40, 20]) + 7) / 6
    )
    half = (np.array([10, 40, 20]) + 7) / 2  # of what came in the first second
    late = 6 * np.array([10, 40, 20]) + 7
    np.testing.assert_allclose(metrics.goodput(run, warmup=0.5), (late - half) / 5.5)


def test_counter_between_samples_is_on_the_line(run):
    starts = (0.0, 0.5, 1.0, 2.0, 6.0)
    totals = [metrics.interval_totals(run, start, "delivered").delivered for start in starts]
    assert [float(total[0]) for total in totals] == [67.0, 58.5, 50.0, 40.0, 0.0]


def test_a_counter_that_never_decreases_has_no_negative_increase():
    """From any time: for 1000 random counters, most of which stand still until the end."""
    random = np.random.default_rng(38)
    low = random.uniform(0.0, 1e6, 1000)
    high = low + random.uniform(0.0, 10.0, 1000)
    last = high + (random.random(1000) < 0.1)
    increases = [increase_from(low, high, last, w) for w in (0.0, 0.3, 1 - 1e-16, 1.0)]
    assert np.min(increases) == 0.0
    lines = last - (0.7 * low + 0.3 * high)
    np.testing.assert_allclose(increases[1], lines, rtol=0.0, atol=1e-9)


def test_share_counts_every_flow(run):
    np.testing.assert_allclose(metrics.share(run), [30 / 110, 40 / 110, 40 / 110])


@pytest.mark.parametrize(
    ("flow_class", "other"),
    [("a", (40 + 2 * 20) / 3), ("b", (3 * 10 + 2 * 20) / 5), ("c", (3 * 10 + 40) / 4)],
)
def test_ratio_is_over_the_mean_of_all_other_flows(run, flow_class, other):
    assert metrics.goodput_ratio(run, flow_class) == pytest.approx(RATES[flow_class] / other)


def test_jain_index(run):
    flows = np.array([10, 10, 10, 40, 20, 20])
    assert metrics.jain_index(run) == pytest.approx(110**2 / (6 * (flows**2).sum()))


def flows_only(rates: list[float]) -> xr.Dataset:
    times = np.array([0.0, 5.0, 10.0])
    data = {"flow_delivered": (("time", "flow"), times[:, None] * rates)}
    return xr.Dataset(data, coords={"time": times}, attrs={"warmup": 5.0})


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_extremes_of_the_jain_index(n):
    assert metrics.jain_index(flows_only([3.0] * n)) == pytest.approx(1.0)
    assert metrics.jain_index(flows_only([3.0] + [0.0] * (n - 1))) == pytest.approx(1 / n)
    assert metrics.jain_index(flows_only([0.0] * n)) == 1.0


def test_jain_index_of_k_equal_flows_among_n():
    """Jain, Chiu and Hawe: k of n flows that share equally give k/n."""
    assert metrics.jain_index(flows_only([2.0] * 3 + [0.0] * 9)) == pytest.approx(3 / 12)


def test_utilisation_is_the_work_that_was_done(run):
    """Work of 80 packets/s arrives, and the work to be sent falls by 1 packet/s: 81 of 100."""
    assert float(metrics.utilisation(run)[0]) == pytest.approx(0.81)


def test_queue_and_delay_by_littles_law(run):
    """45 packet seconds of waiting a second: 45 packets wait, and 90 of them half a second each."""
    assert float(metrics.mean_queue(run)[0]) == pytest.approx(45)
    assert float(metrics.queueing_delay(run)[0]) == pytest.approx(0.5)


def test_shares_of_packets(run):
    assert float(metrics.drop_share(run)[0]) == pytest.approx(10 / 100)
    np.testing.assert_allclose(metrics.retransmit_share(run), 0.1)


def test_timeouts_after_the_warm_up(run):
    np.testing.assert_allclose(metrics.timeouts(run), [0, 4, 8])


def test_time_mean_of_samples_after_the_warm_up(run):
    """The samples at 3, 4 and 6 s."""
    np.testing.assert_allclose(metrics.time_mean(run, "cwnd"), np.array([0, 10, 20]) + 13 / 3)


def test_an_idle_network_has_numbers():
    """Nothing sent, nothing dropped: shares are zero and nothing is divided by zero."""
    times = np.array([0.0, 1.0, 2.0])
    none = np.zeros((3, 1))
    data = xr.Dataset(
        {
            "sent": (("time", "flow_class"), none),
            "retransmitted": (("time", "flow_class"), none),
            "admitted": (("time", "link"), none),
            "lost": (("time", "link"), none),
            "waited": (("time", "link"), none),
        },
        coords={"time": times},
        attrs={"warmup": 1.0},
    )
    assert float(metrics.retransmit_share(data)[0]) == 0.0
    assert float(metrics.drop_share(data)[0]) == 0.0
    assert float(metrics.queueing_delay(data)[0]) == 0.0


def test_saved_and_read_again_gives_the_same_numbers(run, tmp_path):
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "run.nc") as saved:
        xr.testing.assert_identical(saved.load(), run)
        assert metrics.goodput_ratio(saved, "b") == metrics.goodput_ratio(run, "b")
        assert metrics.jain_index(saved) == metrics.jain_index(run)


BIN = 0.5
STARTS = 10.0 + BIN * np.arange(4500)
"""Starts of the bins, s."""
WARMUP = 210.0
"""The start of bin 400."""


@pytest.fixture
def binned() -> xr.Dataset:
    """Two links: many bursts before the warm-up, independent counts of mean 4 and 9 after it."""
    counts = np.random.default_rng(8).poisson([4.0, 9.0], (STARTS.size, 2))
    counts[STARTS < WARMUP] *= 100
    return xr.Dataset(
        {"arrivals": (("bin", "link"), counts)},
        coords={"bin": STARTS, "link": ["one", "two"]},
        attrs={"warmup": WARMUP},
    )


@pytest.mark.parametrize(("link", "mean"), [("one", 4.0), ("two", 9.0)])
def test_burstiness_of_the_bins_after_the_warm_up(binned, link, mean):
    after = binned["arrivals"].sel(link=link).values[400:]
    assert metrics.cov(binned, link) == burstiness.cov(after)
    assert metrics.cov(binned, link).value == pytest.approx(mean**-0.5, rel=0.05)
    for method in burstiness.METHODS:
        assert metrics.hurst(binned, method, link) == burstiness.hurst(after, method)


def test_bins_that_begin_before_the_warm_up_are_left_out(binned):
    after = binned["arrivals"].sel(link="one").values
    inside = STARTS[500] + 0.1 * BIN
    assert metrics.cov(binned, "one", warmup=inside) == burstiness.cov(after[501:])
    assert metrics.hurst(binned, link="one", warmup=inside) == burstiness.hurst(after[501:])
    assert metrics.cov(binned, "one", warmup=0.0) == burstiness.cov(after)


def test_the_only_link_needs_no_name(binned):
    only = binned.isel(link=[1])
    assert metrics.cov(only) == metrics.cov(binned, "two")
    assert metrics.hurst(only) == metrics.hurst(binned, link="two")


@pytest.mark.parametrize("link", [None, "three"])
def test_of_several_links_one_must_be_named(binned, link):
    with pytest.raises(InvalidInput, match="metrics: link must be one of one, two"):
        metrics.cov(binned, link)
    with pytest.raises(InvalidInput, match="metrics: link must be one of one, two"):
        metrics.hurst(binned, link=link)


@pytest.mark.parametrize("metric", [metrics.cov, metrics.hurst])
def test_a_run_without_bins_is_rejected(run, metric):
    with pytest.raises(InvalidInput, match="simulated with bin_width"):
        metric(run)


def test_a_run_with_too_few_bins_after_the_warm_up_is_rejected(binned):
    with pytest.raises(InvalidInput, match="number of counts must be at least 128, but is 0"):
        metrics.cov(binned, "one", warmup=1e9)

"""Recommendations where flows cross several links: a parking lot."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from tests.networks import office
from tests.tuning.offices import TIMES
from vegasfluid import (
    DropTail,
    Flows,
    InvalidInput,
    Link,
    Network,
    Red,
    Reno,
    UniformStart,
    Vegas,
    metrics,
    recommend,
    simulate_packets,
)
from vegasfluid.packet import record_packets
from vegasfluid.tuning import explain
from vegasfluid.tuning.initial_guess import guess_alpha
from vegasfluid.tuning.measurement import measure, summary

RED = Red(min_thresh=20, max_thresh=80)
LINKS = {"one": Link(1000.0, 120, RED), "two": Link(800.0, 120, RED), "tail": Link(5e3, 50)}


def flows(count: int, law, path) -> Flows:
    return Flows(count, law, base_rtt=0.06, start=UniformStart(0.5), path=path)


PARKING_LOT = Network(
    LINKS,
    {
        "reno": flows(4, Reno(), ("one", "two", "tail")),
        "vegas": flows(4, Vegas(), ("one", "two")),
        "cross": flows(2, Reno(), ("two",)),
    },
)


def test_what_a_class_crosses():
    assert PARKING_LOT.queue_indices("vegas")[0] == [0, 1]
    assert PARKING_LOT.queue_indices("cross")[0] == [1]
    assert PARKING_LOT.flow_count("two") == 10
    assert PARKING_LOT.flow_count("tail") == 4
    assert PARKING_LOT.fair_share() == 80.0


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_summary_is_of_the_path_of_the_tuned_class():
    """Against `metrics`, link by link."""
    run = simulate_packets(PARKING_LOT, seed=1, **TIMES)
    numbers = measure(PARKING_LOT, "vegas", (1,), **TIMES).means()
    links = ["one", "two"]
    delays, drops, used = (
        metric(run).sel(link=links).values
        for metric in (metrics.queueing_delay, metrics.drop_share, metrics.utilisation)
    )
    assert numbers["queueing_delay_s"] == pytest.approx(delays.sum())
    assert numbers["drop_share"] == pytest.approx(1 - np.prod(1 - drops))
    assert numbers["utilisation"] == pytest.approx(used.max())


def test_the_search_begins_with_a_part_of_each_queue():
    """Half of what is between nothing and RED's middle, 50 packets, by 8 and by 10 flows."""
    assert guess_alpha(PARKING_LOT, "vegas", 2.0).alpha == pytest.approx(2 * (50 / 8 + 50 / 10))


@pytest.fixture
@cache
def result():
    return recommend(PARKING_LOT, **TIMES, runs=6)


@pytest.mark.slow
def test_a_recommendation_on_fresh_runs(result):
    assert result.reached
    logs = []
    for seed in range(101, 109):
        goodput = metrics.goodput(simulate_packets(result.network, seed=seed, **TIMES))
        others = (4 * goodput.sel(flow_class="reno") + 2 * goodput.sel(flow_class="cross")) / 6
        logs.append(math.log(goodput.sel(flow_class="vegas") / others))
    assert np.mean(logs) == pytest.approx(0.0, abs=0.08)


@pytest.mark.slow
def test_rules_of_one_queue_do_not_apply(result):
    why = explain(result, until=20.0, runs=2).as_json()
    assert why["theory_missing"]
    assert set(why["rules_of_thumb_missing"].values()) == {"there is no single queue"}
    assert why["defaults"]["ratio"] < result.after.packets.ratio


def test_one_queue_is_tuned_at_a_time():
    with pytest.raises(InvalidInput, match="links must be a single link"):
        recommend(PARKING_LOT, tune_queue=True, **TIMES)


def test_drop_tail_links_have_a_part_in_the_beginning():
    links = {"one": Link(1000.0, 100, DropTail()), "two": Link(900.0, 60, DropTail())}
    both = {name: flows(5, law, ("one", "two")) for name, law in (("v", Vegas()), ("r", Reno()))}
    assert guess_alpha(Network(links, both), "v", 1.0).alpha == pytest.approx(50 / 10 + 30 / 10)


def test_of_one_link_nothing_is_changed():
    """The link's own numbers, by IntervalTotals's."""
    run = record_packets(office(), np.array([0.0, 5.0, 20.0]), 1)
    gained, result = run.totals_after(5.0), summary(run, "vegas", 5.0)
    assert result["drop_share"] == float(gained.drop_share[0])
    assert result["queue_packets"] == float(gained.mean_queue[0])

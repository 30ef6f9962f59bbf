"""Weigle and Feng 2001: networks and traffic against the paper's tables, worked by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import vegasfluid as vf
from paper_repro.claims import load_paper
from paper_repro.weigle_feng_2001 import adoption, figure3, figure4, heuristics, run, search
from paper_repro.weigle_feng_2001.arrivals import GAPS, over_critical_values, starts
from paper_repro.weigle_feng_2001.bars import against, crossover
from paper_repro.weigle_feng_2001.counts import Totals, totals
from paper_repro.weigle_feng_2001.networks import (
    MODELS,
    both_ways,
    law_of,
    read_as_round_trips,
    table_1,
    with_laws,
    with_pair,
)
from paper_repro.weigle_feng_2001.open_questions import half_and_half
from paper_repro.weigle_feng_2001.persistent import over_one_connection
from paper_repro.weigle_feng_2001.search import DATA, small
from paper_repro.weigle_feng_2001.tables import in_flight, propagation_ms
from paper_repro.weigle_feng_2001.traffic import carrying
from tests.traffic.application import application, draw_random_numbers
from vegasfluid.traffic.base import NEW_CONNECTION

FOLDER = Path(run.__file__).parent
PAPER = load_paper(FOLDER)


def test_there_are_a_hundred_claims_and_a_part_of_them_is_quick():
    quick = {experiment.name for experiment in run.EXPERIMENTS if experiment.quick}
    assert len(PAPER.claims) >= 100
    assert sum(claim.experiment in quick for claim in PAPER.claims) > 35


def test_figures_of_the_paper_are_drawn():
    drawn = {experiment.name for experiment in run.EXPERIMENTS if experiment.draw}
    assert drawn == {f"figure{number}" for number in (1, 3, 4, 5, 6, 7)}


@pytest.mark.parametrize(
    ("number", "rtt_ms", "packets"),
    [(1, 24, 3.1), (2, 7, 90.41667), (3, 7, 362.83333), (4, 100, 5183.33333)],
)
def test_the_networks_of_table_1(number, rtt_ms, packets):
    """2 (2 x access + link) ms; that times Mbps x 1000 / 12 000 bits."""
    network = table_1(number)
    assert propagation_ms(network) == pytest.approx(rtt_ms)
    assert in_flight(network) == pytest.approx(packets)
    assert propagation_ms(read_as_round_trips(network)) == pytest.approx(rtt_ms / 2)


def test_two_way_traffic_is_that_of_the_model_file():
    file = vf.modelfile.load(MODELS / "weigle_feng_network2_two_way.toml").network
    assert both_ways(table_1(2)) == file


def test_laws_are_counted_by_the_names_of_classes():
    network = both_ways(with_laws(table_1(2), 0, 50))
    assert {law_of(name): group.count for name, group in network.flows.items()} == {"vegas": 50}
    mixed = half_and_half(table_1(2))
    assert sum(group.count for group in mixed.flows.values()) == 50
    kinds = {name: group.traffic.name for name, group in mixed.flows.items()}
    assert kinds == {
        "reno_bulk": "bulk", "vegas_bulk": "bulk", "reno_nps": "sessions", "vegas_nps": "sessions",
    }  # fmt: skip


def test_heuristics():
    assert [heuristics.third_of(queue) for queue in (4, 7, 20, 50)] == [
        (0, 1), (1, 2), (5, 6), (15, 16),
    ]  # fmt: skip
    assert figure4.less_two(10) == (8, 18)
    assert figure4.in_proportion(0.5, 5) == (2, 5)


def test_alpha_zero_never_grows():
    """Out of slow start, the window stays where it is: with 1 it would climb.

    RED drops nothing here, and Reno starts after the end: the kernel is that of the next test.
    """
    flows = {
        "reno": vf.Flows(1, vf.Reno(), base_rtt=0.1, start=1000.0),
        "vegas": vf.Flows(1, vf.Vegas(dialect="ns2"), base_rtt=0.1, initial_ssthresh=4.0),
    }
    link = vf.Link(1e4, 100, vf.Red(90, 100))
    network = with_pair(vf.Network(link, flows), (0, 1))
    run = vf.simulate_packets(network, 10, warmup=0, samples=11)
    late = run["cwnd"].sel(flow_class="vegas").values[3:]
    assert np.ptp(late) == 0
    grown = vf.simulate_packets(with_pair(network, (2, 3)), 10, warmup=0, samples=11)
    assert float(grown["cwnd"].sel(flow_class="vegas")[-1]) > 50


def test_counts_are_those_of_the_whole_run():
    """One way, where no ACK waits in a queue, so that none is lost."""
    run = vf.simulate_packets(with_pair(table_1(1), (1, 3)), 20, warmup=0, seed=2)
    found = totals(run)
    assert found.all_acked == run["flow_delivered"].values[-1].sum()
    assert found.room == pytest.approx(20 * 1.55e6 / 12000)
    assert 0.8 < found.utilisation < 1
    assert sum(found.sent.values()) >= found.all_acked + sum(found.resent.values()) - 100
    assert found.lost_acks == 0


def test_the_alpha_at_which_vegas_has_equal_goodput():
    assert crossover([1, 10, 100], [0.1, 0.5, 5.0]) == pytest.approx(
        10 * 10 ** (math.log(2) / math.log(10))
    )
    assert math.isnan(crossover([1, 10], [0.1, 0.5]))


@pytest.fixture
def fixed_rng(monkeypatch):
    draw_random_numbers(monkeypatch)


@pytest.mark.usefixtures("fixed_rng")
@pytest.mark.parametrize("kind", ["nps", "pareto"])
def test_one_connection_a_source_is_never_begun_anew(kind):
    (traffic,) = {group.traffic for group in carrying(table_1(2), kind).flows.values()}
    (kept,) = {
        group.traffic for group in over_one_connection(carrying(table_1(2), kind)).flows.values()
    }
    flow, returned = application(traffic, 60)
    assert returned.count(NEW_CONNECTION) >= flow.finished > 5
    flow, returned = application(kept, 60)
    assert flow.finished > 5
    assert NEW_CONNECTION not in returned


def test_jobs_are_as_long_as_the_papers():
    job = against(2, "bulk", (1, 3))
    assert (job.until, job.warmup) == (200.0, 0.0)


def test_the_data_set_is_what_the_search_finds():
    """One of its runs, simulated anew."""
    with xr.open_dataset(DATA) as data:
        place = {"network": "1", "traffic": "bulk", "alpha": 10, "gap": 2, "seed": 2}
        stored = data.sel(place).load()
    plan = small()
    (base,) = [item for item in plan.bases if item.network == table_1(1)]
    point = vf.simulate_packets(with_pair(base.network, (10, 12)), 200, warmup=20, seed=2)
    assert float(stored["ratio"]) == pytest.approx(
        vf.metrics.goodput_ratio(point, "vegas"), rel=1e-5
    )


def test_the_data_set_answers_the_question_of_the_readme(monkeypatch):
    monkeypatch.chdir(FOLDER.parents[1])
    text = (FOLDER / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    (answer,) = re.findall(r"```text\n(.*?)```", text, flags=re.S)
    printed: list[str] = []
    exec(example, {"print": lambda *parts: printed.append(" ".join(map(str, parts)))})
    assert "\n".join(printed).split() == answer.split()


def test_the_plan_has_the_papers_axes():
    plan = search.small()
    assert [axis.label for axis in plan.axes] == ["network", "traffic", "alpha", "gap"]
    assert plan.points == 4 * 3 * 12 * 2
    assert DATA.stat().st_size < 300_000


def test_goodput_by_flow_of_a_mixture():
    """5 Vegas with 50 packets and 45 Reno with 900: 10 and 20 a flow, and 19 as a fair share."""
    counts = dict.fromkeys(Totals._fields, 0.0) | {"acked": {"vegas": 50.0, "reno": 900.0}}
    mixture = Totals(**counts)
    assert adoption.flow_ratio(mixture, 5) == pytest.approx(0.5)
    assert adoption.fair_part(mixture, 5) == pytest.approx(10 / 19)


def test_the_longest_pause_of_each_flow():
    delivered = np.array([[0, 0], [0, 1], [2, 2], [2, 3], [2, 4], [5, 5]])
    assert adoption.longest_pause(np.arange(6.0), delivered) == pytest.approx([3.0, 1.0])


def test_gaps_of_a_poisson_process_are_within_what_chance_allows_and_others_are_not():
    rng = np.random.default_rng(1)
    exponential = rng.exponential(0.5, (1000, 20))
    assert max(over_critical_values(exponential)) < 1
    assert over_critical_values(rng.uniform(0, 1, (1000, 20)))[0] > 10
    half = np.repeat(exponential, 2, axis=1)  # each gap twice
    distance, correlation = over_critical_values(half)
    assert distance < 2
    assert correlation > 10


def test_starts_are_where_packets_arrive():
    times = np.arange(0.0, 10.0, 0.1)
    arrivals = np.arange(0.25, 8.0, 0.3)  # of one source; the other has two at once
    delivered = np.array([np.searchsorted(arrivals, times), 2 * np.searchsorted(arrivals, times)])
    run = xr.Dataset(
        {"flow_delivered": (("time", "flow"), delivered.T.astype(float))}, {"time": times}
    )
    found = starts(run)
    assert found.shape == (2, GAPS + 1)
    assert found[0] == pytest.approx(arrivals[: GAPS + 1], abs=0.1)
    assert found[1] == pytest.approx(np.repeat(arrivals, 2)[: GAPS + 1], abs=0.1)


def a_run(acked: float, dropped: float, share: float) -> Totals:
    zero = {"reno": 0.0, "vegas": 0.0}
    counts = {"reno": acked * (1 - share), "vegas": acked * share}
    return Totals(counts, zero, zero, zero, zero, acked, dropped, 0.0, 0.0, 0.0, 1.0)


def test_runs_with_equal_drop_rates_are_alike_if_drops_are_the_cause():
    def share_of(dropped: float) -> float:
        return 0.5 + 0.1 * math.log(dropped / 0.01)

    one = [[a_run(1000, p, share_of(p))] for p in (0.04, 0.02, 0.01)]
    two = [[a_run(1000, p, share_of(p))] for p in (0.08, 0.04, 0.02)]
    acks = figure3.full_two_way() / figure3.full_utilisation(1)
    used, ratio = figure3.at_equal_drops(one, two)
    assert used == pytest.approx(1 / acks)  # all of the link, but for the ACKs
    assert ratio == pytest.approx(1)
    other = [[a_run(1000, p, 0.6)] for p in (0.08, 0.04, 0.02)]
    before = [share_of(p) / (1 - share_of(p)) for p in (0.04, 0.02)]
    assert figure3.at_equal_drops(one, other)[1] == pytest.approx(
        np.mean([1.5 / value for value in before])
    )

"""What a reference prints, and what becomes of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid import crosscheck, metrics
from vegasfluid.crosscheck.averages import Averages, averages_of, parse_averages
from vegasfluid.crosscheck.crosscheck import Crosscheck, OwnRuns, ReferenceRuns
from vegasfluid.errors import ComputationFailed
from vegasfluid.export import Exported
from vegasfluid.model import Model
from vegasfluid.packet import record_packets

PRINTED = """\
class reno count 3 goodput_packets_per_s 100
class two words count 1 goodput_packets_per_s 50.5
link bottleneck queue_packets 12.5 drop_share 0.01
qdisc tbf 1: root refcnt 2 rate 1564Kbit
"""


def network() -> vf.Network:
    flows = {
        "reno": vf.Flows(3, vf.Reno(), base_rtt=0.04),
        "two words": vf.Flows(1, vf.Vegas(dialect="ns2"), base_rtt=0.04),
    }
    return vf.Network(vf.Link(1000.0, 50), flows)


def test_output_is_read_in_the_order_of_the_network():
    found = parse_averages(PRINTED, network(), "ns-2")
    assert (found.goodput, found.queue, found.drop_share) == ((100, 50.5), (12.5,), (0.01,))
    assert found.ratio == pytest.approx((100 / 50.5, 0.505))


def test_ratio_is_over_all_flows_of_the_others():
    """Three flows of 10 and one of 50: their mean is 20."""
    flows = {
        name: vf.Flows(n, vf.Reno(), base_rtt=0.04)
        for name, n in zip("abc", (3, 1, 2), strict=True)
    }
    text = "".join(
        f"class {name} count {count} goodput_packets_per_s {rate}\n"
        for name, count, rate in (("a", 3, 10), ("b", 1, 50), ("c", 2, 40))
    )
    given = vf.Network(vf.Link(1000.0, 50), flows)
    text += "link bottleneck queue_packets 1 drop_share 0\n"
    assert parse_averages(text, given, "ns-2").ratio[2] == pytest.approx(2.0)
    alone = vf.Network(vf.Link(1000.0, 50), {"a": flows["a"]})
    text = "class a count 3 goodput_packets_per_s 10\nlink x queue_packets 1 drop_share 0\n"
    assert math.isnan(parse_averages(text, alone, "ns-2").ratio[0])


@pytest.mark.parametrize("text", ["", PRINTED.replace("50.5", "x"), PRINTED.split("link")[0]])
def test_output_that_is_cut_short_is_an_error(text):
    with pytest.raises(ComputationFailed, match="ns-2 did not print the 2 lines of classes and 1"):
        parse_averages(text, network(), "ns-2")


@pytest.mark.slow
def test_own_averages_are_the_metrics_of_a_run():
    run = vf.simulate_packets(network(), 20, warmup=5, seed=3)
    found = averages_of(record_packets(network(), np.array([0.0, 5.0, 20.0]), 3), 5.0)
    assert found.goodput == pytest.approx(metrics.goodput(run).values)
    assert found.ratio[1] == pytest.approx(metrics.goodput_ratio(run, "two words"))
    assert found.queue == pytest.approx(metrics.mean_queue(run).values)
    assert found.drop_share == pytest.approx(metrics.drop_share(run).values)


def result(*theirs: Averages) -> Crosscheck:
    """Our runs are two of 100 and 50 packets/s, a queue of 10, and no drops."""
    ours = Averages((100.0, 50.0), (2.0, 0.5), (10.0,), (0.0,))
    reference = crosscheck.Reference("ns-2", "ns2", lambda folder, seed: "")
    others = ReferenceRuns(reference, Exported("ns2", {}), theirs)
    return Crosscheck(network(), OwnRuns((ours, ours), ours), others)


def test_a_class_is_inside_where_all_of_it_is():
    near = Averages((95.0, 52.0), (1.83, 0.547), (10.9,), (0.0009,))
    checked = result(near, near)
    assert (checked.worst, checked.misses("reno")) == ("inside", {})


@pytest.mark.parametrize(
    ("theirs", "reno", "vegas"),
    [
        (Averages((89.0, 52.0), (1.81, 0.549), (10.0,), (0.0,)), ["goodput"], []),
        (Averages((95.0, 54.0), (1.76, 0.568), (10.0,), (0.0,)), ["ratio"], ["ratio"]),
        (Averages((100.0, 50.0), (2.0, 0.5), (11.1,), (0.0,)), *[["queue of bottleneck"]] * 2),
        (Averages((100.0, 50.0), (2.0, 0.5), (9.5,), (2e-3,)), *[["loss ratio of bottleneck"]] * 2),
    ],
)
def test_a_class_is_outside_where_any_of_it_is(theirs, reno, vegas):
    checked = result(theirs, theirs)
    assert list(checked.misses("reno")) == reno
    assert list(checked.misses("two words")) == vegas
    assert checked.verdict("reno") == "outside"
    assert checked.verdict("two words") == ("outside" if vegas else "inside")
    assert checked.worst == "outside"


def test_json_has_all_numbers_in_the_units_of_their_keys():
    near = Averages((95.0, 52.0), (1.83, 0.547), (10.9,), (0.0009,))
    found = result(near, near).as_json()
    assert (found["title"], found["verdict"]) == ("ns-2", "inside")
    goodput = found["classes"]["reno"]["goodput_mbps"]
    assert goodput["packets"] == pytest.approx(100 * 1500 * 8e-6)
    assert goodput["interval"] == pytest.approx([90 * 1500 * 8e-6, 110 * 1500 * 8e-6])
    assert goodput["reference"] == pytest.approx(95 * 1500 * 8e-6)
    assert found["classes"]["two words"]["ratio"]["reference"] == pytest.approx(0.547)
    queue = found["links"]["bottleneck"]["queue_packets"]
    assert (queue["packets"], queue["interval"], queue["verdict"]) == (10, [9, 11], "inside")
    assert found["links"]["bottleneck"]["drop_share"]["interval"] == [0, 1e-3]


def test_reference_runs_the_exported_files_with_each_seed():
    seen = []

    def run(folder: Path, seed: int) -> str:
        seen.append((seed, (folder / "scenario.tcl").read_text(), folder))
        return PRINTED

    reference = crosscheck.Reference("ns-2", "ns2", run, parallel=False)
    model = Model(network(), duration=20, warmup=5)
    done = crosscheck.reference_runs(model, reference, [4, 5])
    assert [seed for seed, _, _ in seen] == [4, 5]
    assert seen[0][1] == done.exported.files["scenario.tcl"]
    assert [one.goodput for one in done.runs] == [(100, 50.5)] * 2
    assert not any(folder.exists() for _, _, folder in seen)

"""`observe` on networks that a real kernel ran, through what `ss`, `tc` and iperf3 print."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from benchmarks.observe.__main__ import compared, found_in
from benchmarks.observe.closed_loop import rows, tuned_scenario
from benchmarks.observe.forms import iperf3_text, ss_text, tc_text
from benchmarks.observe.traces import traces
from vegasfluid import observe


def fractions(form: str, every: int) -> dict[str, float]:
    """Fraction of the networks for which each outcome is right."""
    counts: dict[str, list[bool]] = defaultdict(list)
    for trace in traces()[::every]:
        for name, right in compared(trace, found_in(trace, form), form):
            counts[name].append(right)
    return {name: float(np.mean(right)) for name, right in counts.items()}


def test_the_text_of_a_trace_is_read_as_it_was_measured(tmp_path) -> None:
    trace = traces()[3]
    texts = {"ss.txt": ss_text, "tc.txt": tc_text, "iperf3.json": iperf3_text}
    for name, text in texts.items():
        (tmp_path / name).write_text(text(trace))
    found = observe.read(tmp_path / "ss.txt")
    begins = [samples["t"][0] for samples in trace.flows]
    for flow, number in zip(found.flows, np.argsort(begins, kind="stable"), strict=True):
        samples = trace.flows[number]
        assert flow.window_packets == pytest.approx(samples["cwnd"])
        assert flow.rtt_s == pytest.approx(samples["rtt_us"] * 1e-6, abs=1e-6)
        assert flow.retransmitted_packets == pytest.approx(samples["total_retrans"])
    queue = observe.read(tmp_path / "tc.txt").queues[-1]
    assert queue.kind == trace.scenario["queue"]["kind"]
    assert queue.sent_packets == pytest.approx(trace.queue["packets"])
    report = observe.read(tmp_path / "iperf3.json")
    assert len(report.flows) == len(trace.flows)
    assert np.diff(report.flows[0].time_s) == pytest.approx(1.0, abs=1e-3)


def test_the_traces_have_the_rates_and_flows_of_their_networks() -> None:
    for trace in traces():
        assert len(trace.goodput) == len(trace.scenario["flows"])
        sent = trace.queue["packets"][-1] * 12e-3 / trace.queue["t"][-1]
        assert sent < 1.01 * trace.scenario["mbps"]


def test_with_the_routers_counters_numbers_are_those_of_the_kernel() -> None:
    right = fractions("tc", 10)
    assert right["buffer.within"] == right["queue.right"] == right["others.seen"] == 1
    assert right["capacity.within"] >= 0.9
    assert right["base_rtt.covered"] >= 0.85


@pytest.mark.parametrize(("number", "others"), [(22, 4), (74, 5), (80, 5), (85, 6)])
def test_drops_show_how_many_flows_were_not_measured(number: int, others: int) -> None:
    """Some of the measured flows starve; divided by the rate of a flow other than Vegas, the rate
    of the others makes 9.5, 2.1, 6.8 and 4.4 flows.
    """
    trace = next(each for each in traces() if each.number == number)
    assert len(trace.scenario["flows"]) - len(trace.scenario["measured"]) == others
    found = found_in(trace, "tc").competitors
    assert found is not None
    assert found.count.value == pytest.approx(others, abs=1.0)
    assert found.count.low <= others <= found.count.high


@pytest.mark.slow
def test_intervals_contain_the_kernels_numbers() -> None:
    right = fractions("ss", 1)
    least = {"capacity": 0.85, "base_rtt": 0.9, "buffer": 0.75, "others": 0.75}  # few have the last
    for name, fraction in least.items():
        assert right[f"{name}.covered"] >= fraction, name


def test_the_kernel_runs_again_what_was_recommended() -> None:
    """With the recommended numbers in all Vegas flows, or in one that is added."""
    for trace in traces()[:12]:
        scenario = tuned_scenario(trace, 12.2, 14.4)
        algos = [flow["algo"] for flow in trace.scenario["flows"]]
        assert [flow["algo"] for flow in scenario["flows"]] == algos + (
            [] if "vegas" in algos else ["vegas"]
        )
        assert scenario["vegas"] == {"alpha": 12, "beta": 14, "gamma": 1}
    numbers = [row["number"] for row in rows()]
    assert len(set(numbers)) == len(numbers)

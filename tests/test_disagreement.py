"""Where the fluid model and packets differ, a message gives the reason and advice."""

from __future__ import annotations

import math

import pytest

from vegasfluid import DropTail, Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.disagreement import RunMeans, compare, run_means


def network(count: int = 10, aqm=None, **changed) -> Network:
    link = Link(1000.0, 200, aqm or Red(50, 150))
    laws = {"vegas": Vegas(), "reno": Reno()}
    flows = {name: Flows(count, law, base_rtt=0.05, **changed) for name, law in laws.items()}
    return Network(link, flows)


def seen(ratio: float = 1.0, queue: float = 50.0, **more) -> RunMeans:
    return RunMeans({"vegas": ratio, "reno": 1 / ratio}, {"bottleneck": queue}, **more)


def test_engines_that_agree_say_nothing() -> None:
    assert compare(network(), seen(1.2, 60.0), seen(1.0, 50.0)) == []


def test_a_ratio_that_differs_by_a_quarter_is_reported_once_for_two_classes() -> None:
    """The two numbers, the likely reason, and whom to believe."""
    (reason_given,) = compare(network(), seen(4.75), seen(0.8))
    assert "A flow of vegas gets 4.75 times" in reason_given
    assert "0.8 times in the packet simulator" in reason_given
    assert "base RTT" in reason_given
    assert reason_given.endswith("Trust the packet simulator.")
    assert compare(network(), seen(1.24), seen(1.0)) == []
    assert len(compare(network(), seen(1.26), seen(1.0))) == 1


def test_a_queue_that_differs_by_half_is_reported() -> None:
    (reason_given,) = compare(network(), seen(queue=80.0), seen(queue=50.0))
    assert "The mean queue of bottleneck is 80 packets in the fluid model, but 50" in reason_given
    assert compare(network(), seen(queue=74.0), seen(queue=50.0)) == []
    assert compare(network(), seen(queue=0.9), seen(queue=0.1)) == []


@pytest.mark.parametrize(
    ("case", "more", "reason"),
    [
        (network(count=2), {}, "single losses matter with 4 flows"),
        (network(), {"windows": {"vegas": 9.0, "reno": 3.0}}, "windows of reno are below 5"),
        (network(send_overhead=0.0), {}, "base RTT"),
    ],
)
def test_the_reason_follows_from_the_network(case: Network, more, reason: str) -> None:
    (reason_given,) = compare(case, seen(2.0), seen(1.0, **more))
    assert reason in reason_given


def test_over_drop_tail_single_packets_decide_or_phases() -> None:
    (reason_given,) = compare(network(aqm=DropTail()), seen(2.0), seen(1.0))
    assert "the order of single packets" in reason_given
    (reason_given,) = compare(network(aqm=DropTail(), send_overhead=0.0), seen(2.0), seen(1.0))
    assert "phases of the flows decide" in reason_given
    assert "Trust neither" in reason_given


def test_starved_classes_and_timeouts_without_losses_are_reported() -> None:
    (reason_given,) = compare(network(), seen(0.04), seen(0.045))
    assert reason_given.startswith("A flow of vegas starves: it gets 0.04 times")
    more = {"timeouts": {"reno": 12.0, "vegas": 0.0}, "lost": {"reno": 0.0, "vegas": 0.0}}
    (reason_given,) = compare(network(), seen(**more), seen())
    assert reason_given.startswith(
        "The fluid model has 12 timeouts of reno although nothing is lost"
    )


def means(*classes: tuple[str, int, float]) -> RunMeans:
    """Means of a run, of name, number of flows and goodput of each class."""
    numbers = {"cwnd_packets": 9.0, "timeouts": 0.0, "retransmit_share": 0.1}
    by_name = {
        name: {"count": count, "goodput_packets_per_s": rate, **numbers}
        for name, count, rate in classes
    }
    return run_means({"classes": by_name, "links": {"bottleneck": {"queue_packets": 7.0}}})


def test_what_a_document_shows() -> None:
    """Ratios over the mean of all other flows."""
    found = means(("a", 1, 30.0), ("b", 2, 10.0), ("c", 1, 40.0))
    assert found.ratios == pytest.approx({"a": 30 / 20, "b": 10 / 35, "c": 40 / (50 / 3)})
    assert found.queues == {"bottleneck": 7.0}
    assert means(("a", 1, 30.0)).ratios == {}


def test_a_class_with_all_of_the_goodput_is_told_in_words() -> None:
    """Its ratio is infinite, and 1e12 where recommendations take logarithms of it."""
    everything = means(("vegas", 2, 0.0), ("reno", 2, 40.0))
    assert everything.ratios == {"vegas": 0.0, "reno": math.inf}
    half = means(("vegas", 2, 10.0), ("reno", 2, 20.0))
    starves = "A flow of vegas starves: it gets nothing in the fluid model, and"
    sentences = compare(network(), everything, half)
    assert sentences[0].startswith(
        "A flow of vegas gets nothing in the fluid model, but "
        "0.5 times the goodput of other flows in the packet simulator."
    )
    rest = "0.5 times the goodput of other flows in the packet simulator."
    assert sentences[1:] == [f"{starves} {rest}"]
    reverse = compare(network(), seen(0.5), means(("vegas", 2, 0.0), ("reno", 2, 9.0)))
    assert "0.5 times the goodput of other flows in the fluid model, but nothing" in reverse[0]
    clipped = compare(network(), everything, seen(1e-12, queue=7.0))
    assert clipped == [f"{starves} nothing in the packet simulator."]


def test_a_run_without_deliveries_has_no_ratio() -> None:
    idle = means(("vegas", 2, 0.0), ("reno", 2, 0.0))
    assert all(math.isnan(ratio) for ratio in idle.ratios.values())
    assert compare(network(), idle, idle) == []
    (sentence,) = compare(network(), idle, seen(0.04, queue=7.0))
    assert sentence.startswith(
        "No flow delivers anything in the fluid model, but some do in the packet simulator."
    )
    (sentence,) = compare(network(), seen(0.04, queue=7.0), idle)
    assert sentence.startswith(
        "No flow delivers anything in the packet simulator, but some do in the"
    )

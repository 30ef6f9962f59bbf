"""Weigle and Feng's rules, against the numbers that their paper prints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.paths import MODELS
from vegasfluid import DropTail, Flows, Link, Network, Red, Reno, Vegas, modelfile
from vegasfluid.tuning.rules_of_thumb import RULES, rules_of_thumb


def pair(link: Link) -> Network:
    """One Reno and one Vegas flow, as in sections 4.1 and 4.2."""
    flows = {
        "reno": Flows(1, Reno(), base_rtt=0.03),
        "vegas": Flows(1, Vegas(dialect="ns2"), base_rtt=0.03),
    }
    return Network(link, flows)


def rules_for(network: Network) -> dict[str, tuple[float, float]]:
    laws = rules_of_thumb(network, "vegas")
    return {name: (law.alpha, law.beta) for name, law in laws.items()}


@pytest.mark.parametrize(
    ("queue", "alpha", "beta"),
    [(6, 1, 2), (7, 1, 2), (9, 2, 3), (20, 5, 6), (25, 7, 8), (50, 15, 16)],
)
def test_a_third_of_the_queue(queue, alpha, beta):
    """Section 4.1: alpha = floor(Q / 3 - 1), beta = floor(Q / 3)."""
    assert rules_for(pair(Link(129.0, queue))) == {"queue_over_3": (alpha, beta)}


@pytest.mark.parametrize(("low", "high"), [(3, 6), (4, 8), (5, 10), (10, 20)])
def test_thresholds_less_two(low, high):
    """Section 4.2: alpha = RED_min - 2, beta = RED_max - 2, with a queue of 25 packets."""
    result = rules_for(pair(Link(129.0, 25, Red(min_thresh=low, max_thresh=high))))
    assert result["thresholds_minus_2"] == (low - 2, high - 2)


@pytest.mark.parametrize(
    ("name", "alpha", "high"),
    [
        ("network2", 134, 536),  # "about 134 packets here (6711 / 50)"; 26843 / 50
        ("network2_two_way", 134, 536),  # the same 50, where data go both ways
        ("network3", 89, 357),  # "8948 / 100 = 89"; 35791 / 100
        ("network4", 89, 357),  # "remains the same"
    ],
)
def test_red_min_over_n(name, alpha, high):
    """Section 4.3 to 4.5, with the paper's numbers."""
    network = modelfile.load(MODELS / f"weigle_feng_{name}.toml").network
    tuned = next(owner for owner, flows in network.flows.items() if isinstance(flows.law, Vegas))
    result = rules_of_thumb(network, tuned)
    assert list(result) == list(RULES)
    assert result["red_min_over_n"] == replace(
        network.flows[tuned].law, alpha=alpha, beta=alpha + 2
    )
    assert (result["proportional"].alpha, result["proportional"].beta) == (alpha, high)


def test_two_flows_of_many_have_their_part_of_the_queue():
    """Ours: with 25 + 25 flows each pair has a 25th of network 2's queue and thresholds."""
    network = modelfile.load(MODELS / "weigle_feng_network2.toml").network
    result = rules_for(network)
    assert result["queue_over_3"] == (446, 447)  # 33554 / 25 / 3 = 447.4
    assert result["thresholds_minus_2"] == (266, 1071)  # 268.4 - 2, 1073.7 - 2


def test_vegas_keeps_a_packet_and_an_order():
    """Thresholds less two are below 1 here: alpha must be at least 1, and beta no less."""
    result = rules_for(pair(Link(129.0, 3, Red(min_thresh=1, max_thresh=2))))
    assert result["thresholds_minus_2"] == (1, 1)
    assert result["queue_over_3"] == (1, 1)


def test_the_law_stays_what_it_is_otherwise():
    network = pair(Link(129.0, 25, DropTail()))
    odd = Vegas(2, 9, gamma=3, dialect="linux")
    law = rules_of_thumb(network.with_law("vegas", odd), "vegas")["queue_over_3"]
    assert law == replace(odd, alpha=7, beta=8)


def test_with_several_queues_no_rule_applies():
    link = Link(100.0, 20)
    flows = {
        "reno": Flows(1, Reno(), base_rtt=0.03, path=("a", "b")),
        "vegas": Flows(1, Vegas(), base_rtt=0.03, path=("a",)),
    }
    assert rules_of_thumb(Network({"a": link, "b": link}, flows), "vegas") == {}

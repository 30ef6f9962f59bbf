"""Where each flow has a queue, alpha is kept small: it changes no shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vegasfluid import Cubic, DropTail, Flows, Fq, FqCoDel, Link, Network, Reno, Vegas, recommend
from vegasfluid.tuning.own_queues import has_own_queues


def network(vegas: Vegas, **links: Link) -> Network:
    classes = {
        "reno": Flows(2, Reno(), base_rtt=0.02, path=tuple(links)[:1]),
        "vegas": Flows(2, vegas, base_rtt=0.02, path=tuple(links)),
    }
    return Network(links, classes)


@pytest.mark.parametrize(
    ("links", "own"),
    [
        ({"a": Link(500.0, 200, Fq())}, True),
        ({"a": Link(500.0, 200, DropTail())}, False),
        ({"a": Link(500.0, 200, FqCoDel()), "b": Link(900.0, 200, DropTail())}, True),
        ({"a": Link(900.0, 200, DropTail()), "b": Link(500.0, 200, Fq())}, False),
    ],
)
def test_only_links_that_are_shared_count(links: dict[str, Link], own: bool) -> None:
    """Reno crosses the first link only."""
    assert has_own_queues(network(Vegas(), **links), "vegas") == own


def test_one_common_queue_is_enough_to_divide() -> None:
    links = {"a": Link(500.0, 200, Fq()), "b": Link(500.0, 200, DropTail())}
    both = network(Vegas(), **links).flows["vegas"]
    classes = {"reno": replace(both, law=Reno()), "vegas": both}
    assert not has_own_queues(Network(links, classes), "vegas")


def test_a_class_that_shares_no_link_has_nothing_to_divide() -> None:
    links = {"a": Link(500.0, 200, Fq()), "b": Link(500.0, 200, Fq())}
    classes = {
        "cubic": Flows(1, Cubic(), base_rtt=0.02, path=("a",)),
        "vegas": Flows(1, Vegas(), base_rtt=0.02, path=("b",)),
    }
    assert not has_own_queues(Network(links, classes), "vegas")


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_large_alpha_becomes_the_usual_one() -> None:
    """60 packets of each flow were in the queue for no larger share."""
    before = network(Vegas(alpha=60, beta=62), a=Link(500.0, 400, Fq()))
    found = recommend(before, until=30.0, warmup=10.0, runs=3)
    law = found.network.flows["vegas"].law
    assert (law.alpha, law.beta) == (1, 3)
    assert found.reached
    assert found.reason.startswith("each flow has its own queue at a")
    delays = (found.before.packets.means(), found.after.packets.means())
    assert delays[1]["queueing_delay_s"] < 0.6 * delays[0]["queueing_delay_s"]
    assert found.after.packets.ratio == pytest.approx(1, abs=0.03)

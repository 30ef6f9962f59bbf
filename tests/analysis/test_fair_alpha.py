"""Where no alpha is fair."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, mbps
from vegasfluid.analysis import equilibrium, fair_alpha
from vegasfluid.errors import InvalidInput, Unsupported


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_class_that_delivers_nothing_has_no_fair_alpha() -> None:
    """Its RTT is three hours: the goodput is 0 with any alpha, and log(0) ended in a traceback."""
    link = Link(mbps(50), 800, Red(min_thresh=150, max_thresh=600, max_drop=0.1))
    flows = {
        "reno": Flows(7, Reno(), base_rtt=0.05),
        "vegas": Flows(8, Vegas(1, 3, dialect="ns2"), base_rtt=1e4),
    }
    network = Network(link, flows)
    found = equilibrium(network)
    assert (found.ratio("vegas"), found.ratio("reno")) == (0.0, np.inf)
    assert fair_alpha(network, "vegas") is None


@pytest.mark.parametrize(
    ("tuned", "ratio", "words"),
    [
        ("reno", 1.0, "tuned must be a class of Vegas flows, but is 'reno'"),
        ("vega", 1.0, "flows must be one of reno, vegas, but is 'vega'"),
        ("vegas", 0.0, "ratio must be above 0 and finite, but is 0.0"),
        ("vegas", -1.0, "ratio must be above 0 and finite, but is -1.0"),
        ("vegas", np.nan, "ratio must be above 0 and finite, but is nan"),
    ],
)
def test_what_has_no_fair_alpha_is_refused(tuned: str, ratio: float, words: str) -> None:
    link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    flows = {"reno": Flows(5, Reno(), base_rtt=0.04), "vegas": Flows(5, Vegas(), base_rtt=0.04)}
    with pytest.raises(InvalidInput, match=words):
        fair_alpha(Network(link, flows), tuned, ratio)


def test_means_and_ratios_need_classes_that_exist() -> None:
    link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    solution = equilibrium(Network(link, {"reno": Flows(5, Reno(), base_rtt=0.04)}))
    with pytest.raises(Unsupported, match="a single flow class"):
        solution.ratio("reno")
    for read in (
        solution.goodput_of_others,
        solution.ratio,
        lambda name: solution.mean(name, "rtt"),
    ):
        with pytest.raises(InvalidInput, match="flows must be one of reno, but is 'rino'"):
            read("rino")
    with pytest.raises(InvalidInput, match="quantity must be one of cwnd"):
        solution.mean("reno", "queue")

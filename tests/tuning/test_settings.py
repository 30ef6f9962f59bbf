"""Run settings: what is no setting is an error, as in any call of a function."""

from __future__ import annotations

import pytest

from vegasfluid import Flows, Link, Network, Reno, Vegas
from vegasfluid.tuning import explain, pareto_front, recommend

NETWORK = Network(
    Link(500.0, 100),
    {"reno": Flows(1, Reno(), base_rtt=0.02), "vegas": Flows(1, Vegas(), base_rtt=0.02)},
)


@pytest.mark.parametrize("ask", [recommend, pareto_front, explain])
def test_a_misspelt_setting_is_an_error(ask) -> None:
    with pytest.raises(TypeError, match="no argument 'duration'; run settings are until, warmup,"):
        ask(NETWORK, duration=20.0)

"""The analysis of a network where a part of it fails."""

from __future__ import annotations

import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, SolveFailed, Vegas
from vegasfluid.analysis import report
from vegasfluid.analysis.equilibria.equilibrium import THEORY


def test_an_alpha_that_is_proven_is_reported_where_its_equilibrium_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_found(*given: object) -> None:
        raise SolveFailed("no equilibrium was found")

    monkeypatch.setattr(report, "equilibrium", not_found)
    monkeypatch.setattr(report, "fair_alpha", not_found)
    link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.04),
        "reno": Flows(5, Reno(), base_rtt=0.04),
    }
    result = report.find_alpha(Network(link, flows), "vegas", 1.0, THEORY)
    assert result.fair is None
    assert result.nearest is None
    assert result.certificate is not None
    assert round(float(result.certificate.alpha), 6) == 4.860127

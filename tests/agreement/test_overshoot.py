"""ns-2's overshoot on network 4: the fluid needs a false base RTT, and one is enough."""

from __future__ import annotations

import math

import pytest

from benchmarks.overshoot import differences, fitted, overshoots, true_base_rtt


@pytest.mark.study
def test_one_false_base_rtt_tells_all_alphas_of_network_4() -> None:
    rows = [row for row in overshoots()[4] if row.ratio >= 0.2]
    assert sorted(row.alpha for row in rows) == [75, 89, 150, 300]
    part = fitted(rows, 0.02)
    with_true = [math.expm1(value) for value in differences(rows, 1.0).values()]
    with_false = [math.expm1(value) for value in differences(rows, part).values()]
    assert max(with_true) > 0.5
    assert max(map(abs, with_false)) < 0.1
    base_rtt_ms = 1e3 * part * true_base_rtt(rows[0])
    assert base_rtt_ms == pytest.approx(12, abs=4)  # ms; what ns-2's windows and round trips imply


def test_the_true_one_is_that_of_the_papers() -> None:
    trips = {network: true_base_rtt(rows[0]) for network, rows in overshoots().items()}
    assert trips == pytest.approx({2: 0.007, 3: 0.007, 4: 0.1}, rel=0.06)

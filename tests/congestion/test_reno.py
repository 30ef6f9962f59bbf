"""Reno's growth after a loss where packets are counted: Linux counts anew, other hosts go on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vegasfluid import Dctcp, Reno
from vegasfluid.congestion.loss_recovery import RACK_TLP, SACK


def flow_of(recovery: int) -> SimpleNamespace:
    """A flow with 9 of the 10 packets acknowledged that its window needs to grow."""
    return SimpleNamespace(
        cwnd=10.0, ssthresh=5.0, acked_count=9, byte_counting=1, validates=0, recovery=recovery
    )


def packets_until_growth(flow: SimpleNamespace) -> int:
    """Number of packets acknowledged one by one until the window grows."""
    rule, window = Reno(byte_counting=True).rules.increase_window, flow.cwnd
    for count in range(1, 30):
        rule(flow, 0, 1)
        if flow.cwnd > window:
            return count
    raise AssertionError("the window never grows")


@pytest.mark.parametrize(("recovery", "needed"), [(RACK_TLP, 5), (SACK, 1)])
def test_after_a_loss_a_whole_window_must_be_acknowledged_in_linux(
    recovery: int, needed: int
) -> None:
    """`tcp_init_cwnd_reduction` sets `snd_cwnd_cnt` to 0; ns-3's TcpLinuxReno keeps its count."""
    flow = flow_of(recovery)
    flow.cwnd = Reno().rules.window_after_loss(flow, flow.cwnd)
    assert flow.cwnd == 5
    assert packets_until_growth(flow) == needed


def test_after_a_mark_dctcp_counts_anew_in_linux() -> None:
    flow = flow_of(RACK_TLP)
    flow.mark_estimate = 0.5
    flow.cwnd = Dctcp().rules.window_after_mark(flow, flow.cwnd)
    assert flow.cwnd == 8
    assert packets_until_growth(flow) == 8

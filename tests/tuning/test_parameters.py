"""From alpha to Vegas's parameters, and the range of alpha."""

from __future__ import annotations

import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.tuning.parameters import (
    RedParameter,
    dead_band,
    largest_alpha,
    smallest_alpha,
    whole_if_needed,
    with_alpha,
)


@pytest.mark.parametrize("dialect", ["brakmo", "ns2", "linux"])
def test_beta_is_two_above_alpha_and_all_else_is_unchanged(dialect):
    law = with_alpha(Vegas(3, 9, 2, dialect=dialect, softness=0.5), 7.0)
    assert (law.alpha, law.beta, law.gamma) == (7.0, 9.0, 2)
    assert (law.dialect, law.softness) == (dialect, 0.5)


def test_linux_counts_a_packet_of_window_as_rtt_over_base():
    """One packet more of window moves Linux's estimate by (rtt - base) / base, and rtt by more."""
    assert dead_band(Vegas(dialect="linux"), rtt_over_base=70.0) == 140
    assert dead_band(Vegas(dialect="linux"), rtt_over_base=1.2) == 3
    assert [dead_band(Vegas(dialect=name), 70.0) for name in ("brakmo", "ns2")] == [2, 2]
    assert with_alpha(Vegas(dialect="linux"), 20.0, dead_band=7.0).beta == 27


@pytest.mark.parametrize(
    ("dialect", "alpha", "settable"),
    [("ns2", 3.4, 3), ("ns2", 3.6, 4), ("ns2", 0.2, 1), ("linux", 0.01, 1), ("brakmo", 0.2, 0.2)],
)
def test_alpha_is_rounded_to_what_the_dialect_can_represent(dialect, alpha, settable):
    law = Vegas(dialect=dialect)
    result = whole_if_needed(law, alpha)
    assert result == settable
    assert with_alpha(law, result).alpha == settable  # which refuses what the dialect cannot hold


def test_range():
    assert smallest_alpha(Vegas(dialect="ns2")) == 1
    assert 0 < smallest_alpha(Vegas()) < 1
    network = Network(Link(1000.0, 80), {"reno": Flows(1, Reno(), base_rtt=0.1)})
    assert largest_alpha(network) == pytest.approx(1000 * 0.1 + (1 + 40 / 1500) + 80)


def test_every_buffer_on_the_way_may_hold_a_backlog():
    """The pipe of the slower link (50 packets/s for 0.4 s), and the buffers of both."""
    links = {"slow": Link(50.0, 80, delay=0.1), "fast": Link(1000.0, 30, delay=0.05)}
    flows = Flows(1, Reno(), base_rtt=0.4, path=("slow", "fast"))
    transmission = (1 + 40 / 1500) * (1 / 50 + 1 / 1000)
    pipe = 50 * (0.4 + transmission)
    assert largest_alpha(Network(links, {"reno": flows})) == pytest.approx(pipe + 80 + 30)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("min_thresh", 30.0, (30.0, 90.0, 0.1)),  # the spread stays
        ("spread", 50.0, (20.0, 70.0, 0.1)),
        ("max_drop", 0.3, (20.0, 80.0, 0.3)),
    ],
)
def test_a_number_of_red_is_set_and_the_others_stay(field, value, expected):
    link = Link(1000.0, 200, Red(20.0, 80.0, max_drop=0.1))
    network = Network(link, {"reno": Flows(1, Reno(), base_rtt=0.1)})
    red = RedParameter(field).with_value(network, value).link.aqm
    assert (red.min_thresh, red.max_thresh, red.max_drop) == expected
    assert RedParameter(field).value(RedParameter(field).with_value(network, value)) == value

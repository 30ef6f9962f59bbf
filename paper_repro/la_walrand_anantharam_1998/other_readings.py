"""Other readings of the two networks, for experiments that run each network as it is."""

from __future__ import annotations

from dataclasses import replace

import vegasfluid as vf
from paper_repro.la_walrand_anantharam_1998.networks import NO_LIMIT, OLD_WINDOW
from paper_repro.other_readings import OtherReading

__all__ = ["SECTIONS_1_AND_2", "SECTIONS_3_TO_5"]

SECTION_3 = {
    "on_shorter_route", "on_shorter_route_over_before", "vegas_on_longer_route",
    "kept_on_longer_route", "on_longer_route", "modified_after_60", "averaged_gain",
    "timeouts_after_60", "timeouts_by_overtaking", "detected_after_by_groups",
}  # fmt: skip
"""Measures of runs of figure 1, whose route changes."""
WITHOUT_RED = {
    "error_of_last", "excess_from_third_ms", "believed", "first_two", "windows_of_existing",
    "later_is_higher_by_dialect",
}  # fmt: skip
"""Measures of runs of figure 6 with drop-tail only."""


def on_figure_1(measure: str) -> bool:
    """Whether a measure is of runs of figure 1."""
    return measure in SECTION_3


def on_figure_6(measure: str) -> bool:
    """Whether a measure is of runs of figure 6."""
    return measure not in SECTION_3


def with_red(measure: str) -> bool:
    """Whether a measure is of runs of figure 6 with RED."""
    return measure not in SECTION_3 | WITHOUT_RED


def is_figure_1(network: vf.Network) -> bool:
    """Whether a network is that of figure 1, whose route changes."""
    return bool(network.events)


def changed(network: vf.Network, **fields: object) -> vf.Network:
    """Return the network with changed fields of all flows."""
    flows = {name: replace(group, **fields) for name, group in network.flows.items()}
    return replace(network, flows=flows)


def one_way(network: vf.Network) -> vf.Network:
    """Return the network whose delays are twice as long, as the paper's are one way."""
    if not is_figure_1(network):
        flows = {
            name: replace(group, base_rtt=2 * (group.base_rtt or 0.0))
            for name, group in network.flows.items()
        }
        return replace(network, flows=flows)
    flows = {
        name: replace(group, access_delay=2 * (group.access_delay or 0.0))
        for name, group in network.flows.items()
    }
    links = {name: replace(link, delay=2 * link.delay) for name, link in network.links.items()}
    events = tuple(replace(event, delay=2 * (event.delay or 0.0)) for event in network.events)
    return replace(network, flows=flows, links=links, events=events)


def short_timeout(network: vf.Network) -> vf.Network:
    """Return figure 1 with a smallest timeout of 0.2 s; other networks as they are."""
    return changed(network, min_rto=0.2) if is_figure_1(network) else network


def long_timeout(network: vf.Network) -> vf.Network:
    """Return the network with a smallest timeout of 1 s; figure 1 as it is."""
    return network if is_figure_1(network) else changed(network, min_rto=1.0)


def not_limited(network: vf.Network) -> vf.Network:
    """Return the network with no advertised window that limits; figure 1 as it is."""
    return network if is_figure_1(network) else changed(network, max_window=NO_LIMIT)


def limited(network: vf.Network) -> vf.Network:
    """Return the network with advertised windows of 20 packets."""
    return changed(network, max_window=OLD_WINDOW)


def with_max_drop(network: vf.Network, max_drop: float) -> vf.Network:
    """Return the network with another largest drop probability of RED."""
    links = {
        name: replace(link, aqm=replace(link.aqm, max_drop=max_drop))
        if isinstance(link.aqm, vf.Red) else link
        for name, link in network.links.items()
    }  # fmt: skip
    return replace(network, links=links)


def one_drop_in_ten(network: vf.Network) -> vf.Network:
    """Return the network with a largest drop probability of RED of 0.1."""
    return with_max_drop(network, 0.1)


def every_drop(network: vf.Network) -> vf.Network:
    """Return the network with a largest drop probability of RED of 1."""
    return with_max_drop(network, 1.0)


ONE_WAY = OtherReading("delays one way", one_way)
LONG_TIMEOUT = OtherReading("RTO 1 s", long_timeout, on_figure_6)
SECTIONS_1_AND_2 = (ONE_WAY, LONG_TIMEOUT, OtherReading("windows of 20 packets", limited))
"""Readings of networks with drop-tail whose windows are not limited."""
SECTIONS_3_TO_5 = (
    ONE_WAY,
    OtherReading("RTO 0.2 s", short_timeout, on_figure_1),
    LONG_TIMEOUT,
    OtherReading("window not limited", not_limited, on_figure_6),
    OtherReading("max_drop 0.1", one_drop_in_ten, with_red),
    OtherReading("max_drop 1", every_drop, with_red),
)
"""Readings of figures 1 and 6."""

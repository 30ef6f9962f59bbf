"""Other readings of the path and of the hosts, for experiments that run each network as it is."""

from __future__ import annotations

from dataclasses import replace

import vegasfluid as vf
from paper_repro.net100_2004.path import PACKET_BYTES, UNLIMITED
from paper_repro.other_readings import OtherReading

__all__ = ["OF_HOSTS", "OF_HOSTS_AND_PATH"]

FAST_MBPS = 1000.0
"""Rate of hosts with Gigabit Ethernet, Mbit/s."""


def fast_hosts(network: vf.Network) -> vf.Network:
    """Return the network whose TCP hosts send as fast as Gigabit Ethernet."""
    rate = vf.mbps(FAST_MBPS, PACKET_BYTES)
    flows = {
        name: replace(group, access=rate) if group.access is not None else group
        for name, group in network.flows.items()
    }
    return replace(network, flows=flows)


def deep_buffer(network: vf.Network) -> vf.Network:
    """Return the network whose buffer never limits a flow; send buffers still do."""
    links = {name: replace(link, buffer=UNLIMITED) for name, link in network.links.items()}
    return replace(network, links=links)


OF_HOSTS = (OtherReading("hosts of 1000 Mbit/s", fast_hosts),)
"""Readings of what the hosts can send."""
OF_HOSTS_AND_PATH = (*OF_HOSTS, OtherReading("no limit by the path's buffer", deep_buffer))
"""Readings of the hosts and of the path's buffer."""

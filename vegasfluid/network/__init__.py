"""The network: links, classes of flows that share them, and changes of delay.

These are values: nothing here computes a trajectory, and nothing is changed in place.
"""

from vegasfluid.network.event import Event
from vegasfluid.network.flows import Flows, UniformStart
from vegasfluid.network.hosts import HOSTS, Host
from vegasfluid.network.link import Link
from vegasfluid.network.network import SINGLE_LINK, Network, require_network

__all__ = ["HOSTS", "SINGLE_LINK", "Event", "Flows", "Host", "Link", "Network", "UniformStart"]
__all__ += ["require_network"]

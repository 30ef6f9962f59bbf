"""From measurements of a network to a model of it.

`read` reads what hosts and routers print (`ss`, `tc`, iperf3, CSV, packet captures) as samples of
flows and queues.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Lane kernels: traced JAX functions compiled to machine code that runs each instance of a batch
from start to end.
"""

import vegasfluid.lanes.linearised  # noqa: F401 (JAX's rule for reverse mode)
from vegasfluid.lanes.primitive import LaneKernelWarning, lane_kernel

__all__ = ["LaneKernelWarning", "lane_kernel"]

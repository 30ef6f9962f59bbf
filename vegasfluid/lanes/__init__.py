"""Lane kernels: a traced JAX function as one loop of machine code that takes a lane to its end."""

from vegasfluid.lanes.primitive import LaneKernelWarning, lane_kernel

__all__ = ["LaneKernelWarning", "lane_kernel"]

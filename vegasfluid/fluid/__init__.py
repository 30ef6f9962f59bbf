"""The fluid model: delay differential equations of windows and queues, in JAX.

Importing it turns on JAX's 64-bit floats: a run of 200 s in steps of milliseconds needs them.
"""

import jax

from vegasfluid.fluid.accuracy import TOLERANCE
from vegasfluid.fluid.model import FluidModel, FluidSolution, build
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY, FluidOptions
from vegasfluid.fluid.simulate import record_fluid, simulate_density, simulate_fluid

__all__ = [
    "MISRA_GONG_TOWSLEY",
    "TOLERANCE",
    "FluidModel",
    "FluidOptions",
    "FluidSolution",
    "build",
    "record_fluid",
    "simulate_density",
    "simulate_fluid",
]

jax.config.update("jax_enable_x64", True)

"""Make every core of the CPU a JAX device; by default JAX has one device for the whole CPU."""

from __future__ import annotations

import jax

from vegasfluid.parallel import processors

__all__ = ["use_every_core"]


def use_every_core() -> None:
    """Make every core of this machine a JAX device; without effect once JAX has been used.

    By default JAX has one device for the whole CPU. This changes JAX for the whole process, so only
    programs should call it, not libraries. It does nothing if $JAX_NUM_CPU_DEVICES, or
    `--xla_force_host_platform_device_count` in $XLA_FLAGS, sets the number of devices.
    """
    import os

    if "device_count" in os.environ.get("XLA_FLAGS", "") or "JAX_NUM_CPU_DEVICES" in os.environ:
        return
    try:
        jax.config.update("jax_num_cpu_devices", processors())
    except RuntimeError:  # JAX has been used before
        return

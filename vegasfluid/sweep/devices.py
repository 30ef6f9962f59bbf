"""Every core as a device: on a CPU JAX has one, however many cores there are."""

from __future__ import annotations

import jax

from vegasfluid.parallel import processors

__all__ = ["use_every_core"]


def use_every_core() -> None:
    """Let JAX see every core of this machine as a device, unless it has been used before.

    This changes JAX for the whole process, so programs do it and the library does not.
    $JAX_NUM_CPU_DEVICES, or `--xla_force_host_platform_device_count` in $XLA_FLAGS, comes first.
    """
    import os

    if "device_count" in os.environ.get("XLA_FLAGS", "") or "JAX_NUM_CPU_DEVICES" in os.environ:
        return
    try:
        jax.config.update("jax_num_cpu_devices", processors())
    except RuntimeError:  # used before
        return

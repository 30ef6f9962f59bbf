"""Short runs of both engines, each in a separate process, so that crashes and hangs are reported.

Five Vegas flows with alpha = 2 and beta = 4 share one link and fill it. At equilibrium each has 2
to 4 packets in the queue, so that it holds 10 to 20. Windows are whole packets, so one packet per
flow more or less is accepted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vegasfluid.interruption import at_interruption

if TYPE_CHECKING:
    import xarray as xr

    from vegasfluid.network import Network

__all__ = ["FLOWS", "QUEUE", "TIMEOUT", "Outcome", "print_result", "run_in_process"]

FLOWS = 5
"""Number of Vegas flows in a short run."""
ALPHA, BETA = 2, 4
"""Thresholds alpha and beta of these flows, packets."""
QUEUE = (FLOWS * (ALPHA - 1), FLOWS * (BETA + 1))
"""Accepted range of the mean queue in a short run, packets."""
UNTIL, WARMUP = 20.0, 10.0
"""Duration and warm-up of a run, s."""
TIMEOUT = 600.0
"""Seconds after which a run is aborted; on an idle machine it takes about ten."""
MESSAGE_LENGTH = 200
"""Largest number of characters of an error message."""


class Outcome(NamedTuple):
    """Result of a short run: its means, or why it failed, and its wall time.

    Args:
        numbers: means of the run, with the unit in the key; empty if it failed.
        failed: why it failed, in one line; empty if it did not.
        seconds: wall time of the process, s.
    """

    numbers: dict[str, Any]
    failed: str
    seconds: float


def run_in_process(engine: str, limit: float = TIMEOUT) -> Outcome:
    """Run an engine for a short time in a separate process.

    Args:
        engine: `fluid` or `packets`.
        limit: seconds after which it is aborted.

    Returns:
        Means of the run, or why it failed (an error, a crash, no result in time), and the wall
        time (s).
    """
    begin = time.perf_counter()

    def ended(failed: str, numbers: dict[str, Any] | None = None) -> Outcome:
        """Outcome with the failure (empty: none), the means, and the wall time until now."""
        return Outcome(numbers or {}, failed, time.perf_counter() - begin)

    code = f"from vegasfluid.cli.doctor.short_runs import print_result; print_result({engine!r})"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([sys.executable, "-c", code], **pipes) as process,
        at_interruption(process.kill),
    ):
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return ended(f"no result after {limit:g} s")
    if process.returncode < 0:
        return ended(f"it crashed (signal {-process.returncode})")
    if process.returncode:
        lines = err.strip().splitlines() or [f"it ended with status {process.returncode}"]
        return ended(lines[-1][:MESSAGE_LENGTH])
    return ended("", json.loads(out.splitlines()[-1]))


def print_result(engine: str) -> None:
    """Run `engine` in this process and print its means as JSON on the last line."""
    print(json.dumps(RUNS[engine]()))


def network() -> Network:
    """Network of five Vegas flows (alpha 2, beta 4 packets, base RTT 40 ms) on a 10 Mbit/s link."""
    import vegasfluid as vf

    vegas = vf.Flows(FLOWS, vf.Vegas(alpha=ALPHA, beta=BETA), base_rtt=vf.ms(40))
    return vf.Network(vf.Link(capacity=vf.mbps(10), buffer=100), {"vegas": vegas})


def numbers_of(run: xr.Dataset) -> dict[str, Any]:
    """Means of a run after the warm-up that the two engines must agree on.

    Returns:
        `queue_packets`, `utilisation` (0 to 1) and `goodput_packets_per_s` (of one flow).
    """
    from vegasfluid import metrics

    return {
        "queue_packets": float(run["queue"].sel(time=slice(WARMUP, UNTIL)).mean()),
        "utilisation": float(metrics.utilisation(run)[0]),
        "goodput_packets_per_s": float(metrics.goodput(run)[0]),
    }


def fluid() -> dict[str, Any]:
    """Run the fluid model on `network()` for 20 s; return its means and the devices of JAX.

    Returns:
        Means after a warm-up of 10 s: `queue_packets`, `utilisation` (0 to 1) and
        `goodput_packets_per_s` (of one flow); and `devices`, the platform and kind of each.
    """
    import jax

    import vegasfluid as vf
    from vegasfluid.caches import keep_compiled_equations

    keep_compiled_equations()
    numbers = numbers_of(vf.simulate_fluid(network(), UNTIL, warmup=WARMUP))
    devices = [
        {"platform": device.platform, "kind": device.device_kind} for device in jax.devices()
    ]
    return numbers | {"devices": devices}


def packets() -> dict[str, Any]:
    """Run the packet simulator on `network()` for 20 s, and save and plot the run.

    Returns:
        Means after a warm-up of 10 s: `queue_packets`, `utilisation` (0 to 1) and
        `goodput_packets_per_s` (of one flow); and `files`, the error of saving or plotting, empty
        if there is none.
    """
    import vegasfluid as vf

    run = vf.simulate_packets(network(), UNTIL, warmup=WARMUP)
    return numbers_of(run) | {"files": saved_and_drawn(run)}


def saved_and_drawn(run: xr.Dataset) -> str:
    """Error text of saving, reading and plotting a run; empty if all works."""
    import xarray as xr

    from vegasfluid import plot

    with tempfile.TemporaryDirectory() as folder:
        saved, picture = Path(folder, "run.nc"), Path(folder, "run.png")
        try:
            run.to_netcdf(saved, engine="h5netcdf")
            with xr.open_dataset(saved) as read:
                if not read.load().equals(run):
                    return "a file reads back differently"
            plot.compare(run).savefig(picture)
        except Exception as failed:  # any error is reported
            return f"{type(failed).__name__}: {failed}"[:MESSAGE_LENGTH]
    return ""


RUNS: dict[str, Callable[[], dict[str, Any]]] = {"fluid": fluid, "packets": packets}
"""Functions of the short runs, by engine."""

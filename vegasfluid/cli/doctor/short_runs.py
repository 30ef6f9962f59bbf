"""Short runs that really run, each in a process of its own: what crashes or hangs is told, too.

Five Vegas flows with alpha = 2 and beta = 4 that share one link fill it and rest with 2 to 4
packets each in its queue: 10 to 20 together, by theory. A window is whole packets, so a packet a
flow more or less is well.
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

if TYPE_CHECKING:
    import xarray as xr

    from vegasfluid.network import Network

__all__ = ["FLOWS", "LIMIT", "QUEUE", "Outcome", "outcome", "take_part"]

FLOWS, ALPHA, BETA = 5, 2, 4
QUEUE = (FLOWS * (ALPHA - 1), FLOWS * (BETA + 1))
"""Packets in the queue that are well."""
UNTIL, WARMUP = 20.0, 10.0
LIMIT = 600.0
"""Seconds after which a run is given up; on an idle machine it takes some ten."""
LONGEST = 200


class Outcome(NamedTuple):
    """What became of a run: its numbers, or why there are none."""

    numbers: dict[str, Any]
    failed: str
    seconds: float


def outcome(trial: str, limit: float = LIMIT) -> Outcome:
    """Run a trial in a process of its own.

    Args:
        trial: its name.
        limit: seconds after which it is given up.
    """
    begin = time.perf_counter()

    def ended(failed: str, numbers: dict[str, Any] | None = None) -> Outcome:
        return Outcome(numbers or {}, failed, time.perf_counter() - begin)

    code = f"from vegasfluid.cli.doctor.short_runs import take_part; take_part({trial!r})"
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return ended(f"it was given up after {limit:g} s")
    if done.returncode < 0:
        return ended(f"it crashed (signal {-done.returncode})")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        return ended(lines[-1][:LONGEST])
    return ended("", json.loads(done.stdout.splitlines()[-1]))


def take_part(trial: str) -> None:
    """Do a trial in this process, and print its numbers as JSON on the last line."""
    print(json.dumps(TRIALS[trial]()))


def network() -> Network:
    """Vegas flows that share one link."""
    import vegasfluid as vf

    vegas = vf.Flows(FLOWS, vf.Vegas(alpha=ALPHA, beta=BETA), base_rtt=vf.ms(40))
    return vf.Network(vf.Link(capacity=vf.mbps(10), buffer=100), {"vegas": vegas})


def numbers_of(run: xr.Dataset) -> dict[str, Any]:
    """What the two engines have to agree on."""
    from vegasfluid import metrics

    return {
        "queue_packets": float(run["queue"].sel(time=slice(WARMUP, UNTIL)).mean()),
        "utilisation": float(metrics.utilisation(run)[0]),
        "goodput_packets_per_s": float(metrics.goodput(run)[0]),
    }


def fluid() -> dict[str, Any]:
    """The fluid model, and the devices that JAX computes on."""
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
    """The packet simulator; and its run saved, read and drawn."""
    import vegasfluid as vf

    run = vf.simulate_packets(network(), UNTIL, warmup=WARMUP)
    return numbers_of(run) | {"files": saved_and_drawn(run)}


def saved_and_drawn(run: xr.Dataset) -> str:
    """What goes wrong with a run's file and picture; nothing: an empty text."""
    import xarray as xr

    from vegasfluid import plot

    with tempfile.TemporaryDirectory() as folder:
        saved, picture = Path(folder, "run.nc"), Path(folder, "run.png")
        try:
            run.to_netcdf(saved, engine="h5netcdf")
            with xr.open_dataset(saved) as read:
                if not read.load().equals(run):
                    return "what was read is not what was written"
            plot.compare(run).savefig(picture)
        except Exception as failed:  # whatever it is, it is told
            return f"{type(failed).__name__}: {failed}"[:LONGEST]
    return ""


TRIALS: dict[str, Callable[[], dict[str, Any]]] = {"fluid": fluid, "packets": packets}

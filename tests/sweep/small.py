"""A small model to sweep, and what tests ask of a store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.paths import ROOT
from tests.signals import start
from vegasfluid import Flows, Link, Model, Network, Red, Reno, Vegas
from vegasfluid.modelfile import dumps
from vegasfluid.sweep import Numbers, Sweep
from vegasfluid.sweep.packet_tasks import compute
from vegasfluid.sweep.results import Frame

__all__ = ["ALPHA", "COMMAND", "MODEL", "begun", "chunks_in", "environment", "files_of", "finished"]
__all__ += ["here", "small_chunks", "small_sweep", "write_model"]

ALPHA = "vegas.alpha_packets"
LINK = Link(1000.0, 100, Red(min_thresh=20, max_thresh=80, max_drop=0.1))
MODEL = Model(
    Network(
        LINK,
        {
            "reno": Flows(2, Reno(), base_rtt=0.03),
            "vegas": Flows(2, Vegas(2, 4, dialect="ns2"), base_rtt=0.03),
        },
    ),
    duration=20.0,
    warmup=5.0,
    title="Two against two",
)
COMMAND = [sys.executable, "-c", "from vegasfluid.cli import main; main()", "sweep"]


def small_sweep(**options: Any) -> Sweep:
    """Four alphas and two capacities, in chunks of two points."""
    axes = [Numbers(ALPHA, [1, 2, 4, 8]), Numbers("bottleneck.capacity_mbps", [6, 12])]
    usual = {"engine": "packets", "seeds": (1, 2), "until": 2.0, "chunk": 4}
    return Sweep(MODEL, options.pop("axes", axes), **(usual | options))


def here(sweep: Sweep, *_: Any) -> Any:
    """In the place of `runner.engine_of`: packets without a cluster."""

    def computed(chunks: Sequence[Any]) -> Any:
        frame = Frame(len(sweep.seeds), sweep.classes, sweep.links)
        for chunk in chunks:
            yield chunk, compute(sweep.points_of(chunk), sweep.seeds, frame, sweep.tune)

    return computed


def files_of(store: Path) -> dict[str, bytes]:
    """Every file of a store."""
    files = (file for file in store.rglob("*") if file.is_file())
    return {str(file.relative_to(store)): file.read_bytes() for file in files}


def write_model(folder: Path) -> Path:
    """The model's file."""
    path = folder / "small.toml"
    path.write_text(dumps(MODEL))
    return path


def environment(**more: str) -> dict[str, str]:
    """Of a process that runs this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def finished(arguments: Sequence[Any], **more: str) -> subprocess.CompletedProcess[str]:
    """A sweep by the command, to its end."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, env=environment(**more), capture_output=True, text=True, check=False, timeout=300
    )


def small_chunks(folder: Path, points: int) -> list[Any]:
    """What a sweep is, without where it goes: chunks of one point, some 20 ms of work each."""
    return [
        *(write_model(folder), "--over", f"{ALPHA}=1:{points}:{points}"),
        *("--over", "bottleneck.capacity_mbps=12", "--engine", "packets", "--seeds", "2"),
        *("--until", "300", "--chunk", "2"),
    ]


def begun(asked: Sequence[Any], path: Path, *more: str) -> subprocess.Popen[str]:
    """A sweep that runs, in a separate process group."""
    return start(
        [*COMMAND, *map(str, asked), "--out", str(path), *more],
        env=environment(),
        start_new_session=True,
    )


def chunks_in(path: Path) -> int:
    """How many chunks are whole."""
    files = (path / "status" / "c").rglob("[0-9]*")
    return sum(1 for file in files if file.is_file() and file.name.isdigit())

"""`vegasfluid sweep`: a grid of models, resumable."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vegasfluid import modelfile
from vegasfluid.cli.output import PICTURES, check_target, console, print_json, progress
from vegasfluid.cli.sweep_progress import shown
from vegasfluid.errors import InvalidInput
from vegasfluid.sweep import Progress, Sweep, open_sweep
from vegasfluid.sweep import run as run_sweep
from vegasfluid.sweep.axis_spec import numbers_from, size_from
from vegasfluid.sweep.cost_estimate import Budget, estimate
from vegasfluid.sweep.file_formats import ENDINGS, save

__all__ = ["Where", "run"]

MOST_POINTS = 10_000_000
"""More are only run if that is said twice."""
BYTES = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Where:
    """Where a sweep's results go, and who works on it.

    Args:
        out: the store; None: with `--dry-run` only.
        to: a file of another form; None: none.
        plot: a picture; None: none.
        metric: what is drawn.
        plot_over: along which dimensions.
        workers: processes of a local cluster.
        scheduler: the address of another one.
        multi_host: whether this is one of the processes of a JAX job.
    """

    out: Path | None
    to: Path | None
    plot: Path | None
    metric: str
    plot_over: tuple[str, ...]
    workers: int | None
    scheduler: str | None
    multi_host: bool


def run(
    name: str,
    over: Sequence[str],
    *,
    where: Where,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Do a sweep, or say what it would take."""
    check_where(where, dry_run, options["engine"])
    model = modelfile.read_model(name)
    points = math.prod(map(size_from, over))
    if points > MOST_POINTS and not yes:
        allowed = f"of {MOST_POINTS} points or less, or with --yes"
        raise InvalidInput("sweep", "--over", allowed, f"{points} points")
    command = command_of(name, over, options)
    axes = [numbers_from(text) for text in over]
    sweep = Sweep(model, axes, name=name, command=command, **options)
    if sweep.engine != "packets":
        prepare_devices(where.multi_host)
    if dry_run:
        with progress("sweep: trying a few points"):
            budget = estimate(sweep, where.workers)
        show_budget(budget, as_json)
        return
    assert where.out is not None
    begin = time.perf_counter()
    with shown(where.out) as report:
        reached = run_sweep(
            sweep,
            where.out,
            workers=where.workers,
            scheduler=where.scheduler,
            multi_host=where.multi_host,
            report=report,
        )
    hand_out(where)
    show(where.out, reached, time.perf_counter() - begin, as_json)


def check_where(where: Where, dry_run: bool, engine: str) -> None:
    """Refuse what could not be done, before the work."""
    if where.out is None and not dry_run:
        raise InvalidInput("sweep", "--out", "given, or else --dry-run", "missing")
    if where.out is not None and not where.out.resolve().parent.is_dir():
        raise InvalidInput("sweep", "--out", "in a folder that exists", str(where.out))
    check_target("sweep", "--to", where.to, ENDINGS)
    check_target("sweep", "--plot", where.plot, PICTURES)
    if engine != "packets":
        for option in ("workers", "scheduler"):
            if (given := getattr(where, option)) is not None:
                raise InvalidInput("sweep", f"--{option}", "used with packets only", given)
    elif where.multi_host:
        raise InvalidInput("sweep", "--multi-host", "used with fluid or density only", "packets")


def command_of(name: str, over: Sequence[str], options: dict[str, Any]) -> str:
    """The command without what changes no number: where to, how many workers."""
    seeds = options["seeds"]
    words = ["vegasfluid", "sweep", name]
    words += [word for text in over for word in ("--over", text)]
    words += ["--engine", options["engine"]]
    if options["engine"] == "packets":
        words += ["--seeds", str(len(seeds)), "--seed", str(seeds[0])]
    for name in ("until", "warmup", "tune", "chunk"):
        if options[name] is not None:
            words += [f"--{name}", str(options[name])]
    words += ["--fine"] * options["fine"]
    return shlex.join(words)


def prepare_devices(multi_host: bool) -> None:
    """Every core of this machine is a device to JAX, and compiled equations are kept."""
    import jax

    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.sweep.devices import use_every_core

    keep_compiled_equations()
    use_every_core()
    if multi_host:
        jax.distributed.initialize()


def hand_out(where: Where) -> None:
    """The results in other forms."""
    assert where.out is not None
    if where.to is not None:
        save(open_sweep(where.out), where.to)
    if where.plot is not None:
        from vegasfluid.plot import sweep_panels

        figure = sweep_panels(open_sweep(where.out), where.metric, where.plot_over)
        figure.savefig(where.plot, dpi=150)


def show(out: Path, reached: Progress, seconds: float, as_json: bool) -> None:
    """What was done."""
    done = reached.done - reached.failed
    if as_json:
        told = {"out": str(out), "points": reached.points, "done": done}
        print_json(told | {"failed": reached.failed, "seconds": seconds})
        return
    line = f"{out}: {done} of {reached.points} points"
    if reached.failed:
        line += f"; {reached.failed} failed (see `reason`)"
    console().print(f"{line}; {seconds:.1f} s.", soft_wrap=True)


def show_budget(budget: Budget, as_json: bool) -> None:
    """What a sweep would take."""
    if as_json:
        print_json(vars(budget))
        return
    out = console()
    out.print(f"points   {budget.points}")
    out.print(f"runs     {budget.runs}")
    out.print(f"time     about {duration(budget.seconds)} with {budget.workers} workers")
    out.print(f"memory   about {size(budget.memory_bytes)}")
    out.print(f"disk     about {size(budget.disk_bytes)} in {budget.chunks} chunks")


def duration(seconds: float) -> str:
    """A time as people say it."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"


def size(count: float) -> str:
    """Bytes as people say them."""
    power = min(int(math.log(max(count, 1.0), 1000)), len(BYTES) - 1)
    return f"{count / 1000**power:.3g} {BYTES[power]}"

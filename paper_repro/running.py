"""Runs of all experiments: packets several at a time, the fluid between them; nothing is kept
but what each job asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from paper_repro.experiment import Experiment, Job
from vegasfluid.packet import simulate_packets
from vegasfluid.parallel import processors

__all__ = ["run_jobs"]


class Task(NamedTuple):
    """One run of one job."""

    experiment: str
    job: str
    place: int
    """Which of the job's seeds."""
    of: Job


def tasks_of(jobs: Mapping[str, Mapping[str, Job]]) -> list[Task]:
    """All runs; the longest jobs first, so that no core waits for one at the end."""
    tasks = [
        Task(experiment, name, place, job)
        for experiment, own in jobs.items()
        for name, job in own.items()
        for place in range(len(job.seeds) if job.engine == "packets" else 1)
    ]
    return sorted(tasks, key=lambda task: -effort(task.of))


def effort(job: Job) -> float:
    """About how many packets a run sends."""
    return job.until * sum(link.capacity for link in job.network.links.values())


def perform(task: Task) -> Any:
    """Simulate, and keep what is asked for."""
    job = task.of
    if job.engine == "fluid":
        from vegasfluid.fluid import simulate_fluid

        run = simulate_fluid(job.network, job.until, warmup=job.warmup, samples=job.samples)
    else:
        run = simulate_packets(
            job.network,
            job.until,
            warmup=job.warmup,
            seed=job.seeds[task.place],
            samples=job.samples,
            bin_width=job.bin_width,
        )
    return job.keep(run)


def run_jobs(
    experiments: Iterable[Experiment],
    *,
    workers: int | None = None,
    report: Callable[[int, int], None] = lambda done, all_of_them: None,
) -> Mapping[str, Mapping[str, list[Any]]]:
    """Run all that the experiments need.

    Args:
        experiments: whose jobs are run.
        workers: runs at a time; None: as many as there are processors. No result depends on it.
        report: is told how many runs are done, and of how many.

    Returns:
        For each experiment and each of its jobs, in their order, what was kept, a seed each.
    """
    jobs = {experiment.name: experiment.jobs() for experiment in experiments}
    tasks = tasks_of(jobs)
    kept: dict[int, Any] = {}
    with ThreadPoolExecutor(workers or processors()) as pool:
        futures: dict[Future[Any], int] = {
            pool.submit(perform, task): number for number, task in enumerate(tasks)
        }
        try:
            for future in as_completed(futures):
                kept[futures[future]] = future.result()
                report(len(kept), len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    # In the order in which jobs are told, whichever run was done first.
    results: dict[str, dict[str, list[Any]]] = {
        experiment: {name: [] for name in own} for experiment, own in jobs.items()
    }
    for number in sorted(kept, key=lambda number: tasks[number].place):
        task = tasks[number]
        results[task.experiment][task.job].append(kept[number])
    return results

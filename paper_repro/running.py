"""Run the jobs of experiments in parallel and keep only the results that each job defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from paper_repro.experiment import Experiment, Job
from vegasfluid.packet import simulate_packets
from vegasfluid.parallel import processors

__all__ = ["run_jobs"]


class Task(NamedTuple):
    """One run of a job.

    Args:
        experiment: name of the experiment.
        name: name of the job in it.
        seed_index: index of the seed in the job's seeds.
        job: the job.
    """

    experiment: str
    name: str
    seed_index: int
    job: Job


def tasks_of(jobs: Mapping[str, Mapping[str, Job]]) -> list[Task]:
    """Runs of all jobs, the longest first, so that no core idles at the end."""
    tasks = [
        Task(experiment, name, index, job)
        for experiment, by_name in jobs.items()
        for name, job in by_name.items()
        for index in range(len(job.seeds) if job.engine == "packets" else 1)
    ]
    return sorted(tasks, key=lambda task: -effort(task.job))


def effort(job: Job) -> float:
    """Approximate number of packets that a run sends."""
    return job.until * sum(link.capacity for link in job.network.links.values())


def perform(task: Task) -> Any:
    """Simulate a run and return its result."""
    job = task.job
    if job.engine == "fluid":
        from vegasfluid.fluid import simulate_fluid

        run = simulate_fluid(job.network, job.until, warmup=job.warmup, samples=job.samples)
    else:
        run = simulate_packets(
            job.network,
            job.until,
            warmup=job.warmup,
            seed=job.seeds[task.seed_index],
            samples=job.samples,
            bin_width=job.bin_width,
        )
    return job.keep(run)


def run_jobs(
    experiments: Iterable[Experiment],
    *,
    workers: int | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Mapping[str, Mapping[str, list[Any]]]:
    """Run all jobs of experiments.

    Args:
        experiments: the experiments.
        workers: number of parallel runs, which does not affect the results; None: one for each
            processor.
        report: called with the number of finished runs and of all runs.

    Returns:
        Results by experiment and job, in the order of the job's seeds.
    """
    jobs = {experiment.name: experiment.jobs() for experiment in experiments}
    tasks = tasks_of(jobs)
    finished: dict[int, Any] = {}
    with ThreadPoolExecutor(workers or processors()) as pool:
        futures: dict[Future[Any], int] = {
            pool.submit(perform, task): number for number, task in enumerate(tasks)
        }
        try:
            for future in as_completed(futures):
                finished[futures[future]] = future.result()
                report(len(finished), len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    # The order is that of the jobs and seeds, whichever run finished first.
    results: dict[str, dict[str, list[Any]]] = {
        experiment: {name: [] for name in by_name} for experiment, by_name in jobs.items()
    }
    for number in sorted(finished, key=lambda number: tasks[number].seed_index):
        task = tasks[number]
        results[task.experiment][task.name].append(finished[number])
    return results

"""Section 3.1: the switch without outside sources, at the largest number of clients."""

from __future__ import annotations

from collections.abc import Mapping

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import CURRENT, Setting
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import job_of

__all__ = ["ALONE"]

NAME = "alone"


def jobs() -> Mapping[str, Job]:
    """Return the run of 60 Reno clients at each site of the current network."""
    return {"alone": job_of(Setting(CURRENT, "reno", 60, outside="none"), (1,))}


def measure(results: Results) -> Evidence:
    """Record drops (packets) and mean queue (packets) at the switch."""
    summary: Summary = results["alone"][0]
    evidence = Evidence()
    evidence.note(PACKETS, f"{NAME}.switch_drops", summary.switch_drops)
    evidence.note(PACKETS, f"{NAME}.port_queue", summary.port_queue)
    return evidence


ALONE = Experiment(NAME, "Section 3.1: the switch without traffic from outside.", measure, jobs)

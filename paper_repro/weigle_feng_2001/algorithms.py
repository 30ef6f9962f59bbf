"""Section 2: how Reno, Vegas and RED work, in runs of one flow; and figure 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.style import COLOURS, label, panels
from paper_repro.weigle_feng_2001.networks import table_1
from vegasfluid import metrics
from vegasfluid.analysis.closed_forms import drop_tail
from vegasfluid.aqm.base import Average
from vegasfluid.congestion import CongestionControl

__all__ = ["FIGURE_1", "SECTION_2"]

BRAKMO = "packets, Vegas by the book"
"""Source of evidence from Vegas as its authors describe it, where ns-2 counts differently."""
RTT = 0.12
"""Base round-trip time, s (chosen)."""
PIPE = 100.0
"""Bandwidth-delay product of figure 1, packets (chosen)."""
WIDE = 1e5
"""Capacity that one flow does not fill in slow start, packets/s."""
TO_QUEUE = 0.01
"""Delay between a sender and the queue where losses are timed, s (chosen)."""
CLIMB = 30
"""Number of round trips that are measured."""


def one_flow(
    law: CongestionControl, capacity: float, buffer: float, **fields: object
) -> vf.Network:
    """Return a network with one flow over a drop-tail link."""
    flows = {law.name: vf.Flows(1, law, base_rtt=RTT, **fields)}  # type: ignore[arg-type]
    return vf.Network(vf.Link(capacity, buffer), flows)


def windows(run: xr.Dataset) -> np.ndarray:
    """Return the congestion window at the sample times, packets; (time,)."""
    return run["cwnd"].isel(flow_class=0).values


def by_round_trip(network: vf.Network, rounds: int = CLIMB) -> Job:
    """Return a run with two samples in each round trip."""
    return Job(network, (rounds + 0.5) * RTT, keep=windows, samples=2 * rounds + 2)


def vegas(alpha: int, beta: int, dialect: str = "ns2") -> vf.Vegas:
    """Return a Vegas with these thresholds (packets)."""
    return vf.Vegas(alpha=alpha, beta=beta, gamma=1, dialect=dialect)


def longer_path() -> vf.Network:
    """Return a Vegas flow whose RTT grows at 20 s, which it takes for a queue."""
    network = one_flow(vegas(1, 3), PIPE / RTT, 100)
    return replace(network, events=(vf.Event(20.0, "access", 2 * RTT),))


def queue_of(run: xr.Dataset) -> float:
    """Return the mean queue after the warm-up, packets."""
    return float(metrics.mean_queue(run)[0])


def used_and_queued(run: xr.Dataset) -> tuple[float, float]:
    """Return the utilisation and the mean queue (packets) after the warm-up."""
    return float(metrics.utilisation(run)[0]), float(metrics.mean_queue(run)[0])


def known_delays() -> vf.Network:
    """Return a network with a Reno flow whose queue is 10 ms from the sender; RTT as elsewhere."""
    flows = {"reno": vf.Flows(1, vf.Reno(), access_delay=TO_QUEUE, initial_ssthresh=64.0)}
    delay = RTT / 2 - 2 * TO_QUEUE
    return vf.Network(vf.Link(PIPE / RTT, 20, delay=delay), flows)


def smallest_delay(run: xr.Dataset) -> float:
    """Return the smallest delay of a retransmission behind the lost packet, in base RTTs.

    Both arrive at the queue 10 ms after they were sent. A sample is the end of its interval, so
    that times of losses are late by up to 5 ms, and the result is a lower bound.
    """
    times, flow = run["time"].values, run.isel(flow_class=0)
    lost, resent = (
        times[1:][np.diff(flow[name].values) > 0] for name in ("dropped", "retransmitted")
    )
    later = [resent[resent >= time].min() - time for time in lost if (resent >= time).any()]
    return (min(later) + TO_QUEUE) / RTT


def section_2_jobs() -> Mapping[str, Job]:
    """Return runs of one flow each."""
    unbounded = replace(vegas(1, 3), gamma=1000)  # gamma never ends slow start
    jobs = {
        f"slow_start_{law.name}": by_round_trip(one_flow(law, WIDE, 1e4), 12)
        for law in (vf.Reno(), unbounded)
    }
    jobs["reno_climbs"] = by_round_trip(one_flow(vf.Reno(), WIDE, 1e4, initial_ssthresh=16.0))
    jobs["vegas_climbs"] = by_round_trip(one_flow(vegas(50, 60), WIDE, 1e4, initial_ssthresh=16.0))
    jobs["vegas_falls"] = Job(longer_path(), 30.0, keep=lambda run: run, samples=251)
    for dialect in ("ns2", "brakmo"):
        network = one_flow(vegas(1, 3, dialect), PIPE / RTT, 100)
        jobs[f"vegas_queue_{dialect}"] = Job(network, 120.0, keep=queue_of, warmup=60.0)
    for alpha in (3, 30):
        network = one_flow(vegas(alpha, alpha + 2), PIPE / RTT, 100)
        jobs[f"only_queue_{alpha}"] = Job(network, 120.0, keep=used_and_queued, warmup=60.0)
    jobs["losses"] = Job(known_delays(), 60.0, keep=smallest_delay, samples=12_001)
    return jobs


def a_round(samples: np.ndarray) -> np.ndarray:
    """Return one sample per round trip, from its middle, without the first."""
    return samples[3::2]


def doublings(samples: np.ndarray, rounds: int) -> float:
    """Return the mean log2 growth of a window in some number of round trips."""
    middles = a_round(samples)
    return float(np.mean(np.log2(middles[rounds:] / middles[:-rounds])))


def steps(samples: np.ndarray) -> float:
    """Return the mean growth after slow start, packets per round trip."""
    return float(np.mean(np.diff(a_round(samples)[10:])))


def measure_section_2(results: Results) -> Evidence:
    """Record the growth of windows, and what Vegas keeps in the queue."""
    evidence = Evidence()
    (run,) = results["vegas_falls"]
    before, after = (run.sel(time=slice(*period)) for period in ((15, 20), (21, 28)))
    slope = np.polyfit(after["time"], after["cwnd"].isel(flow_class=0), 1)[0]
    (few,), (many,) = results["only_queue_3"], results["only_queue_30"]
    measures = {
        "reno_doublings": doublings(results["slow_start_reno"][0], 1),
        "vegas_doublings": doublings(results["slow_start_vegas"][0], 2),
        "reno_step": steps(results["reno_climbs"][0]),
        "vegas_step": steps(results["vegas_climbs"][0]),
        "vegas_fall": float(slope) * 2 * RTT,
        "vegas_rest": float(np.ptp(before["cwnd"].values)),
        "vegas_queue": results["vegas_queue_ns2"][0],
        "used_with_more_queued": many[0] - few[0],
        "more_queued": many[1] - few[1],
        "late_by_trips": results["losses"][0],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"section2.{name}", value)
    evidence.note(BRAKMO, "section2.vegas_queue", results["vegas_queue_brakmo"][0])
    note_red(evidence)
    return evidence


def note_red(evidence: Evidence) -> None:
    """Record RED's drop probability on network 1 below, between and above its thresholds."""
    red = table_1(1).link.aqm
    assert isinstance(red, vf.Red)
    low, high = red.min_thresh, red.max_thresh
    ranges = {
        "below": [0.0, low / 2, low],
        "between": [low + part * (high - low) for part in (0.25, 0.5, 0.75)],
        "above": [1.5 * high, 2 * high],
    }
    for name, averages in ranges.items():
        probabilities = [float(red.curve(Average(average))) for average in averages]
        evidence.note(ARITHMETIC, f"section2.red_{name}", probabilities)


SECTION_2 = Experiment(
    "section2", "How Reno, Vegas and RED work", measure_section_2, section_2_jobs, quick=True,
    single_rules=True,
)  # fmt: skip


SECONDS = 300.0
"""Simulated time of figure 1, s."""
SETTLED = 100.0
"""Warm-up of figure 1, s."""
SHOWN = 40.0
"""Time that figure 1 shows, s."""


class FlowRates(NamedTuple):
    """Rates and losses of a flow at a link without a queue."""

    times: np.ndarray
    """Ends of the sampling intervals, s; (time,)."""
    rates: np.ndarray
    """Delivered packets as a fraction of the capacity, in each 0.25 s; (time,)."""
    used: float
    """Utilisation of the link after the warm-up."""
    cut: float
    """Mean ssthresh as a fraction of the largest window, after the warm-up."""
    losses: float
    """Packets lost after the warm-up."""


def flow_rates(run: xr.Dataset) -> FlowRates:
    """Return rates over time, and means after the warm-up."""
    times, delivered = run["time"].values, run["delivered"].isel(flow_class=0).values
    rates = np.diff(delivered) / np.diff(times) / float(run["capacity"][0])
    late = run.sel(time=slice(SETTLED, None)).isel(flow_class=0)
    dropped = float(late["dropped"][-1] - late["dropped"][0])
    peak = float(late["cwnd"].max())
    used = float(metrics.utilisation(run)[0])
    return FlowRates(times[1:], rates, used, float(late["ssthresh"].mean()) / peak, dropped)


def figure_1_jobs() -> Mapping[str, Job]:
    """Return runs of one flow of each congestion control; one packet can wait in the queue."""
    laws = {"reno": vf.Reno(), "vegas": vegas(1, 3), "vegas_brakmo": vegas(1, 3, "brakmo")}
    return {
        name: Job(
            one_flow(law, PIPE / RTT, 1), SECONDS, keep=flow_rates, warmup=SETTLED, samples=1201
        )
        for name, law in laws.items()
    }


def measure_figure_1(results: Results) -> Evidence:
    """Record utilisation and losses, and ssthresh of Reno."""
    evidence = Evidence()
    (reno,), (vegas_rates,) = results["reno"], results["vegas"]
    measures = {
        "reno_used": reno.used,
        "reno_cut": reno.cut,
        "reno_losses": reno.losses,
        "vegas_used": vegas_rates.used,
        "vegas_losses": vegas_rates.losses,
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"figure1.{name}", value)
    (brakmo,) = results["vegas_brakmo"]
    evidence.note(BRAKMO, "figure1.vegas_used", brakmo.used)
    evidence.note(BRAKMO, "figure1.vegas_losses", brakmo.losses)
    used = drop_tail.reno_utilisation()(filling=1e-9)
    evidence.note("theory, sawtooth", "figure1.reno_used", used)
    return evidence


def draw_figure_1(results: Results) -> Figure:
    """Plot the link's utilisation over time."""
    figure, ((axes,),) = panels()
    for law in ("reno", "vegas"):
        (flow,) = results[law]
        period = (flow.times > SETTLED) & (flow.times <= SETTLED + SHOWN)
        colour = COLOURS[law]
        axes.plot(flow.times[period] - SETTLED, flow.rates[period], color=colour, label=law.title())
    axes.axhline(1.0, color=COLOURS["theory"], linestyle=":", label="optimal bandwidth")
    axes.set_ylim(0, 1.35)
    label(axes, "Figure 1: ideal link utilisation", "time (s)", "part of the bandwidth")
    return figure


FIGURE_1 = Experiment(
    "figure1", "Figure 1: ideal link utilisation of Reno and Vegas", measure_figure_1,
    figure_1_jobs, draw_figure_1, quick=True,
)  # fmt: skip

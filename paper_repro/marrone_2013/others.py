"""What the paper leaves open: a LAN, competition, and what jitter does; and timers of 500 ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.environment import ENLARGED_WINDOW, LAWS, Environment
from paper_repro.marrone_2013.recorded_flow import FIVE, each_law
from paper_repro.marrone_2013.section2_reno import BUFFER, CAPACITY, ROUND_TRIP

__all__ = ["OPEN_QUESTIONS", "against", "bsd_timeout"]

NAMES = ("reno", "cubic", "vegas")
"""Congestion controls."""
LAN = Environment(0.0004)
"""A LAN: a round trip of 0.4 ms over the same link."""
LAN_SECONDS = 20.0
"""Simulated time in the LAN, s."""
WAN = Environment(0.1, 0.0, ENLARGED_WINDOW)
"""Environment of competition."""
COMPETING = 300.0
"""Simulated time of competition, s."""
SEEDS = (1, 2, 3)
"""Seeds of competition."""
JITTERED = Environment(0.1, 0.001)
"""Environment of section 4.2."""
BRIEF = 100.0
"""Simulated time of a test, s."""
TICK = 0.5
"""Grain of BSD's clock, s."""
FEWEST_TICKS = 2
"""Smallest timeout of BSD, ticks."""
COARSE, FINE = 1.0, 0.2
"""Smallest timeouts with the coarse clock (two ticks) and with a fine one (Linux), s."""


def lan_jobs() -> Mapping[str, Job]:
    """Return tests of the three congestion controls in a LAN."""
    return each_law(LAN, LAN_SECONDS)


def measure_lan(results: Results) -> Evidence:
    """Record mean throughputs (Mbit/s) and times to half the capacity (s)."""
    evidence = Evidence()
    measures = {
        "mbps": [np.mean([run.throughput() for run in results[name]]) for name in NAMES],
        "seconds_to_half": [np.mean([run.half_way() for run in results[name]]) for name in NAMES],
    }
    for name, values in measures.items():
        evidence.note(PACKETS, f"lan.{name}", [float(value) for value in values])
    return evidence


def delivered(run: xr.Dataset) -> dict[str, float]:
    """Return the packets delivered to each class."""
    last = run["delivered"].isel(time=-1)
    return {str(name): float(last.sel(flow_class=name)) for name in run["flow_class"].values}


def against(names: Sequence[str]) -> Job:
    """Return a test of several congestion controls on the same path."""
    networks = [WAN.network(name) for name in names]
    flows = {name: flow for network in networks for name, flow in network.flows.items()}
    network = vf.Network(networks[0].links, flows, networks[0].packet_bytes, networks[0].ack_bytes)
    return Job(network, COMPETING, keep=delivered, seeds=SEEDS)


def competition_jobs() -> Mapping[str, Job]:
    """Return tests of each pair of congestion controls."""
    return {" ".join(pair): against(pair) for pair in combinations(NAMES, 2)}


def measure_competition(results: Results) -> Evidence:
    """Record the goodput of one congestion control over that of the other."""
    evidence = Evidence()
    for first, second in (("vegas", "reno"), ("vegas", "cubic"), ("cubic", "reno")):
        runs = results.get(f"{second} {first}") or results[f"{first} {second}"]
        ratios = [run[first] / run[second] for run in runs]
        evidence.note_mean(PACKETS, f"competition.{first}_over_{second}", ratios)
    return evidence


def resent_and_dropped(run: xr.Dataset) -> tuple[float, float]:
    """Return retransmissions and drops."""
    last = run.isel(time=-1, flow_class=0)
    return float(last["retransmitted"]), float(last["dropped"])


def reordering_jobs() -> Mapping[str, Job]:
    """Return tests of Vegas with jitter."""
    network = JITTERED.network("vegas", LAWS["vegas"])
    return {"vegas": Job(network, BRIEF, keep=resent_and_dropped, seeds=FIVE)}


def overtaken(packets: int = 1_000_000) -> float:
    """Return the fraction of packets that the next one overtakes, with delays of netem.

    Packets leave at the capacity of the routers' link, and their delays are independent.
    """
    spacing = 1 / (JITTERED.product / JITTERED.round_trip)
    delays = np.random.default_rng(1).uniform(0, 2 * JITTERED.jitter, packets)
    return float((delays[:-1] > spacing + delays[1:]).mean())


def measure_reordering(results: Results) -> Evidence:
    """Record the fraction of overtaken packets, and that of retransmissions without a drop."""
    evidence = Evidence()
    evidence.note(ARITHMETIC, "reordering.overtaken", overtaken())
    resent, dropped = np.sum(results["vegas"], axis=0)
    evidence.note(PACKETS, "reordering.spurious_share", float(1 - dropped / resent))
    evidence.note(PACKETS, "reordering.resent", float(resent) / len(FIVE))
    return evidence


def bsd_timeout(rtt: float, samples: int = 100) -> float:
    """Return BSD's retransmission timeout after many equal RTTs, s.

    RTTs are counted in whole ticks, rounded at random phases; the timeout is the smoothed RTT plus
    four deviations, at least two ticks (Jacobson, SIGCOMM 1988).

    >>> bsd_timeout(0.1)
    1.0
    """
    phases = np.random.default_rng(1).uniform(0, TICK, samples)
    ticks = np.floor((phases + rtt) / TICK)
    smoothed, deviation = float(ticks[0]), 0.0
    for sample in ticks:
        error = float(sample) - smoothed
        smoothed += error / 8
        deviation += (abs(error) - deviation) / 4
    return TICK * max(FEWEST_TICKS, round(smoothed + 4 * deviation))


def longest_pause(run: xr.Dataset) -> float:
    """Return the longest time without a new packet at the receiver, s."""
    moves = run["time"].values[1:][np.diff(run["delivered"].values[:, 0]) > 0]
    return float(np.diff(moves).max())


def overshooting(min_rto: float) -> Job:
    """Return a slow start that loses many packets of one window, with a smallest timeout (s)."""
    reno = vf.Flows(
        1, vf.Reno(), base_rtt=ROUND_TRIP, host="textbook", initial_ssthresh=1e5, min_rto=min_rto
    )
    network = vf.Network(vf.Link(CAPACITY, BUFFER), {"reno": reno})
    return Job(network, 10.0, keep=longest_pause, samples=1001)


def measure_grain(results: Results) -> Evidence:
    """Record the coarse timeout over the RTT, and the pause that it adds, s."""
    evidence = Evidence()
    evidence.note(ARITHMETIC, "section2_grain.timer_over_rtt", bsd_timeout(ROUND_TRIP) / ROUND_TRIP)
    pauses = [results[name][0] for name in ("coarse", "fine")]
    evidence.note(PACKETS, "section2_grain.coarse_minus_fine", pauses[0] - pauses[1])
    return evidence


def grain_jobs() -> Mapping[str, Job]:
    """Return slow starts with the coarse and the fine timer."""
    return {"coarse": overshooting(COARSE), "fine": overshooting(FINE)}


OPEN_QUESTIONS = [
    Experiment("section2_grain", "Section 2.3: timers of 500 ms", measure_grain, grain_jobs),
    Experiment("lan", "Section 6: a LAN", measure_lan, lan_jobs),
    Experiment("competition", "Section 6: competition", measure_competition, competition_jobs),
    Experiment("reordering", "Section 6: jitter", measure_reordering, reordering_jobs),
]

"""The paper's calculations, repeated."""

from __future__ import annotations

from paper_repro.experiment import ARITHMETIC, Evidence, Experiment, Results
from paper_repro.weigle_feng_2001.heuristics import LOWS, QUEUES, less_two, third_of
from paper_repro.weigle_feng_2001.networks import read_as_round_trips, table_1
from paper_repro.weigle_feng_2001.tables import in_flight, nodes, propagation_ms
from vegasfluid.analysis.closed_forms import drop_tail

__all__ = ["FORMULAS", "SECONDS", "full_two_way", "full_utilisation"]

SECONDS = 200
"""Duration of each simulation, s."""
DATA = 1500
"""Size of a data packet, bytes."""
ACK = 40
"""Size of an ACK, bytes."""
BITS_OF_PACKET = 8 * DATA
"""Size of a data packet, bits."""
THERE_AND_BACK = "arithmetic, delays there and back"
"""Source of the evidence with table 1's delays read as round-trip delays."""
KIBI = "arithmetic, 1024 bytes a KB"
"""Source of the evidence with 1 KB of 1024 bytes."""
SAWTOOTH = "theory, sawtooth over 25 packets"
"""Source of the evidence from the theory of Reno's sawtooth."""


def full_utilisation(number: int) -> float:
    """Return the data packets that a network's link can send in a simulation."""
    return table_1(number).link.capacity * SECONDS


def full_two_way() -> float:
    """Return the same for network 1 when ACKs of as many reverse packets share the link."""
    return full_utilisation(1) * DATA / (DATA + ACK)


def note(evidence: Evidence, **measures: float | list[float]) -> None:
    """Record numbers of this experiment."""
    for name, value in measures.items():
        evidence.note(ARITHMETIC, f"formulas.{name}", value)


def note_delays(evidence: Evidence) -> None:
    """Record RTTs and packets in flight, for both readings of table 1's delays."""
    networks = [table_1(number) for number in (1, 2, 3, 4)]
    readings = {
        ARITHMETIC: networks,
        THERE_AND_BACK: [read_as_round_trips(network) for network in networks],
    }
    for source, one in readings.items():
        per_node = [in_flight(network) / nodes(network) for network in one]
        measures = {
            "rtt_ms_2": propagation_ms(one[1]),
            "rtt_ms_4": propagation_ms(one[3]),
            "mb_in_flight_4": in_flight(one[3]) * DATA / 1e6,
            "in_flight_4": in_flight(one[3]),
            "in_flight_a_flow_2": per_node[1],
            "in_flight_a_flow_4": per_node[3],
            "in_flight_a_flow_prior": per_node[:3],
        }
        for name, value in measures.items():
            evidence.note(source, f"formulas.{name}", value)


def note_shares_of_the_buffer(evidence: Evidence) -> None:
    """Record B_R and B_V, from section 4.1's constraints and from the theory of the sawtooth."""
    half, reno_uses, vegas_uses = 0.5, 0.75, 1.0
    b_r, b_v = half / reno_uses, half / vegas_uses
    note(evidence, b_r=b_r, b_v=b_v, reno_over_vegas=b_r / b_v)
    base_rtt, queue = propagation_ms(table_1(1)) / 1e3, table_1(1).link.buffer
    fraction = drop_tail.fair_backlog(queue, table_1(1).link.capacity, base_rtt) / queue
    evidence.note(SAWTOOTH, "formulas.b_r", 1 - fraction)
    evidence.note(SAWTOOTH, "formulas.b_v", fraction)
    evidence.note(SAWTOOTH, "formulas.reno_over_vegas", (1 - fraction) / fraction)


def note_heuristics(evidence: Evidence) -> None:
    """Record alpha and beta of the heuristics of sections 4.1 and 4.2, as the runs use them."""
    by_queue = [third_of(queue) for queue in QUEUES]
    by_threshold = [less_two(low) for low in LOWS]
    for name, pairs in {"queue": by_queue, "red": by_threshold}.items():
        for place, parameter in enumerate(("alphas", "betas")):
            note(evidence, **{f"{name}_{parameter}": [float(pair[place]) for pair in pairs]})


def measure(results: Results) -> Evidence:
    """Record the results of all calculations."""
    evidence = Evidence()
    note_delays(evidence)
    note_shares_of_the_buffer(evidence)
    burst = 1000e6 / 8 * propagation_ms(table_1(3)) / 1e3
    network_2, network_3 = table_1(2), table_1(3)
    note(
        evidence,
        full_1=full_utilisation(1),
        full_1_two_way=full_two_way(),
        full_2=full_utilisation(2),
        red_min_over_n_2=network_2.link.aqm.parameters()["min_thresh"] / nodes(network_2),
        red_min_over_n_3=network_3.link.aqm.parameters()["min_thresh"] / nodes(network_3),
        bytes_of_7_ms=burst / 1000,
        mbps_by_interval=BITS_OF_PACKET / (100e6 / BITS_OF_PACKET) / 1e6,
    )
    note_heuristics(evidence)
    evidence.note(KIBI, "formulas.bytes_of_7_ms", burst / 1024)
    return evidence


FORMULAS = Experiment("formulas", "The paper's own arithmetic", measure, quick=True)

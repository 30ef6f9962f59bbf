"""What the paper computes by hand, computed anew."""

from __future__ import annotations

from paper_repro.experiment import ARITHMETIC, Evidence, Experiment, Results
from paper_repro.weigle_feng_2001.networks import read_as_round_trips, table_1
from paper_repro.weigle_feng_2001.tables import in_flight, nodes, propagation_ms
from vegasfluid.analysis.closed_forms import drop_tail

__all__ = ["FORMULAS", "SECONDS", "full_two_way", "full_utilisation"]

SECONDS = 200
"""Of each simulation."""
DATA, ACK = 1500, 40
"""Bytes."""
BITS_OF_PACKET = 8 * DATA
THERE_AND_BACK = "arithmetic, delays there and back"
KIBI = "arithmetic, 1024 bytes a KB"
SAWTOOTH = "theory, sawtooth over 25 packets"


def full_utilisation(number: int) -> float:
    """Data packets that the link of a network sends in a whole simulation."""
    return table_1(number).link.capacity * SECONDS


def full_two_way() -> float:
    """The same of network 1 where as many ACKs of the other direction share the link."""
    return full_utilisation(1) * DATA / (DATA + ACK)


def note(evidence: Evidence, **found: float | list[float]) -> None:
    """Note numbers of this experiment."""
    for name, value in found.items():
        evidence.note(ARITHMETIC, f"formulas.{name}", value)


def note_delays(evidence: Evidence) -> None:
    """Round trips, and packets in flight, by both readings of table 1's delays."""
    networks = [table_1(number) for number in (1, 2, 3, 4)]
    readings = {
        ARITHMETIC: networks,
        THERE_AND_BACK: [read_as_round_trips(network) for network in networks],
    }
    for source, read in readings.items():
        each = [in_flight(network) / nodes(network) for network in read]
        found = {
            "rtt_ms_2": propagation_ms(read[1]),
            "rtt_ms_4": propagation_ms(read[3]),
            "mb_in_flight_4": in_flight(read[3]) * DATA / 1e6,
            "in_flight_4": in_flight(read[3]),
            "in_flight_a_flow_2": each[1],
            "in_flight_a_flow_4": each[3],
            "in_flight_a_flow_prior": each[:3],
        }
        for name, value in found.items():
            evidence.note(source, f"formulas.{name}", value)


def note_shares_of_the_buffer(evidence: Evidence) -> None:
    """B_R and B_V by the constraints of section 4.1, and by theory of the sawtooth."""
    half, reno_uses, vegas_uses = 0.5, 0.75, 1.0
    b_r, b_v = half / reno_uses, half / vegas_uses
    note(evidence, b_r=b_r, b_v=b_v, reno_over_vegas=b_r / b_v)
    base_rtt, queue = propagation_ms(table_1(1)) / 1e3, table_1(1).link.buffer
    share = drop_tail.fair_backlog(queue, table_1(1).link.capacity, base_rtt) / queue
    evidence.note(SAWTOOTH, "formulas.b_r", 1 - share)
    evidence.note(SAWTOOTH, "formulas.b_v", share)
    evidence.note(SAWTOOTH, "formulas.reno_over_vegas", (1 - share) / share)


def measure(results: Results) -> Evidence:
    """All of it."""
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
    evidence.note(KIBI, "formulas.bytes_of_7_ms", burst / 1024)
    return evidence


FORMULAS = Experiment("formulas", "The paper's own arithmetic", measure, quick=True)

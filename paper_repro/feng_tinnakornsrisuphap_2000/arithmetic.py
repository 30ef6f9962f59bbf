"""The paper's sums, done again from what tables 1 to 4 and the text give."""

from __future__ import annotations

import math
from collections.abc import Mapping

from paper_repro.experiment import ARITHMETIC, Evidence, Experiment, Results
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    CURRENT,
    MEAN_SESSION_GAP,
    MEAN_SESSION_MB,
    PACKET_BYTES,
    PROPOSED,
    SWITCH_BUFFER,
    Topology,
    theoretical_cov,
)

__all__ = ["ARITHMETICS", "GRID_RTT", "PACKET_BITS", "numbers"]

NAME = "arithmetic"
PACKET_BITS = 8 * PACKET_BYTES
CELLS = 64 * 1024
CELL_BYTES, CELL_PAYLOAD = 53, 48
"""Of an ATM cell, with and without its header."""
MEBI = 2**20
ON_OFF_MS = {"current": (3.0, 97.0, 100.0), "proposed": (1.5, 98.5, 1000.0)}
"""Tables 3 and 4: mean burst and idle time, ms, and rate while on, Mb/s."""
GRID_MBIT_S, GRID_RTT = 1000.0, 0.1
"""Section 6: 1 Gb/s over 100 ms."""


def on_off_mean(topology: str) -> float:
    """The average rate of the ON/OFF row, Mb/s."""
    on, off, rate = ON_OFF_MS[topology]
    return rate * on / (on + off)


def client_mbps(topology: Topology) -> float:
    """The average rate of a client, Mb/s."""
    return topology.client_rate * PACKET_BITS / 1e6


def outside_mbps() -> float:
    """The average rate of the outside sources, Mb/s."""
    return 8 * MEAN_SESSION_MB / MEAN_SESSION_GAP


def hosts(topology: Topology) -> float:
    """The number from which clients offer more than the outside sources leave."""
    return math.ceil((topology.wan_mbps - outside_mbps()) / client_mbps(topology))


def table_numbers() -> Mapping[str, float | list[float]]:
    """Tables 1 to 4, and what is said of them."""
    both = (CURRENT, PROPOSED)
    return {
        "router_mib": CURRENT.router_buffer * PACKET_BYTES / MEBI,
        "router_more": 100 * (PROPOSED.router_buffer / CURRENT.router_buffer - 1),
        "switch_packets": CELLS * CELL_BYTES // PACKET_BYTES,
        "switch_mb": CELLS * CELL_PAYLOAD / 1e6,
        "round_trip_ms": [1e3 * of.propagation for of in both],
        "red_min_share": [of.red_thresholds[0] / of.router_buffer for of in both],
        "red_max_share": [of.red_thresholds[1] / of.router_buffer for of in both],
        "scaled_up": [
            PROPOSED.lan_mbps / CURRENT.lan_mbps,
            PROPOSED.wan_mbps / CURRENT.wan_mbps,
        ],
        "client_mbps_current": client_mbps(CURRENT),
        "client_mbps_proposed": client_mbps(PROPOSED),
        "on_off_mbps_current": on_off_mean("current"),
        "on_off_mbps_proposed": on_off_mean("proposed"),
        "outside_mbps": outside_mbps(),
        "buffer_over_bandwidth_delay": [of.router_buffer / of.bandwidth_delay for of in both],
    }


def result_numbers() -> Mapping[str, float | list[float]]:
    """Sums in sections 3 to 6."""
    held = PROPOSED.bandwidth_delay + SWITCH_BUFFER
    return {
        "cov_2": theoretical_cov(CURRENT, 2),
        "cov_60": theoretical_cov(CURRENT, 60),
        "cov_60_proposed": theoretical_cov(PROPOSED, 60),
        "hosts_current": hosts(CURRENT),
        "hosts_proposed": hosts(PROPOSED),
        "lost_kb": 0.0026 * CURRENT.wan_mbps * 1e3,
        "lost_mb": 0.05 * PROPOSED.wan_mbps,
        "load_12": (outside_mbps() + 12 * client_mbps(CURRENT)) / CURRENT.wan_mbps,
        "best_window": [held / count for count in (35, 60)],
        "grid_mbit": GRID_MBIT_S * GRID_RTT,
    }


def numbers() -> Mapping[str, float | list[float]]:
    """All of them, by name."""
    return {**table_numbers(), **result_numbers()}


def measure(results: Results) -> Evidence:
    """Note the sums."""
    evidence = Evidence()
    for name, value in numbers().items():
        evidence.note(ARITHMETIC, f"{NAME}.{name}", value)
    return evidence


ARITHMETICS = Experiment(NAME, "The paper's arithmetic, done again.", measure, quick=True)

"""The paper's calculations, repeated from tables 1 to 4 and the text."""

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
    law_named,
    theoretical_cov,
)

__all__ = ["ARITHMETICS", "GRID_RTT", "PACKET_BITS", "numbers", "other_buffers"]

NAME = "arithmetic"
PACKET_BITS = 8 * PACKET_BYTES
"""Size of a data packet, bits."""
CELLS = 64 * 1024
"""Buffer of the switch, ATM cells (tables 1 and 2)."""
CELL_BYTES = 53
"""Size of an ATM cell with its header, bytes."""
CELL_PAYLOAD = 48
"""Size of an ATM cell without its header, bytes."""
FRAME_CELLS = 32
"""Cells of an AAL5 frame with a packet of 1500 bytes."""
MEBI = 2**20
"""Bytes of a MiB."""
PAYLOAD_ONLY = f"{ARITHMETIC}, 48 bytes of a cell"
"""Source of the evidence if only a cell's data fill the switch's buffer."""
FRAMES = f"{ARITHMETIC}, AAL5 frames of 32 cells"
"""Source of the evidence if packets fill that buffer in AAL5 frames."""
DECIMAL = f"{ARITHMETIC}, a MB of 10^6 bytes"
"""Source of the evidence if a MB of a buffer has 10^6 bytes."""
ON_OFF_MS = {"current": (3.0, 97.0, 100.0), "proposed": (1.5, 98.5, 1000.0)}
"""Tables 3 and 4: mean burst and idle time (ms), and rate during a burst (Mbit/s)."""
GRID_MBIT_S = 1000.0
"""Section 6: capacity of the grid's line, Mbit/s."""
GRID_RTT = 0.1
"""Section 6: round-trip time over that line, s."""


def on_off_mean(topology: str) -> float:
    """Return the mean rate of the ON/OFF sources of tables 3 or 4, Mbit/s."""
    on, off, rate = ON_OFF_MS[topology]
    return rate * on / (on + off)


def client_mbps(topology: Topology) -> float:
    """Return the mean rate of a client, Mbit/s."""
    return topology.client_rate * PACKET_BITS / 1e6


def outside_mbps() -> float:
    """Return the mean rate of the outside sources, Mbit/s."""
    return 8 * MEAN_SESSION_MB / MEAN_SESSION_GAP


def offered_mbps(topology: Topology, clients: int) -> float:
    """Return the mean rate of this many clients and the outside sources together, Mbit/s."""
    return outside_mbps() + clients * client_mbps(topology)


def vegas_parameters() -> list[float]:
    """Return alpha, beta and gamma of the clients' Vegas, packets."""
    law = law_named("vegas")
    return [float(getattr(law, name)) for name in ("alpha", "beta", "gamma")]


def hosts(topology: Topology) -> float:
    """Return the smallest number of clients whose load exceeds what outside sources leave."""
    return math.ceil((topology.wan_mbps - outside_mbps()) / client_mbps(topology))


def table_numbers() -> Mapping[str, float | list[float]]:
    """Return what tables 1 to 4 and the statements about them imply, by name."""
    topologies = (CURRENT, PROPOSED)
    return {
        "router_mib": CURRENT.router_buffer * PACKET_BYTES / MEBI,
        "router_more": 100 * (PROPOSED.router_buffer / CURRENT.router_buffer - 1),
        "switch_packets": CELLS * CELL_BYTES // PACKET_BYTES,
        "switch_mb": CELLS * CELL_PAYLOAD / 1e6,
        "switch_mib": CELLS * CELL_BYTES / MEBI,
        "round_trip_ms": [1e3 * topology.propagation for topology in topologies],
        "red_min_share": [
            topology.red_thresholds[0] / topology.router_buffer for topology in topologies
        ],
        "red_max_share": [
            topology.red_thresholds[1] / topology.router_buffer for topology in topologies
        ],
        "scaled_up": [
            PROPOSED.lan_mbps / CURRENT.lan_mbps,
            PROPOSED.wan_mbps / CURRENT.wan_mbps,
        ],
        "client_mbps_current": client_mbps(CURRENT),
        "client_mbps_proposed": client_mbps(PROPOSED),
        "on_off_mbps_current": on_off_mean("current"),
        "on_off_mbps_proposed": on_off_mean("proposed"),
        "outside_mbps": outside_mbps(),
        "vegas_parameters": vegas_parameters(),
        "advertised_windows": [float(topology.max_window) for topology in topologies],
        "buffer_over_bandwidth_delay": [
            topology.router_buffer / topology.bandwidth_delay for topology in topologies
        ],
    }


def result_numbers() -> Mapping[str, float | list[float]]:
    """Return the calculations of sections 3 to 6, by name."""
    pipe = PROPOSED.bandwidth_delay + SWITCH_BUFFER
    return {
        "cov_2": theoretical_cov(CURRENT, 2),
        "cov_60": theoretical_cov(CURRENT, 60),
        "cov_60_proposed": theoretical_cov(PROPOSED, 60),
        "hosts_current": hosts(CURRENT),
        "hosts_proposed": hosts(PROPOSED),
        "lost_kb": 0.0026 * CURRENT.wan_mbps * 1e3,
        "lost_mb": 0.05 * PROPOSED.wan_mbps,
        "load_12": offered_mbps(CURRENT, 12) / CURRENT.wan_mbps,
        "best_window": [pipe / count for count in (35, 60)],
        "grid_mbit": GRID_MBIT_S * GRID_RTT,
    }


def other_buffers() -> Mapping[str, Mapping[str, float]]:
    """Return the sizes of the buffers under other readings, by source and name."""
    frames = CELLS // FRAME_CELLS
    return {
        PAYLOAD_ONLY: {
            "switch_packets": CELLS * CELL_PAYLOAD // PACKET_BYTES,
            "switch_mib": CELLS * CELL_PAYLOAD / MEBI,
        },
        FRAMES: {"switch_packets": frames, "switch_mib": frames * PACKET_BYTES / MEBI},
        DECIMAL: {
            "router_mib": CURRENT.router_buffer * PACKET_BYTES / 1e6,
            "switch_mib": CELLS * CELL_BYTES / 1e6,
        },
    }


def numbers() -> Mapping[str, float | list[float]]:
    """Return all calculated numbers, by name."""
    return {**table_numbers(), **result_numbers()}


def measure(results: Results) -> Evidence:
    """Record all calculated numbers."""
    evidence = Evidence()
    for name, value in numbers().items():
        evidence.note(ARITHMETIC, f"{NAME}.{name}", value)
    for source, values in other_buffers().items():
        for name, value in values.items():
            evidence.note(source, f"{NAME}.{name}", value)
    return evidence


ARITHMETICS = Experiment(NAME, "The paper's arithmetic, done again.", measure, quick=True)

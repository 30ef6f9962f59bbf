"""The paper's numbers compared with each other: sums, differences, capacities, fairness."""

from __future__ import annotations

import numpy as np

from paper_repro.experiment import ARITHMETIC, Evidence, Experiment, Results
from paper_repro.la_walrand_anantharam_1998.networks import (
    LAWS,
    PACKET_BYTES,
    gateway,
    persistent,
)
from paper_repro.la_walrand_anantharam_1998.recorded_run import jain_index, rank_correlation
from paper_repro.la_walrand_anantharam_1998.tables import (
    ACKED,
    CAPACITY,
    DURATION,
    LOOKS,
    SCHEMES,
    SENT,
    STARTS,
    TOTALS,
    WINDOWS,
)
from vegasfluid.quantities import mbps

__all__ = ["EXPERIMENT", "fair_totals"]

SENDING = (1 + 40 / 1000) * (1 / CAPACITY + 2 * 8000 / 10e6)
"""Sending time of a packet and its 40-byte ACK on the bottleneck and two access links, s."""
BETA = 3
"""Upper threshold of Vegas, packets."""


def fair_totals() -> np.ndarray:
    """Return each connection's packets if all active connections always share equally."""
    edges = np.append(STARTS, DURATION)
    packets = CAPACITY * np.diff(edges) / np.arange(1, len(STARTS) + 1)
    return np.cumsum(packets[::-1])[::-1]


def gained(law: str, connection: int, begin: int, end: int) -> int:
    """Return the packets of table 2 that a connection gains between two of its times (s)."""
    rows = ACKED[law]
    return rows[LOOKS.index(end)][connection - 1] - rows[LOOKS.index(begin)][connection - 1]


def backlogs_at_34() -> list[float]:
    """Return the backlog (w - r d) of both connections at 34 s, from tables 1 and 2, packets."""
    rates = [gained("vegas", connection, 14, 34) / 20 for connection in (1, 2)]
    trips = [0.088 + SENDING, 0.134 + SENDING]
    windows = WINDOWS["vegas"][LOOKS.index(34)]
    return [w - r * d for w, r, d in zip(windows, rates, trips, strict=True)]


def full_rates() -> list[float]:
    """Return the rates of both connections together between the times of table 2, packets/s."""
    return [
        sum(gained(law, connection, begin, end) for connection in (1, 2)) / (end - begin)
        for law, begin, end in (
            ("vegas", 14, 34), ("vegas", 34, 60), ("vegas", 60, 70),
            ("modified", 34, 60), ("modified", 60, 70),
        )
    ]  # fmt: skip


def note_rerouting(evidence: Evidence) -> None:
    """Record what the numbers of section 3 imply."""
    measures = {
        "gain_vegas": gained("vegas", 1, 34, 60),
        "gain_modified": gained("modified", 1, 34, 60),
        "improvement": gained("modified", 1, 34, 60) / gained("vegas", 1, 34, 60),
        "windows_over_pipe_14": sum(WINDOWS["vegas"][0]) - CAPACITY * (0.134 + SENDING),
        "backlogs_34": backlogs_at_34(),
        "rates_by_table_2": full_rates(),
        "windows_34_to_70": [
            windows[LOOKS.index(70)][n] / windows[LOOKS.index(34)][n]
            for windows in [WINDOWS["modified"]]
            for n in (0, 1)
        ],
    }
    for name, value in measures.items():
        evidence.note(ARITHMETIC, f"arithmetic.{name}", value)


def note_table_4(evidence: Evidence) -> None:
    """Record what the numbers of table 4 imply."""
    active = DURATION - np.array(STARTS)
    sent = {scheme: np.array(SENT[scheme], float) for scheme in SCHEMES}
    shares = {scheme: packets / fair_totals() for scheme, packets in sent.items()}
    ranks = [rank_correlation(sent[scheme] / active) for scheme in ("vegas", "red")]
    full = TOTALS["vegas"]
    measures = {
        "used_shares": [TOTALS[scheme] / (CAPACITY * DURATION) for scheme in SCHEMES],
        "missing_shares": [(full - TOTALS[scheme]) / full for scheme in ("red", "modified")],
        "later_is_higher": ranks,
        "red_over_droptail": (sent["red"] / sent["vegas"]).tolist(),
        "red_as_droptail": float(np.corrcoef(sent["vegas"], sent["red"])[0, 1]),
        "jain_gains_of_shares": jain_gains(shares),
        "largest_backlog": BETA * len(STARTS),
    }
    for scheme in SCHEMES:
        evidence.note(ARITHMETIC, f"arithmetic.sum_{scheme}", float(sent[scheme].sum()))
    for name, value in measures.items():
        evidence.note(ARITHMETIC, f"arithmetic.{name}", value)
    rates = {scheme: packets / active for scheme, packets in sent.items()}
    for name, values in (("totals", sent), ("rates while active", rates)):
        source = f"{ARITHMETIC}, {name}"
        evidence.note(source, "arithmetic.jain_gains_of_shares", jain_gains(values))


def jain_gains(values: dict[str, np.ndarray]) -> list[float]:
    """Return Jain's index of the modified Vegas minus that of Vegas without and with RED."""
    return [
        jain_index(values["modified"]) - jain_index(values[other]) for other in ("vegas", "red")
    ]


def note_figure_6(evidence: Evidence) -> None:
    """Record the capacities, delays and starts of the network of figure 6."""
    network = persistent(LAWS["vegas"], gateway(None))
    flows, link = list(network.flows.values()), network.link
    rates = {group.access for group in flows}
    capacities = [float(rate or 0) / mbps(1, PACKET_BYTES) for rate in (*rates, link.capacity)]
    measures = {
        "figure_6_mbps": capacities,
        "table_3_delays_ms": [1e3 * group.propagation([link])[0] for group in flows],
        "table_3_starts": [float(group.start) for group in flows],  # type: ignore[arg-type]
    }
    for name, value in measures.items():
        evidence.note(ARITHMETIC, f"arithmetic.{name}", value)


def measure(results: Results) -> Evidence:
    """Record what the printed numbers imply; nothing is simulated."""
    evidence = Evidence()
    note_figure_6(evidence)
    note_rerouting(evidence)
    note_table_4(evidence)
    return evidence


EXPERIMENT = Experiment(
    "arithmetic", "The paper's numbers held against each other", measure, quick=True
)

"""How the parameters of a problem are called in a document: units stand in the keys.

Each part of a problem has a table of its fields: the attribute, the key, and what kind of value.
"""

from __future__ import annotations

__all__ = [
    "CLAIMS",
    "CLASS_CLAIMS",
    "COMPETITOR",
    "CUBIC",
    "PROBLEM",
    "RED",
    "TUNED",
    "Table",
]

Table = tuple[tuple[str, str, str], ...]

PROBLEM: Table = (
    ("capacity", "capacity_packets_per_s", "number"),
    ("buffer", "buffer_packets", "number"),
    ("loss_process", "loss_process", "text"),
    ("ratio", "ratio", "number"),
    ("epsilon", "epsilon", "number"),
)
RED: Table = (
    ("min_thresh", "min_thresh_packets", "number"),
    ("max_thresh", "max_thresh_packets", "number"),
    ("max_drop", "max_drop", "number"),
    ("gentle", "gentle", "truth"),
    ("wait", "wait", "truth"),
    ("marks", "marks", "truth"),
)
GROUP: Table = (
    ("count", "flows", "whole"),
    ("base_rtt", "base_rtt_s", "number"),
    ("max_window", "max_window_packets", "number"),
    ("access", "access_packets_per_s", "number or null"),
)
TUNED: Table = (
    *GROUP,
    ("dialect", "dialect", "text"),
    ("softness", "softness_packets", "number"),
)
COMPETITOR: Table = (("law", "law", "text"), *GROUP)
CUBIC: Table = (
    *COMPETITOR,
    ("C", "c_packets_per_s3", "number"),
    ("beta", "beta", "number"),
    ("fast_convergence", "fast_convergence", "truth"),
    ("friendly", "friendly", "truth"),
)
CLAIMS = (
    "alpha_packets",
    "alpha_below_packets",
    "alpha_above_packets",
    "alpha_packets_per_log_ratio",
    "box_packets",
    "queue_packets",
    "drop_prob",
    "climbing_share",
)
CLASS_CLAIMS = ("cwnd_packets", "rtt_s", "rate_packets_per_s")

"""The table of hosts on the page of model files has the values of `HOSTS`."""

from __future__ import annotations

from tests.paths import ROOT
from vegasfluid.network import HOSTS

COLUMNS = {"linux": 1, "freebsd": 2, "ns3": 3, "ns2": 4, "textbook": 4}
"""Column of each host."""
ROWS = {
    "`initial_window_packets`": lambda host: host.initial_window,
    "`initial_ssthresh_packets`": lambda host: host.initial_ssthresh,
    "`delayed_ack_ms`": lambda host: 1e3 * host.delayed_ack,
    "`quick_acks`": lambda host: host.quick_acks,
    "`min_rto_s`": lambda host: host.min_rto,
    "`initial_rto_s`": lambda host: host.initial_rto,
    "bytes of an ACK": lambda host: host.ack_bytes,
}
"""Value in each row that is a number."""


def test_the_table_of_hosts_is_that_of_the_code():
    text = (ROOT / "docs" / "use" / "model-files.md").read_text()
    lines = text[text.index("## Hosts") : text.index("## Uncertain")].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    for title, value in ROWS.items():
        (row,) = [row for row in rows if row[0].startswith(title)]
        for name, column in COLUMNS.items():
            assert float(row[column].split(",")[0]) == value(HOSTS[name]), (title, name)

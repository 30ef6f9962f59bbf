"""Export to ns-2.35: an OTcl script, run by `ns scenario.tcl [SEED]`.

It prints a line for each class: its name, number of flows, and mean goodput of a flow after the
warm-up, packets/s; and a line for each link: its name, mean queue (packets), and the fraction of
packets that it dropped.
"""

from vegasfluid.export.ns2.script import export_ns2

__all__ = ["export_ns2"]

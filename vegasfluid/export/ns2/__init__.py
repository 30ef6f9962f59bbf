"""A model as a scenario for ns-2.35: one OTcl script, run by `ns scenario.tcl [SEED]`.

It prints a line for each class: its name, its flows, and the packets a second that came in order
to the receivers of one flow after the warm-up, in the mean.
"""

from vegasfluid.export.ns2.script import export_ns2

__all__ = ["export_ns2"]

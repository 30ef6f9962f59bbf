"""A model as a test of the kernel on this machine: a shell script that makes network namespaces.

The script prints a line for each class and each link, as the scenarios for ns-2 and ns-3 do. It
comes with the program that sends the flows, and with its plan.
"""

from vegasfluid.export.netns.script import export_netns

__all__ = ["export_netns"]

"""A model as a scenario for ns-3: a Python program for the PyPI package `ns3`.

It prints a line for each class and each link, as the scenario for ns-2 does, and comes with the
list of the attributes that it sets.
"""

from vegasfluid.export.ns3.script import export_ns3

__all__ = ["export_ns3"]

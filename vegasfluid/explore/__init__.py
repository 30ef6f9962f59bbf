"""A local web page on which a network is explored: `vegasfluid explore`.

The server listens on this machine only (`server`), computes runs (`fluid_runs`), planes of two
parameters (`planes`) and packet runs (`packet_runs`) with the library's own functions, and
hands out the files of the folder `page`, which need nothing from elsewhere.
"""

from vegasfluid.explore.server import ExploreServer

__all__ = ["ExploreServer"]

"""Feng and Tinnakornsrisuphap, "The failure of TCP in high-performance computational grids"."""

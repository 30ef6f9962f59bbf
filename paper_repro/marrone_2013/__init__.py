"""Marrone, Barbieri and Robles, "TCP performance: CUBIC, Vegas and Reno", 2013."""

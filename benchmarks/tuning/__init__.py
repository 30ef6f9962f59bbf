"""Recommendations on generated networks, compared with other settings in ns-2."""

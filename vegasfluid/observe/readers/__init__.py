"""Readers of measurements, one file for each format."""

__all__: list[str] = []

"""Benchmarks: every measured number in the README and the docs comes from a script here.

`python -m benchmarks.NAME [--json] [--full]`
"""

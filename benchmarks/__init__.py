"""Every number that the README or the docs quote comes from a script here.

`python -m benchmarks.NAME [--json] [--full]`
"""

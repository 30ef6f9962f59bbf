"""The papers that this project comes from, reproduced claim by claim: `python -m paper_repro`.

A paper is a folder: `claims.toml` says what the paper claims, `run.py` lists the experiments that
the claims are judged by, and README.md tells what came out. A claim and an experiment meet in a
*measure*, a dotted name such as `figure3.one_way.ratio_q10`, whose first part is the experiment's.
"""

"""Five papers on TCP Vegas, reproduced claim by claim: `python -m paper_repro`.

Each paper has a folder: `claims.toml` has its claims, `run.py` lists the experiments that test
them, and README.md summarises the results. A claim names the *measure* that tests it, such as
`figure3.one_way.ratio_q10`; the first part is the name of the experiment.
"""

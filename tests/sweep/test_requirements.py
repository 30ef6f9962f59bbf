"""Without the extra `sweep` everything else works, and a sweep states what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDDEN = """
import sys
for name in {hidden}:
    sys.modules[name] = None  # as if it were not installed
from vegasfluid.cli.app import run_app
{then}
"""
SWEEP = 'sys.exit(run_app(["sweep", "weigle_feng_network2", "--over", "vegas.alpha_packets=1,2", '
SWEEP += '"--engine", "packets", "--out", "map.zarr"]))'


def run(hidden, then, folder):
    """A new Python without the libraries `hidden`."""
    code = HIDDEN.format(hidden=hidden, then=then)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("hidden", "library"),
    [(("zarr", "dask", "distributed"), "zarr"), (("dask", "distributed"), "dask[distributed]")],
)
def test_a_sweep_says_what_to_install(tmp_path, hidden, library):
    found = run(hidden, SWEEP, tmp_path)
    assert found.returncode == 2
    message = f"sweep: a sweep needs {library} (pip install 'vegasfluid[sweep]')."
    assert found.stderr == f"vegasfluid: {message}\n"
    assert found.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.unoptimised
def test_nothing_else_needs_the_extra(tmp_path):
    """The main commands are imported and the planes of `explore` are described."""
    then = """
import vegasfluid.cli.explore, vegasfluid.cli.recommend, vegasfluid.cli.simulate
import vegasfluid.explore.planes, vegasfluid.tuning.recommend
from vegasfluid.sweep import Numbers, Sweep
sys.exit(run_app(["check", "weigle_feng_network2"]))
"""
    found = run(("zarr", "dask", "distributed", "cryptography", "numcodecs"), then, tmp_path)
    assert (found.returncode, found.stderr) == (0, "")

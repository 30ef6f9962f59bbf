"""The engines on each Python, with the oldest, the locked and the newest libraries: `make matrix`.

`nox -s locked-3.12` runs one of them. The interpreters have to be on the path; with pyenv,
`PYENV_VERSION=3.11.7:3.12.1:3.13.0 make matrix`.
"""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True

OLDEST, *BETWEEN, NEWEST = "3.11", "3.12", "3.13"
TESTED_WITH = (
    "hypothesis>=6.112",
    "jinja2>=3.1",
    "markdown-it-py>=3.0",
    "psutil>=5.9",
    "pytest-xdist>=3.6",
    "pytest>=8.3",
)
SUBSET = (
    "tests/test_network.py",
    "tests/test_trajectory.py",
    "tests/modelfile/test_invalid_models.py",
    "vegasfluid/burstiness",  # PyWavelets
    "tests/observe",  # dpkt
    "tests/cli/test_analyse.py",  # SymPy, FLINT
    "tests/sweep/test_sweep_command.py",  # Dask, Zarr
    "tests/dde/test_method_of_steps.py",
    "tests/cli/test_doctor.py",  # both engines, netCDF, Matplotlib
)
ENGINES = ("tests/cli", "-k", "simulate_json or recommend_json or export or picture")
"""Every engine through the command line, and what was found as files of other systems."""


def run_the_subset(session: nox.Session, *options: str) -> None:
    """Tests that use every library that vegasfluid needs; all tests take too long for this."""
    side_by_side = ("-n", "2", "--dist", "worksteal")
    pytest = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *side_by_side)
    session.run(*pytest, "-m", "not slow and not study", *options, *SUBSET)
    session.run(*pytest, "-m", "not slow and not study", *options, *ENGINES)


@nox.session(python=[OLDEST, *BETWEEN, NEWEST])
def locked(session: nox.Session) -> None:
    """What `make` installs: the versions of requirements.lock."""
    session.run_install("uv", "pip", "sync", "--quiet", "--require-hashes", "requirements.lock")
    session.install("--no-deps", "--reinstall-package", "vegasfluid", ".")
    run_the_subset(session)


@nox.session(python=OLDEST)
def oldest(session: nox.Session) -> None:
    """The oldest versions that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", "--upgrade", ".[sweep]", *TESTED_WITH)
    run_the_subset(session, "-W", "default")  # libraries of different ages warn of each other


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """The newest versions that there are, which is what `pip install vegasfluid` brings."""
    session.install("--upgrade", ".[sweep]", *TESTED_WITH)
    run_the_subset(session)

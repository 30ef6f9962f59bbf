"""The adaptive solver's programs are large and run for moments: LLVM's passes cost more than they
gain, also where a test is long.

`--delay-solver xla` runs the same tests with XLA's programs instead of lane kernels, as on GPUs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark all of them `unoptimised`; comparisons of both solvers need both."""
    by_xla = config.getoption("--delay-solver") == "xla"
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.unoptimised)
            if by_xla and item.path.name == "test_lanes.py":
                item.add_marker(pytest.mark.skip(reason="compares lane kernels with XLA"))


@pytest.fixture(scope="session", autouse=True)
def delay_solver(pytestconfig):
    """Lane kernels where they are possible, or XLA always."""
    from vegasfluid.dde.adaptive import solve_arrays

    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("--delay-solver") == "xla":
            patch.setattr(solve_arrays, "in_lanes", lambda *_: None)
        yield

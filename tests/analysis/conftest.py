"""The workers of a run share what JAX compiled."""

from __future__ import annotations

import pytest

from vegasfluid.caches import keep_compiled_equations


@pytest.fixture(scope="session", autouse=True)
def shared_equations() -> None:
    """Equations are compiled once in a run of the tests, not once a worker."""
    keep_compiled_equations()


@pytest.fixture(scope="module", autouse=True)
def quickly(compiled_quickly: None) -> None:
    """Rest and stability are large programs that run for a moment."""

"""What the tests of certificates share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.proofs.documents import example


@pytest.fixture
def small() -> dict[str, Any]:
    """A certificate of two laws against Vegas, as a document that a test may change."""
    return example()

"""The adaptive solver's programs are large and run for moments: LLVM's passes cost more than they
gain, also where a test is long.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all of them `unoptimised`."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.unoptimised)

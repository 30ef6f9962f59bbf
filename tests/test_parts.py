"""Parts of the tests, as CI runs them: together they are all tests, and each test is in one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.parts import in_part, parsed_part
from tests.paths import ROOT

NAMES = [f"tests/test_{number % 7}.py::test_{number}[{number}]" for number in range(800)]


def test_each_test_is_in_one_part_and_parts_have_about_the_same_size() -> None:
    sizes = [0] * 8
    for name in NAMES:
        (part,) = [number for number in range(1, 9) if in_part(name, number, 8)]
        sizes[part - 1] += 1
    assert min(sizes) > 60


@pytest.mark.parametrize("text", ["0/8", "9/8", "8", "1/2/3", "a/b"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"a part must be like 2/8, but is {text}"):
        parsed_part(text)


@pytest.mark.slow
def test_all_parts_together_are_all_tests() -> None:
    """Of this file, by the option."""
    found = []
    for part in ("1/2", "2/2"):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--part", part, __file__]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        found += [line for line in done.stdout.splitlines() if "::" in line]
    assert len(found) == len(set(found)) == 7

"""Each congestion control, queue discipline and traffic source has sources and is validated."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.paths import ROOT
from vegasfluid.aqm import queue_disciplines
from vegasfluid.congestion import congestion_controls
from vegasfluid.traffic import traffic_sources

VALIDATION = tomllib.loads((ROOT / "tests" / "validation.toml").read_text())
CLASSES: dict[str, type[Any]] = congestion_controls() | queue_disciplines() | traffic_sources()


def test_each_class_is_validated_and_no_other() -> None:
    assert set(VALIDATION) == set(CLASSES)
    assert all(VALIDATION.values())


@pytest.mark.parametrize("name", CLASSES)
def test_sources_are_given_and_tests_exist(name: str) -> None:
    assert CLASSES[name].sources
    for path in VALIDATION.get(name, {}):
        assert (ROOT / path).exists(), path

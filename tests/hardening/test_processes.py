"""One case of each part of `benchmarks.hardening` that starts processes; it runs many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.hardening.networks import STRUCTURES, random_model
from benchmarks.hardening.ports import port_fault
from benchmarks.hardening.repeats import CIRCUMSTANCES, COMMANDS, repeat_fault
from benchmarks.hardening.sweeps import full_disk_fault, killed_fault, pair_fault
from vegasfluid.fluid import build
from vegasfluid.modelfile import dumps, read_model

root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may do this"
)


@pytest.mark.slow
def test_a_sweep_that_is_killed_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert killed_fault(0, tmp_path) == ""


@pytest.mark.slow
def test_two_sweeps_that_begin_together_write_the_same_bytes(tmp_path: Path) -> None:
    assert pair_fault(0, tmp_path) == ""


@root
@pytest.mark.slow
def test_a_sweep_whose_disk_fills_twice_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert full_disk_fault(0, tmp_path) == ""


@root
@pytest.mark.slow
def test_another_user_can_use_nothing_of_a_sweep(tmp_path: Path) -> None:
    assert port_fault(0, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hash seed 12345", "one processor", "empty cache"])
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    assert repeat_fault(len(COMMANDS) * list(CIRCUMSTANCES).index(name), tmp_path) == ""


@pytest.mark.parametrize("structure", [0, 5, 8])
def test_random_networks_of_one_structure_differ_in_numbers_only(
    structure: int, tmp_path: Path
) -> None:
    models = [random_model(structure + STRUCTURES * turn) for turn in range(5)]
    structures = {build(model.network).structure for model in models}
    assert len(structures) == 1
    for values in (
        {float(link.capacity) for model in models for link in model.network.links.values()},
        {flows.base_rtt for model in models for flows in model.network.flows.values()},
    ):
        assert len(values) > 1
    path = tmp_path / "random.toml"
    for model in models:
        path.write_text(dumps(model))
        assert read_model(path).network == model.network

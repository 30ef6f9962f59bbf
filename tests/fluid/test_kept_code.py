"""Machine code of fluid runs, kept in memory and on disk: the same results, and never stale."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import pytest

from vegasfluid import (
    Cubic,
    Event,
    Flows,
    Link,
    Network,
    OnOff,
    Red,
    Reno,
    Vegas,
    simulate_density,
    simulate_fluid,
)
from vegasfluid.fluid import build, kept_code
from vegasfluid.fluid.model import (
    FluidModel,
    class_meshes,
    integrate_compiled,
    integrated,
    outputs_of,
)
from vegasfluid.lanes import cpu
from vegasfluid.lanes.builder import NoLaneKernel

RED = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
TWO = Network(RED, {"reno": Flows(3, Reno(), base_rtt=0.05), "vegas": Flows(3, Vegas(1, 3), 0.05)})
NETWORKS = {
    "two classes": TWO,
    "drop-tail and CUBIC": Network(Link(500.0, 60), {"cubic": Flows(2, Cubic(), base_rtt=0.04)}),
    "ACKs that wait": Network(
        {"one": Link(900.0, 100, delay=0.005), "two": Link(800.0, 100, delay=0.005)},
        {
            "there": Flows(2, Reno(), base_rtt=0.05, path=("one", "two")),
            "back": Flows(1, Reno(), base_rtt=0.05, path=("one",), direction="reverse"),
        },
    ),
    "traffic and events": Network(
        RED,
        {"vegas": Flows(4, Vegas(2, 4), base_rtt=0.03, traffic=OnOff(on=2.0, off=1.0, rate=300.0))},
        events=(Event(5.0, "access", 0.04, flows="vegas"),),
    ),
}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cache without code, in memory and on disk; the folder of its files."""
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kept_code, "KERNELS", {})
    return tmp_path / "fluid"


def forget(monkeypatch):
    """Forget what is in memory, as a new process would."""
    monkeypatch.setattr(kept_code, "KERNELS", {})


def prevent_compiling(monkeypatch):
    """Make it an error to compile."""

    def compile_directly(*_):
        raise AssertionError("compiled")

    monkeypatch.setattr(kept_code, "compile_directly", compile_directly)


def solutions(network):
    """The solution of a network by its kept code, and by JAX's compiled program."""
    model = build(network).as_floats()
    steps = model.time_grid(10.0, 51).schedule(float)
    return integrated(model, steps, whole=False), integrate_compiled(model, steps, whole=False)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if "ACKs" in name else []) for name in NETWORKS],
)
def test_results_are_those_of_jax(name, empty):
    kept, compiled = map(jax.tree.leaves, solutions(NETWORKS[name]))
    assert len(list(empty.iterdir())) == 1
    for one, other in zip(kept, compiled, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_another_process_loads_the_code_and_another_network_shares_it(empty, monkeypatch):
    first = simulate_fluid(TWO, 5.0, samples=11)
    forget(monkeypatch)
    prevent_compiling(monkeypatch)
    again = simulate_fluid(TWO, 5.0, samples=11)
    assert again.equals(first)
    faster = Network(Link(1200.0, 250, RED.aqm), TWO.flows)
    assert not simulate_fluid(faster, 5.0, samples=11).equals(first)


OTHER_NUMBERS = {
    "windows": (
        TWO,
        Network(
            Link(1200.0, 230, RED.aqm),
            {"reno": Flows(4, Reno(), base_rtt=0.04), "vegas": Flows(3, Vegas(2, 5), 0.04)},
        ),
    ),
    "epochs": (
        Network(Link(500.0, 60), {"cubic": Flows(2, Cubic(), base_rtt=0.04)}),
        Network(Link(700.0, 55), {"cubic": Flows(3, Cubic(), base_rtt=0.035)}),
    ),
}
"""Pairs of networks with the same structure, and other capacities, buffers, RTTs and flows."""


@pytest.mark.parametrize("mesh", OTHER_NUMBERS)
def test_the_density_model_shares_code_between_networks_that_differ_in_numbers(
    mesh, empty, monkeypatch
):
    one, other = OTHER_NUMBERS[mesh]
    simulate_density(one, 1.0, samples=5, tolerance=None)
    forget(monkeypatch)
    prevent_compiling(monkeypatch)
    run = simulate_density(other, 1.0, samples=5, tolerance=None)
    assert float(run.cwnd.isel(time=-1).min()) > 0
    cells = [[each.cells for each in class_meshes(network)] for network in (one, other)]
    assert cells[0] == cells[1]
    edges = [np.hstack(jax.tree.leaves(class_meshes(network))) for network in (one, other)]
    assert not np.array_equal(*edges)


def test_a_damaged_file_is_compiled_again(empty, monkeypatch):
    first = simulate_fluid(TWO, 5.0, samples=11)
    [file] = empty.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:99], whole[:-1] + bytes([whole[-1] ^ 1]), b"x" + whole):
        file.write_bytes(damaged)
        forget(monkeypatch)
        assert simulate_fluid(TWO, 5.0, samples=11).equals(first)
        assert file.read_bytes() != damaged


def name_of(network):
    """The name of the file with the code of a network's equations."""
    model = build(network).as_floats()
    steps = model.time_grid(2.0, 5).schedule(float)
    leaves, tree = jax.tree.flatten((model, steps))
    path = kept_code.file_of(outputs_of, tree, [np.asarray(leaf) for leaf in leaves])
    assert path is not None
    return path.name


def test_what_changes_the_equations_has_separate_code(empty, monkeypatch):
    marking = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150, ecn=True))
    linux = Flows(3, Vegas(1, 3, dialect="linux"), 0.05)
    names = [
        name_of(TWO),
        name_of(Network(marking, TWO.flows)),
        name_of(Network(RED, {**TWO.flows, "vegas": linux})),
        name_of(Network(RED, dict(reversed(TWO.flows.items())))),
    ]
    with monkeypatch.context() as changed:
        changed.setattr(kept_code, "sources", lambda: "other sources")
        names.append(name_of(TWO))
    with monkeypatch.context() as changed:
        changed.setattr(cpu, "optimisation_level", lambda: 0)
        names.append(name_of(TWO))
    assert len(set(names)) == len(names)
    assert name_of(TWO) == names[0]


@dataclass(frozen=True)
class Mine(Reno):
    """A congestion control from outside the package."""


def test_equations_from_outside_the_package_are_not_kept_on_disk(empty):
    mine = Network(RED, {"mine": Flows(3, Mine(), base_rtt=0.05)})
    theirs = Network(RED, {"mine": Flows(3, Reno(), base_rtt=0.05)})
    run = simulate_fluid(mine, 5.0, samples=11)
    assert not empty.exists() or not list(empty.iterdir())
    np.testing.assert_array_equal(run.cwnd, simulate_fluid(theirs, 5.0, samples=11).cwnd)


def test_traced_and_interpreted_models_are_left_to_jax(empty):
    model, grid = build(TWO).as_floats(), build(TWO).time_grid(2.0, 5)

    def mean_window(model: FluidModel):
        return model.integrate(grid).ys.sum()

    jax.jit(mean_window)(model)
    jax.vmap(mean_window)(jax.tree.map(lambda leaf: leaf[None], model))
    assert not kept_code.KERNELS
    with jax.disable_jit():
        assert kept_code.computed_directly(lambda x: x, np.zeros(2)) is None


def test_what_cannot_be_translated_is_left_to_jax(empty, monkeypatch):
    first = simulate_fluid(TWO, 5.0, samples=11)
    forget(monkeypatch)

    def untranslated(*_):
        raise NoLaneKernel("no translation of anything")

    monkeypatch.setattr(kept_code, "compile_directly", untranslated)
    for file in empty.iterdir():
        file.unlink()
    np.testing.assert_allclose(simulate_fluid(TWO, 5.0, samples=11).cwnd, first.cwnd, rtol=1e-9)


def test_a_folder_that_others_can_write_to_is_not_used(empty, monkeypatch):
    empty.mkdir()
    empty.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users can write to"):
        simulate_fluid(TWO, 5.0, samples=11)
    assert not list(empty.iterdir())

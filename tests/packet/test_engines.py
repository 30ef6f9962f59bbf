"""The compiled engine against itself as plain Python, and against a second engine.

The second one (`second_engine`) is a conventional simulator with one heap of events, and judges
all that vegasfluid's engine does by looking ahead. All times are whole picoseconds, so the two
must agree to the last packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import getclosurevars

import numpy as np
import pytest

from tests.packet.end_state import execute
from tests.packet.plain_records import on_plain_records
from tests.packet.scenarios import SCENARIOS
from tests.packet.second_engine import Simulator, sampled
from tests.packet.second_network import Queue, ps
from tests.packet.second_tcp import Flow
from tests.packet.shared_kernels import SHARED
from vegasfluid import Cubic, Flows, Link, Network, Reno
from vegasfluid.packet.initial_state import InitialState, initial_state, rules_of
from vegasfluid.packet.jit import compiled, interpreted
from vegasfluid.packet.rules import layout
from vegasfluid.packet.state import Simulation

END = 12 * 10**12
BIN = 0.1
"""s"""
TICKS = np.linspace(0, END, 401).astype(np.int64)
SHORT = np.linspace(0, 3e12, 101).astype(np.int64)
"""Sample times of what Python does alone, ps."""
DIFFERENT = ("every law", "drop-tail", "chain", "marks", "traffic", "two-way RED")
DIFFERENT += ("jitter in order", "jitter out of order")
"""Scenarios that differ in what they ask of the engine; the others ask for the same, or for all."""


def of_flow(flow: Flow, ticks: np.ndarray) -> dict[str, np.ndarray]:
    names = ("sent", "retransmitted", "timeouts", "cwnd", "ssthresh", "rtt")
    return {
        **dict(zip(names, sampled(flow.log, ticks), strict=True)),
        "delivered": sampled(flow.arrivals, ticks)[0],
        "dropped": sampled(flow.losses, ticks)[0],
    }


def of_queue(queue: Queue, ticks: np.ndarray) -> dict[str, np.ndarray]:
    names = ("admitted", "early", "forced", "full", "marked", "queue", "work", "avg_queue", "done")
    seen = dict(zip(names, sampled(queue.log, ticks), strict=True))
    backlog = np.maximum(seen.pop("done") - ticks, 0) / queue.service(1.0)
    return {**seen, "backlog": backlog}


def arrivals(queue: Queue, end: int) -> np.ndarray:
    """Packets of data that came in each bin."""
    return np.bincount(np.array(queue.came, np.int64) // ps(BIN), minlength=end // ps(BIN) + 1)


def require_same(
    samples: np.ndarray, number: int, other: Mapping[str, np.ndarray], whose: str
) -> None:
    for name, values in other.items():
        np.testing.assert_array_equal(samples[name][:, number], values, err_msg=f"{whose}: {name}")


def waited(queue: Queue, end: int) -> float:
    """The integral of the queue (Little's law), and what those that wait have yet to wait, ps."""
    rows = np.array(queue.log, float)
    area = float(np.sum(np.diff(np.append(rows[:, 0], end)) * rows[:, 6]))
    return area + queue.yet_to_wait(end)


def require_agreement(
    first: Simulation, begin: InitialState, second: Simulator, ticks: np.ndarray = TICKS
) -> None:
    """All samples of both engines are the same, for every queue and every flow."""
    end = int(ticks[-1])
    for number, queue in enumerate(list(second.queues.values())[: len(begin.links)]):
        require_same(first.link_samples, number, of_queue(queue, ticks), f"link {number}")
        np.testing.assert_array_equal(first.bins["count"][:, number], arrivals(queue, end))
        total = first.link_samples["waited"][-1, number]
        assert total == pytest.approx(waited(queue, end), rel=1e-12, abs=10)
        lost = first.link_samples["lost_waited"][-1, number]
        assert lost == pytest.approx(queue.lost_waited, rel=1e-12)
    for number, flow in enumerate(second.flows):
        require_same(first.flow_samples, number, of_flow(flow, ticks), f"{flow.name} ({number})")


def second_run(network: Network, begin: InitialState, end: int = END) -> Simulator:
    """The network at the end of a run of the second engine."""
    second = Simulator(network, begin, end)
    second.run()
    return second


@cache
def shared_start(name: str) -> InitialState:
    return initial_state(SHARED[name], 3, counted=True)


def ticks_of(name: str) -> np.ndarray:
    """Sample times, ps; in six seconds the networks with data both ways lose enough packets."""
    half = name.startswith(("two-way", "jitter"))
    return TICKS[: len(TICKS) // 2 + 1] if half else TICKS


@cache
def shared_second_run(name: str) -> Simulator:
    return second_run(SHARED[name], shared_start(name), int(ticks_of(name)[-1]))


def require_losses(last: np.ndarray, name: str) -> None:
    """There is something to compare."""
    assert last["delivered"].sum() > 3000
    if name != "adaptive marks":
        assert last["dropped"].sum() > 50
        assert last["retransmitted"].sum() > 50
    assert last["timeouts"].sum() > 5


@pytest.mark.parametrize("name", SHARED)
def test_both_engines_agree_to_the_last_packet(name: str) -> None:
    begin, ticks = shared_start(name), ticks_of(name)
    first = execute(SHARED[name], begin, ticks * 1e-12, compiled(begin.rules), BIN)
    require_agreement(first, begin, shared_second_run(name), ticks)
    require_losses(first.flow_samples[-1], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_both_engines_agree_where_nothing_is_idle(name: str) -> None:
    """Each network by the kernel that its users have, without what only its neighbours need."""
    begin = initial_state(SCENARIOS[name], 3, counted=True)
    first = execute(SCENARIOS[name], begin, TICKS * 1e-12, compiled(begin.rules), BIN)
    require_agreement(first, begin, second_run(SCENARIOS[name], begin))
    require_losses(first.flow_samples[-1], name)


def test_what_the_scenarios_are_made_for_happens_in_them() -> None:
    seen = {
        name: shared_second_run(name)
        for name in ("marks", "traffic", "everything", "jitter out of order")
    }
    marked = [queue.counts["marked"] for queue in seen["marks"].queues.values()]
    assert sum(marked) > 100
    for name in ("traffic", "everything"):
        assert sum(flow.state.finished for flow in seen[name].flows) > 20
    overtaken = [flow.board.reordering for flow in seen["jitter out of order"].flows]
    assert max(overtaken) > 3


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_field_has_a_name_that_numpy_takes_for_another(name: str) -> None:
    """The interpreted engine would read `record.size` as a property of the record."""
    for dtype in layout(initial_state(SCENARIOS[name], 1).rules).values():
        assert not set(dtype.names or ()) & set(dir(np.recarray)), name


def require_the_same_bytes(network: Network, times: np.ndarray) -> np.ndarray:
    """Compiled and interpreted, the engine leaves the same; what the flows had in the end."""
    begin = initial_state(network, 1, counted=True)
    fast = execute(network, begin, times, compiled(begin.rules), BIN)
    with np.errstate(over="ignore"):  # the random numbers wrap, as they shall
        plain = execute(network, begin, times, on_plain_records(interpreted(begin.rules)), BIN)
    for array in ("flows", "hops", "links", "flow_samples", "link_samples", "bins"):
        one, other = getattr(fast, array), getattr(plain, array)
        for field in one.dtype.names:
            assert one[field].tobytes() == other[field].tobytes(), f"{array}.{field}"
    assert fast.flow_samples[-1]["timeouts"].sum() > 0
    assert fast.flow_samples[-1]["retransmitted"].sum() > 10
    return fast.flow_samples[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_compiled_engine_gives_the_bytes_of_the_interpreted_one(name: str) -> None:
    last = require_the_same_bytes(SCENARIOS[name], np.linspace(0, 4, 61))
    assert last["delivered"].sum() > 2000


@pytest.mark.parametrize("name", ["every law", "marks", "PIE", "traffic", "everything"])
def test_shared_kernels_give_the_bytes_of_the_interpreted_engine(name: str) -> None:
    last = require_the_same_bytes(SHARED[name], np.linspace(0, 4, 61))
    assert last["delivered"].sum() > 2000


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_interpreted_engine_agrees_where_nothing_is_idle(name: str) -> None:
    """The paths of the engine that a network takes which does not ask for everything."""
    network, begin = SCENARIOS[name], initial_state(SCENARIOS[name], 3, counted=True)
    with np.errstate(over="ignore"):
        first = execute(
            network, begin, SHORT * 1e-12, on_plain_records(interpreted(begin.rules)), BIN
        )
    require_agreement(first, begin, second_run(network, begin, SHORT[-1]), SHORT)
    last = first.flow_samples[-1]
    assert last["delivered"].sum() > 1000
    assert last["retransmitted"].sum() > 50
    assert last["timeouts"].sum() > 3


def test_linux_hosts_alone_need_no_other_recovery() -> None:
    """A kernel without the code of other recoveries leaves the bytes of the one that has it."""
    law = Reno(recovery="rack", byte_counting=True)
    flows = Flows(2, law, base_rtt=(0.04, 0.05), initial_window=10)
    network = Network(Link(1000.0, 20), {"reno": flows})
    begin = initial_state(network, 1, counted=True)
    assert begin.rules.features.RACK
    assert not begin.rules.features.OTHER_RECOVERY
    mixed = begin.rules.features._replace(OTHER_RECOVERY=True)
    runs = []
    for features in (begin.rules.features, mixed):
        kernel = on_plain_records(interpreted(begin.rules._replace(features=features)))
        with np.errstate(over="ignore"):
            runs.append(execute(network, begin, SHORT * 1e-12, kernel, BIN))
    for array in ("flows", "hops", "links", "flow_samples", "link_samples", "bins"):
        assert getattr(runs[0], array).tobytes() == getattr(runs[1], array).tobytes(), array
    assert runs[0].flow_samples[-1]["retransmitted"].sum() > 10


@pytest.mark.slow
@pytest.mark.unoptimised
def test_kernels_do_not_share_the_names_of_their_functions() -> None:
    """One may come from the cache, compiled where the other was not: the linker must not mix."""
    link, names = Link(1000.0, 20), []
    for law in (Reno(), Cubic()):
        network = Network(link, {"flow": Flows(1, law, base_rtt=0.05)}).resolved()
        rules = rules_of(network, counted=False)
        inner = getclosurevars(compiled(rules)).nonlocals["kernel"].py_func.__globals__.values()
        names.append({f.py_func.__qualname__ for f in inner if hasattr(f, "py_func")})
    assert all(names)
    assert not names[0] & names[1]

"""The compiled engine against itself as plain Python, and against a second engine.

The second one (`second_engine`) is a conventional simulator with one heap of events, and judges
all that vegasfluid's engine does by looking ahead. All times are whole picoseconds, so the two
must agree to the last packet.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.packet.scenarios import SCENARIOS
from tests.packet.second_engine import Simulator, sampled
from tests.packet.second_network import Queue, ps
from tests.packet.second_tcp import Flow
from vegasfluid import Cubic, Flows, Link, Network, Reno
from vegasfluid.packet.compiler import compiled, interpreted
from vegasfluid.packet.rules import layout
from vegasfluid.packet.setup import prepare, rules_of
from vegasfluid.packet.simulate import execute, machine

END = 12 * 10**12
BIN = 0.1
"""s"""
TICKS = np.linspace(0, END, 401).astype(np.int64)


def of_flow(flow: Flow) -> dict[str, np.ndarray]:
    names = ("sent", "retransmitted", "timeouts", "cwnd", "ssthresh", "rtt")
    return {
        **dict(zip(names, sampled(flow.log, TICKS), strict=True)),
        "delivered": sampled(flow.arrivals, TICKS)[0],
        "dropped": sampled(flow.losses, TICKS)[0],
    }


def of_queue(queue: Queue) -> dict[str, np.ndarray]:
    names = ("admitted", "early", "forced", "full", "marked", "queue", "work", "avg_queue", "done")
    seen = dict(zip(names, sampled(queue.log, TICKS), strict=True))
    backlog = np.maximum(seen.pop("done") - TICKS, 0) / queue.service(1.0)
    return {**seen, "backlog": backlog}


def arrivals(queue: Queue) -> np.ndarray:
    """Packets of data that came in each bin."""
    return np.bincount(np.array(queue.came, np.int64) // ps(BIN), minlength=END // ps(BIN) + 1)


def require_same(
    samples: np.ndarray, number: int, other: Mapping[str, np.ndarray], of: str
) -> None:
    for name, values in other.items():
        np.testing.assert_array_equal(samples[name][:, number], values, err_msg=f"{of}: {name}")


def waited(queue: Queue) -> float:
    """The integral of the queue (Little's law), and what those that wait have yet to wait, ps."""
    rows = np.array(queue.log, float)
    area = float(np.sum(np.diff(np.append(rows[:, 0], END)) * rows[:, 6]))
    begin = queue.free
    for held in queue.waiting:
        area += begin - END
        begin += queue.service(held.packet.size)
    return area


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_engines_agree_to_the_last_packet(name: str) -> None:
    begin = prepare(SCENARIOS[name], 3, counted=True)
    first = execute(SCENARIOS[name], begin, TICKS * 1e-12, machine(begin), BIN)
    second = Simulator(SCENARIOS[name], begin, END)
    second.run()
    for number, queue in enumerate(list(second.queues.values())[: len(begin.links)]):
        require_same(first.link_samples, number, of_queue(queue), f"link {number}")
        np.testing.assert_array_equal(first.bins["count"][:, number], arrivals(queue))
        total = first.link_samples["waited"][-1, number]
        assert total == pytest.approx(waited(queue), rel=1e-12, abs=10)
    for number, flow in enumerate(second.flows):
        require_same(first.flow_samples, number, of_flow(flow), f"{flow.name} ({number})")
    last = first.flow_samples[-1]  # there is something to compare
    assert last["delivered"].sum() > 3000
    if name != "adaptive marks":
        assert last["dropped"].sum() > 100
        assert last["retransmitted"].sum() > 100
    assert last["timeouts"].sum() > 5


def test_what_the_scenarios_are_made_for_happens_in_them() -> None:
    seen = {}
    for name in ("marks", "traffic", "everything", "jitter out of order"):
        second = Simulator(SCENARIOS[name], prepare(SCENARIOS[name], 3), END)
        second.run()
        seen[name] = second
    marked = [queue.counts["marked"] for queue in seen["marks"].queues.values()]
    assert sum(marked) > 100
    for name in ("traffic", "everything"):
        assert sum(flow.state.finished for flow in seen[name].flows) > 20
    overtaken = [flow.board.reordering for flow in seen["jitter out of order"].flows]
    assert max(overtaken) > 3


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_field_has_a_name_that_numpy_takes_for_another(name: str) -> None:
    """The interpreted engine would read `record.size` as a property of the record."""
    for dtype in layout(prepare(SCENARIOS[name], 1).rules).values():
        assert not set(dtype.names or ()) & set(dir(np.recarray)), name


@pytest.mark.parametrize("name", ["drop-tail", "every law", "everything"])
def test_the_compiled_engine_gives_the_bytes_of_the_interpreted_one(name: str) -> None:
    network, times = SCENARIOS[name], np.linspace(0, 4, 61)
    begin = prepare(network, 1, counted=True)
    fast = execute(network, begin, times, machine(begin), BIN)
    with np.errstate(over="ignore"):  # the random numbers wrap, as they shall
        plain = execute(network, begin, times, interpreted(begin.rules), BIN)
    for array in ("flows", "stages", "links", "flow_samples", "link_samples", "bins"):
        one, other = getattr(fast, array), getattr(plain, array)
        for field in one.dtype.names:
            assert one[field].tobytes() == other[field].tobytes(), f"{array}.{field}"
    last = fast.flow_samples[-1]
    assert last["delivered"].sum() > 2000
    assert last["timeouts"].sum() > 0
    assert last["retransmitted"].sum() > 10


def test_kernels_do_not_share_the_names_of_their_functions() -> None:
    """One may come from the cache, compiled where the other was not: the linker must not mix."""
    link, names = Link(1000.0, 20), []
    for law in (Reno(), Cubic()):
        rules = rules_of(Network(link, {"flow": Flows(1, law, base_rtt=0.05)}), counted=False)
        inner = compiled(rules).py_func.__globals__.values()  # type: ignore[attr-defined]
        names.append({f.py_func.__qualname__ for f in inner if hasattr(f, "py_func")})
    assert all(names)
    assert not names[0] & names[1]
